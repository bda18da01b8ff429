"use strict";
// Learning curves: a panel for each measure, a color for each run, thin lines for seeds.
(() => {
  const { make, svg } = maestro;
  const drawable = (data) => data.runs.filter((run) => run.curves.length);
  const FEW = 4; // runs whose seeds can be told apart in one panel
  const curveOf = (run, name) => run.curves.find((curve) => curve.name === name);

  const linesOf = (run, name, look, seeds) => {
    const { x, y } = curveOf(run, name);
    const mean = x.map((_, k) => maestro.mean(y.map((seed) => seed[k])));
    const one = (values, faint) => ({ name: run.name, x, y: values, ...look, faint });
    return [...(seeds && y.length > 1 ? y.map((seed) => one(seed, true)) : []), one(mean, false)];
  };

  const panel = (name, runs, looks, hidden) => {
    const shown = runs.filter((run) => curveOf(run, name) && !hidden.has(run.name));
    const lines = shown.flatMap((run) => linesOf(run, name, looks.get(run), shown.length <= FEW));
    const { about } = curveOf(runs.find((run) => curveOf(run, name)), name);
    const chart = lines.length
      ? maestro.readable({ height: 190, lines, label: name })
      : make("p", { class: "muted small", text: "All runs that have it are hidden." });
    const words = make("p", { class: "muted small", text: about });
    return make("div", { class: "curve" }, make("h3", { text: name }), words, chart);
  };

  const toggle = (run, look, hidden, draw) => {
    const press = () => {
      if (!hidden.delete(run.name)) hidden.add(run.name);
      button.setAttribute("aria-pressed", String(!hidden.has(run.name)));
      draw();
    };
    const stroke = { "stroke-width": 2.5, "stroke-dasharray": look.dash, style: { stroke: look.color } };
    const line = svg("line", { x1: 0, x2: 22, y1: 4, y2: 4, ...stroke });
    const sample = svg("svg", { width: 22, height: 8, "aria-hidden": "true" }, line);
    const button = maestro.button("", press, { class: "toggle", "data-key": `run ${run.name}` });
    button.setAttribute("aria-pressed", String(!hidden.has(run.name)));
    button.append(sample, make("span", { text: run.name }));
    return button;
  };

  const build = (section, data, state) => {
    const runs = drawable(data);
    const found = maestro.looks(runs);
    const looks = new Map(runs.map((run, i) => [run, found[i]]));
    const hidden = (state.hidden = state.hidden || new Set());
    const names = [...new Set(runs.flatMap((run) => run.curves.map((curve) => curve.name)))];
    const panels = make("div", { class: "curves" });
    const draw = () => panels.replaceChildren(...names.map((name) => panel(name, runs, looks, hidden)));
    const toggles = runs.map((run) => toggle(run, looks.get(run), hidden, draw));
    draw();
    const settings = { class: "controls", role: "group", "aria-label": "Runs that are shown" };
    section.append(make("div", settings, toggles), panels);
  };

  maestro.sections.push({
    id: "curves",
    title: "Learning curves",
    nav: "Curves",
    lead:
      "By update. Thick lines are means over seeds; thin ones seeds, where at most four runs are shown. " +
      "The buttons hide and show runs.",
    has: (data) => drawable(data).length > 0,
    uses: (data) => drawable(data).map(({ name, method, curves }) => [name, method, curves]),
    build,
  });
})();
