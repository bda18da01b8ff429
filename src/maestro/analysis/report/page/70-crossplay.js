"use strict";
// The cross-play matrix: what the row returns against the column.
(() => {
  const { make, signed, known } = maestro;

  const told = (value) => signed(value, Math.abs(value) < 10 ? 2 : 0);

  const interval = (one, i, j) => {
    const ends = [one.low[i][j], one.high[i][j]];
    return ends.every(known) ? `${told(ends[0])} to ${told(ends[1])}` : "not known";
  };

  const detail = (one, i, j) => {
    const [row, column] = [make("b", { text: one.rows[i] }), make("b", { text: one.columns[j] })];
    return [
      make("p", { class: "versus" }, row, make("span", { class: "muted", text: " against " }), column),
      make("p", { class: "big num", text: told(one.mean[i][j]) }),
      maestro.pairs([["95 % interval", interval(one, i, j)]]),
      make("p", { class: "muted small", text: `Levels: ${one.levels}` }),
      maestro.watch(one.games[i][j], "Watch a game of this pairing", "No game of this pairing was kept."),
    ];
  };

  const cell = (one, most, i, j) => {
    const value = one.mean[i][j];
    const numbers = `mean return ${told(value)}, 95 % interval ${interval(one, i, j)}`;
    return {
      text: maestro.short(told(value)),
      label: `${one.rows[i]} against ${one.columns[j]}: ${numbers}`,
      share: value === null ? null : Math.min(1, Math.abs(value) / most),
      scale: value < 0 ? "loss" : "gain",
      watchable: Number.isInteger(one.games[i][j]),
    };
  };

  const build = (section, data, state) => {
    state.index = Math.min(state.index || 0, data.crossplays.length - 1);
    const one = data.crossplays[state.index];
    const most = Math.max(0.05, ...one.mean.flat().filter(known).map(Math.abs));
    const panel = make("aside", { class: "panel detail", "aria-label": "The pairing that is pointed at" });
    const grid = maestro.grid({
      rows: one.rows,
      columns: one.columns.map((name) => make("span", { class: "column-name", text: name })),
      label: "Mean return of the row against the column",
      corner: "row \\ column",
      cell: (i, j) => cell(one, most, i, j),
      about: (i, j) => panel.replaceChildren(...detail(one, i, j)),
      act: (i, j) => maestro.replay(one.games[i][j]),
    });
    const ends = [told(-most), `${told(most)}, return of the row`];
    if (data.crossplays.length > 1) {
      const choose = (i) => ((state.index = i), maestro.rebuild("crossplay"));
      const picker = maestro.picker("Games", data.crossplays.map(({ name }) => name), state.index, choose);
      section.append(make("div", { class: "controls" }, picker));
    }
    section.append(
      make("div", { class: "beside" }, make("div", null, grid, maestro.legend("two-hue", ends)), panel));
  };

  maestro.sections.push({
    id: "crossplay",
    title: "Cross-play",
    lead:
      "Who beats whom: the mean return of the row against the column. " +
      "Point at a cell for its interval; click it, or press Enter, to watch a recorded game.",
    has: (data) => data.crossplays.length > 0,
    uses: (data) => [data.crossplays, data.games.length],
    build,
  });
})();
