"use strict";
// Heat maps as tables of buttons: one stop of the Tab key, arrow keys inside, a number in every cell.
(() => {
  const { make } = maestro;
  const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const MANY = 10; // columns; more of them are narrower
  const inside = (value, count) => Math.max(0, Math.min(count - 1, value));

  // Only the current cell is reached by Tab; keys go from there to the others.
  const roam = (table, cells, start) => {
    let [row, column] = [0, 0];
    const go = (r, c) => {
      cells[row][column].tabIndex = -1;
      [row, column] = [inside(r, cells.length), inside(c, cells[0].length)];
      cells[row][column].tabIndex = 0;
    };
    table.addEventListener("keydown", (event) => {
      const width = cells[0].length;
      const move = { ...MOVES, Home: [0, -width], End: [0, width] }[event.key];
      if (!move) return;
      event.preventDefault();
      go(row + move[0], column + move[1]);
      cells[row][column].focus();
    });
    cells.flat().forEach((cell) => (cell.tabIndex = -1));
    go(...start);
    return go;
  };

  const button = ({ text, label, share, scale, mark, watchable }, on) => {
    const kinds = ["cell", share === null ? "unknown" : scale, mark && `mark ${mark}`];
    const kind = [...kinds, watchable && "watchable"].filter(Boolean).join(" ");
    const style = share === null ? null : { "--share": `${Math.round(100 * share)}%` };
    return make("button", { type: "button", class: kind, "aria-label": label, text, style, on });
  };

  const head = (scope, content, name) => {
    const role = scope === "col" ? "columnheader" : "rowheader";
    return make("th", { scope, role, "aria-label": name }, content);
  };

  // The first cell whose game can be watched, or else that has a number.
  const firstOf = (spec) => {
    const all = spec.rows.flatMap((_, i) => spec.columns.map((__, j) => [i, j]));
    const told = all.map(([i, j]) => spec.cell(i, j));
    const found = [told.findIndex((one) => one.watchable), told.findIndex((one) => one.share !== null), 0];
    return all[found.find((index) => index >= 0)];
  };

  // spec: rows (texts), columns (texts or elements) and columnNames, label, corner, start [row, column],
  // cell(i, j) -> {text, label, share 0..1 or null, scale, mark, watchable}; about(i, j) when it is
  // pointed at or has the focus; act(i, j) when it is clicked.
  maestro.grid = (spec) => {
    const cellOf = (i, j) => {
      const about = () => spec.about(i, j);
      const click = () => {
        go(i, j);
        about();
        spec.act(i, j);
      };
      return button(spec.cell(i, j), { pointerenter: about, focus: about, click });
    };
    const cells = spec.rows.map((_, i) => spec.columns.map((__, j) => cellOf(i, j)));
    const names = spec.columnNames || [];
    const heads = spec.columns.map((column, j) => head("col", column, names[j]));
    const inner = (cell) => make("td", { role: "gridcell" }, cell);
    const line = (row, i) => make("tr", { role: "row" }, head("row", spec.rows[i]), row.map(inner));
    const corner = make("td", { class: "corner muted", text: spec.corner || "" });
    const kind = spec.columns.length > MANY ? "heat dense" : "heat";
    const table = make("table", { class: kind, role: "grid", "aria-label": spec.label },
      make("thead", null, make("tr", { role: "row" }, corner, heads)),
      make("tbody", null, cells.map(line)));
    const colored = cells.flat().filter((cell) => !cell.classList.contains("unknown"));
    const paint = (cell) => (cell.style.color = maestro.legible(getComputedStyle(cell).backgroundColor));
    maestro.drawn(table, () => colored.forEach(paint));
    const start = spec.start || firstOf(spec);
    const go = roam(table, cells, start);
    spec.about(...start);
    return make("div", { class: "scroll" }, table);
  };

  // What the colors mean, from one end to the other.
  maestro.legend = (scale, [low, high]) => {
    const ramp = make("span", { class: `ramp ${scale}`, "aria-hidden": "true" });
    const [left, right] = [make("span", { text: low }), make("span", { text: high })];
    return make("p", { class: "legend muted small" }, left, ramp, right);
  };

  maestro.pairs = (rows) =>
    make("dl", null, rows.flatMap(([name, text]) => [make("dt", { text: name }), make("dd", { text })]));

  maestro.watch = (game, words, missing) =>
    Number.isInteger(game)
      ? maestro.button(words, () => maestro.replay(game), { class: "primary" })
      : make("p", { class: "muted small", text: missing });
})();
