"use strict";
// What the teacher served at one moment: levels with their co-players, and the co-players themselves.
(() => {
  const { make, number, percent } = maestro;

  maestro.slotName = (slot) => (slot === 0 ? "the live student" : `member ${slot}`);
  // Old members are dark, new ones light, the live student has the page's own color; a word is always beside.
  maestro.slotColor = (slot, members) => {
    if (slot === 0) return "var(--accent)";
    const share = members > 1 ? (slot - 1) / (members - 1) : 0.5;
    return `color-mix(in oklab, var(--member-new) ${Math.round(100 * share)}%, var(--member-old))`;
  };

  const NOTE = "Won: the share of games that the student won, a draw as half.";

  const chip = (slot, members) => {
    const style = { background: maestro.slotColor(slot, members) };
    const swatch = make("i", { class: slot === 0 ? "swatch live" : "swatch", style });
    return make("span", { class: "chip" }, swatch, maestro.slotName(slot));
  };

  const card = (level, members, place) => {
    const score = level.score === null ? "" : `, score ${number(level.score, 2)}`;
    const words = `${level.replayed ? "replayed" : "new"}${score}`;
    const label = `Level ${place}, against ${maestro.slotName(level.coplayer)}, ${words}`;
    const scene = maestro.scene.of(level.scene);
    const on = { click: () => maestro.enlarge(level.scene, label) };
    const settings = { type: "button", class: "picture", "aria-label": `${label}: enlarge`, on };
    const picture = scene ? make("button", settings, maestro.scene.view(scene, label)) : null;
    const below = make("span", { class: "muted small", text: words });
    return make("li", { class: "card" }, picture, chip(level.coplayer, members), below);
  };

  const bar = (share, color) => {
    const width = `${Math.round(100 * Math.max(0, Math.min(1, share || 0)))}%`;
    const filled = make("span", { class: "filled", style: { width, background: color } });
    const track = make("span", { class: "track" }, filled);
    return make("div", { class: "bar-row" }, track, make("b", { class: "num", text: percent(share) }));
  };

  // How likely each co-player is chosen, how often the student wins against it, how full its buffer is.
  const partners = (now) => {
    const fill = (slot) => (now.fill.length > 1 ? now.fill[slot] : now.fill[0]);
    const row = (weight, slot) =>
      make("tr", null,
        make("th", { scope: "row" }, chip(slot, now.members)),
        make("td", null, bar(weight, maestro.slotColor(slot, now.members))),
        make("td", { class: "num", text: percent(now.win_rate[slot]) }),
        make("td", { class: "num", text: percent(fill(slot)) }));
    const head = (text, i) => make("th", { scope: "col", class: i > 1 ? "num" : null, text });
    return make("table", { class: "tight" },
      make("caption", { text: "Co-players at this moment" }),
      make("thead", null, make("tr", null, ["co-player", "chosen", "won", "buffer"].map(head))),
      make("tbody", null, now.weights.slice(0, now.members + 1).map(row)),
      make("tfoot", null, make("tr", null, make("td", { class: "muted small", colspan: 4, text: NOTE }))));
  };

  // The middle and the range of the scores that the teacher keeps, buffer by buffer.
  const scores = (now) => {
    const all = now.scores.filter((nine) => nine.some(maestro.known));
    if (!all.length) return null;
    const low = maestro.mean(all.map((nine) => nine[0]));
    const high = maestro.mean(all.map((nine) => nine[8]));
    const middle = maestro.mean(all.map((nine) => nine[4]));
    const text = `Scores kept: median ${number(middle, 2)}, from ${number(low, 2)} to ${number(high, 2)}`;
    const more = all.length > 1 ? " (means over buffers)" : "";
    return make("p", { class: "muted small", text: `${text}${more}.` });
  };

  const statistic = ({ moments }, seed, { name: key, y }) => {
    const name = key.replaceAll("_", " ");
    const value = make("b", { class: "num" });
    const line = { name, y: y[seed], color: "var(--accent)" };
    const label = `${name}, mean of the levels served`;
    const chart = maestro.chart({ height: 84, x: moments.map((m) => m.updates), lines: [line], label });
    const top = make("div", { class: "spread" }, make("span", { text: name }), value);
    const show = (moment) => {
      chart.mark(moments[moment].updates);
      value.textContent = number(y[seed][moment]);
    };
    return { box: make("div", { class: "statistic" }, top, chart.element), show };
  };

  // (an element, a function that shows a moment of a seed in it)
  maestro.served = ({ curriculum, name }, seed) => {
    const levels = make("ul", { class: "levels", "aria-label": "Levels served at this moment" });
    const side = make("div", { class: "partners" });
    const moving = curriculum.statistics.map((one) => statistic(curriculum, seed, one));
    const charts = make("div", { class: "statistics" }, moving.map((one) => one.box));
    const aside = make("div", { class: "aside" }, side, charts);
    const about = `Curriculum of ${name}`;
    const box = make("div", { class: "player", role: "group", "aria-label": about }, levels, aside);
    const show = (moment) => {
      const now = curriculum.moments[moment].seeds[seed];
      levels.replaceChildren(...now.levels.map((level, i) => card(level, now.members, i + 1)));
      side.replaceChildren(...[partners(now), scores(now)].filter(Boolean));
      moving.forEach((one) => one.show(moment));
    };
    return [box, show];
  };
})();
