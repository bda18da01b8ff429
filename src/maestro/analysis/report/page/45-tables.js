"use strict";
// Tables, with numbers in columns that share their decimals.
(() => {
  const { make, number, known } = maestro;
  const LONG = 20; // rows; a longer table waits to be opened
  const isNumber = (value) => typeof value === "number";

  // As many decimals as a number needs, three at most.
  const decimals = (value) => {
    const size = Math.abs(value);
    const most = Number.isInteger(value) ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    return (size.toFixed(most).split(".")[1] || "").replace(/0+$/, "").length;
  };

  maestro.table = ({ title, note, columns, rows }) => {
    const inColumn = (i) => rows.map((row) => row[i]).filter(isNumber);
    const places = columns.map((_, i) => Math.max(0, ...inColumn(i).map(decimals)));
    const kind = columns.map((_, i) => (inColumn(i).length ? "num" : null));
    const cell = (value, i) => {
      const text = isNumber(value) ? number(value, places[i]) : known(value) ? String(value) : "–";
      return i ? make("td", { class: kind[i], text }) : make("th", { scope: "row", text });
    };
    const heads = columns.map((text, i) => make("th", { scope: "col", class: kind[i], text }));
    const table = make("table", null,
      make("caption", { class: "hidden", text: title }),
      make("thead", null, make("tr", null, heads)),
      make("tbody", null, rows.map((row) => make("tr", null, row.map(cell)))));
    const region = { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table: ${title}` };
    const below = note ? make("p", { class: "muted note", text: note }) : null;
    const content = [make("div", region, table), below];
    if (rows.length <= LONG) return make("div", { class: "block" }, make("h3", { text: title }), content);
    const summary = make("summary", { text: `${title}, ${rows.length} rows` });
    return make("details", { class: "block" }, summary, content);
  };

  maestro.sections.push({
    id: "tables",
    title: "Tables",
    has: (data) => data.tables.length > 0,
    uses: (data) => data.tables,
    build: (section, data) => section.append(...data.tables.map(maestro.table)),
  });
})();
