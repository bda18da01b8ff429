"use strict";
// Charts whose values are read with the pointer or the arrow keys, and the colors of runs.
(() => {
  const { make, number } = maestro;

  maestro.readable = (spec) => {
    const chart = maestro.chart(spec);
    const words = make("output", { class: "reading muted" });
    let at = chart.xs.length - 1;

    const pair = (line, x) => {
      const swatch = make("i", { class: "swatch", style: { background: line.color } });
      const value = make("b", { text: number(line.y[maestro.within(line.x || spec.x, x)]) });
      return make("span", { class: "pair" }, swatch, `${line.name} `, value);
    };
    const say = (x) => {
      chart.mark(x);
      words.replaceChildren();
      if (x === null) return;
      const thick = spec.lines.filter((line) => !line.faint);
      words.append(make("b", { text: `update ${number(x)}` }), ...thick.map((line) => pair(line, x)));
    };
    const turn = (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      at = Math.max(0, Math.min(chart.xs.length - 1, at + step));
      say(chart.xs[at]);
    };
    const point = (event) => {
      at = maestro.nearest(chart.xs, chart.under(event.clientX));
      say(chart.xs[at]);
    };
    const on = {
      pointermove: point,
      pointerleave: () => document.activeElement !== box && say(null),
      focus: () => say(chart.xs[at]),
      blur: () => say(null),
      keydown: turn,
    };
    const label = `${spec.label}; the arrow keys read values`;
    const settings = { class: "readable", tabindex: "0", role: "group", "aria-label": label, on };
    const box = make("div", settings, chart.element, words);
    return box;
  };

  // A color for each method, the same as in the figures; others share them, with dashes.
  const METHODS = "dr-sp dr-fsp dr-pfsp plr-sp plr-fsp plr-pfsp maestro maestro-r maestro-p".split(" ");
  const DASHES = [null, "6 3", "2 3", "8 3 2 3"];
  maestro.looks = (runs) => {
    const used = {};
    let strangers = 0;
    return runs.map(({ method }) => {
      const own = METHODS.indexOf(method);
      const index = own >= 0 ? own : strangers++ % METHODS.length;
      const turn = used[index] ?? (own >= 0 ? 0 : 1);
      used[index] = turn + 1;
      return { color: `var(--run${index})`, dash: DASHES[turn % DASHES.length] };
    });
  };
})();
