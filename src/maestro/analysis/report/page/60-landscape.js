"use strict";
// The regret landscape: co-players are rows, levels columns; a deep color is much regret.
(() => {
  const { make, number } = maestro;
  const SCORES = { max_mc: "MaxMC", positive_value_loss: "positive value loss" };
  const MEANING = {
    joint: "chosen by a teacher of pairs",
    independent: "chosen by a teacher that picks co-player and level apart",
  };

  const marksOf = (one, i, j) =>
    Object.keys(MEANING).filter((name) => one[name] && one[name][0] === i && one[name][1] === j);
  const tag = (name) => make("i", { class: `tag ${name}` });

  const detail = (one, i, j) => {
    const scene = maestro.scene.of(one.levels[j]);
    const label = scene && scene.label !== `level ${j + 1}` ? scene.label : "";
    const level = [String(j + 1), label].filter(Boolean).join(", ");
    const told = [["co-player", one.members[i]], ["level", level], ["regret", number(one.regret[i][j])]];
    return [
      scene ? maestro.scene.view(scene) : "",
      maestro.pairs([...told, ["episodes", number(one.episodes[i][j])]]),
      ...marksOf(one, i, j).map((name) => make("p", { class: "small" }, tag(name), MEANING[name])),
      maestro.watch(one.games[i][j], "Watch a game of this cell", "No game of this cell was kept."),
    ];
  };

  const cell = (one, most, i, j) => {
    const value = one.regret[i][j];
    const marks = marksOf(one, i, j);
    const why = marks.map((name) => `, ${MEANING[name]}`).join("");
    return {
      text: maestro.short(number(value, 2)),
      label: `${one.members[i]}, level ${j + 1}: regret ${number(value)}${why}`,
      share: value === null ? null : Math.max(0, value) / most,
      scale: "one-hue",
      mark: marks.join(" "),
      watchable: Number.isInteger(one.games[i][j]),
    };
  };

  const columnHead = (index, j) => {
    const scene = maestro.scene.of(index);
    const picture = scene ? maestro.scene.view(scene, `level ${j + 1}`) : null;
    return make("span", { class: "column-head" }, picture, make("span", { text: String(j + 1) }));
  };

  const build = (section, data, state) => {
    state.index = Math.min(state.index || 0, data.landscapes.length - 1);
    const one = data.landscapes[state.index];
    const most = Math.max(1e-9, ...one.regret.flat().filter(maestro.known));
    const panel = make("aside", { class: "panel detail", "aria-label": "The cell that is pointed at" });
    const grid = maestro.grid({
      rows: one.members,
      columns: one.levels.map(columnHead),
      columnNames: one.levels.map((_, j) => `level ${j + 1}`),
      label: "Regret of the student by co-player and level",
      corner: "co-player \\ level",
      start: one.joint,
      cell: (i, j) => cell(one, most, i, j),
      about: (i, j) => panel.replaceChildren(...detail(one, i, j)),
      act: (i, j) => maestro.replay(one.games[i][j]),
    });
    const names = data.landscapes.map(({ run, seed }) => `${run}, seed ${seed}`);
    const choose = (i) => ((state.index = i), maestro.rebuild("landscape"));
    const score = SCORES[one.score] || one.score;
    const about = `${names[state.index]}: the student of ${one.student}; score ${score}.`;
    const keys = Object.keys(MEANING).map((name) => make("span", { class: "key" }, tag(name), MEANING[name]));
    const least = one.regret.flat().some((value) => value < 0) ? "0 or less" : "0";
    const legend = maestro.legend("one-hue", [least, `${number(most, 2)} regret`]);
    if (names.length > 1) {
      const picker = maestro.picker("Landscape", names, state.index, choose);
      section.append(make("div", { class: "controls" }, picker));
    }
    section.append(
      make("p", { class: "muted", text: about }),
      make("div", { class: "beside" },
        make("div", null, grid, legend, make("p", { class: "legend small" }, keys)), panel));
  };

  maestro.sections.push({
    id: "landscape",
    title: "Regret landscape",
    nav: "Landscape",
    lead:
      "How much better the student could have done, for each co-player (rows) and level (columns). " +
      "Point at a cell for its numbers; click it, or press Enter, to watch a recorded game of it.",
    has: (data) => data.landscapes.length > 0,
    uses: (data) => [data.landscapes, data.scenes, data.games.length],
    build,
  });
})();
