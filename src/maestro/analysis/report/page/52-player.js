"use strict";
// The curriculum player: a slider over the kept moments of training.
(() => {
  const { make, button, number } = maestro;
  const EVERY = 900; // milliseconds between two moments
  const playable = (data) => data.runs.filter((run) => run.curriculum && run.curriculum.moments.length);
  let timer = null;

  const stop = () => {
    clearInterval(timer);
    timer = null;
  };

  // What is shown: within bounds, and at the end of a run that goes on the player follows it.
  const settle = (state, runs) => {
    state.run = Math.min(state.run || 0, runs.length - 1);
    const { seeds, curriculum } = runs[state.run];
    state.seed = Math.min(state.seed || 0, seeds.length - 1);
    const last = curriculum.moments.length - 1;
    const follows = state.moment === undefined || state.moment === state.last || state.moment > last;
    if (follows) state.moment = last;
    state.last = last;
    return runs[state.run];
  };

  const build = (section, data, state) => {
    stop();
    const runs = playable(data);
    const run = settle(state, runs);
    const { last } = state;
    const [box, show] = maestro.served(run, state.seed);
    const range = { type: "range", min: 0, max: last, step: 1, class: "grow", "data-key": "moment" };
    const on = { input: () => jump(Number(slider.value)) };
    const slider = make("input", { ...range, "aria-label": "Moment of training", on });
    const when = make("output", { class: "count" });
    const press = () => (timer ? jump(state.moment) : start());
    const play = button("Play", press, { class: "primary", "data-key": "play" });

    const go = (moment) => {
      state.moment = Math.max(0, Math.min(last, moment));
      when.textContent = `update ${number(run.curriculum.moments[state.moment].updates)}`;
      slider.value = state.moment;
      slider.setAttribute("aria-valuetext", when.textContent);
      play.textContent = timer ? "Pause" : "Play";
      show(state.moment);
    };
    const jump = (moment) => {
      stop();
      go(moment);
    };
    const tick = () => {
      if (state.moment + 1 >= last) stop();
      go(state.moment + 1);
    };
    const start = () => {
      timer = setInterval(tick, EVERY);
      go(state.moment >= last ? 0 : state.moment);
    };
    const step = (by, text, label) =>
      button(text, () => jump(state.moment + by), { "aria-label": label, "data-key": label });
    const choose = (name) => (i) => {
      state[name] = i;
      if (name === "run") state.moment = undefined;
      maestro.rebuild("curriculum");
    };
    const whose = maestro.picker("Run", runs.map((one) => one.name), state.run, choose("run"));
    const which = maestro.picker("Seed", run.seeds.map(String), state.seed, choose("seed"));
    const steps = [step(-1, "◀", "One moment back"), slider, step(1, "▶", "One moment on")];
    section.append(
      make("div", { class: "controls" }, whose, which),
      make("div", { class: "controls" }, play, steps, when),
      box);
    go(state.moment);
  };

  maestro.sections.push({
    id: "curriculum",
    title: "Curriculum",
    lead:
      "What the teacher served along training: levels, and the co-player each was paired with. " +
      "Move the slider; click a level to see it large.",
    has: (data) => playable(data).length > 0,
    uses: (data) => [playable(data), data.scenes],
    build,
  });
})();
