"use strict";
// Recorded games: drawn from their states, with play, pause, steps, a slider and speeds.
(() => {
  const { make, button, number } = maestro;
  const SPEEDS = [0.5, 1, 2, 4, 8];
  const PACE = 8; // states a second
  const LONGEST = 30; // seconds that a long game takes
  const HELP = "Keys: space plays and pauses, the arrows go one state, Home and End to the ends, Esc closes.";

  const seat = (side, name) => {
    const word = maestro.data.seats[side];
    const swatch = make("i", { class: `swatch seat${side}` });
    const more = word ? make("span", { class: "muted", text: word }) : null;
    return make("span", { class: "seat" }, swatch, make("b", { text: name }), more);
  };

  // (an element, a function that draws the state of now)
  const stage = (game, at) => {
    const scene = maestro.scene.of(game.scene);
    if (!maestro.scene.drawable(scene)) {
      const pre = make("pre", { class: "stage", tabindex: "0", role: "group", "aria-label": game.told });
      return [pre, () => (pre.textContent = game.text?.[at()] ?? "nothing was kept of this game")];
    }
    const frame = () => game.frames[at()] || null;
    const canvas = maestro.scene.view(scene, `${scene.label}: ${game.told}`, frame);
    canvas.classList.add("stage");
    return [canvas, () => maestro.scene.draw(canvas, scene, frame())];
  };

  // What both expected, state by state, with a line where the game stands.
  const expected = (game, at) => {
    const values = game.values || [];
    if (!values.length) return [null, () => {}];
    const line = (side) => ({
      name: game.names[side],
      y: values.map((pair) => pair[side]),
      color: `var(--seat${side})`,
      dash: side ? "5 3" : null,
    });
    const label = "What each player expects to gain";
    const lines = [line(0), line(1)];
    const chart = maestro.chart({ height: 130, x: values.map((_, i) => i), lines, label });
    const words = make("figcaption", { class: "muted", text: label });
    const box = make("figure", { class: "values" }, words, chart.element);
    return [box, () => chart.mark(Math.min(at(), values.length - 1))];
  };

  // A clock that shows one state after the other; `show` is told after every change.
  const clock = (last, show) => {
    const self = { now: 0, speed: 1, timer: null };
    const pace = () => 1000 / (self.speed * Math.max(PACE, last / LONGEST));
    const stop = () => (clearInterval(self.timer), (self.timer = null));
    const go = (state) => ((self.now = Math.max(0, Math.min(last, state))), show(self));
    const tick = () => {
      if (self.now >= last) stop();
      go(self.now + 1);
    };
    const run = () => {
      stop();
      self.timer = setInterval(tick, pace());
      go(self.now >= last ? 0 : self.now);
    };
    const at = (speed) => ((self.speed = speed), self.timer && run());
    const toggle = () => (self.timer ? (stop(), go(self.now)) : run());
    return Object.assign(self, { stop, run, toggle, at, jump: (state) => (stop(), go(state)) });
  };

  const keys = (time, last) => (event) => {
    const targets = { ArrowRight: time.now + 1, ArrowLeft: time.now - 1, Home: 0, End: last };
    if (event.key === " " && !event.target.matches("button, select")) time.toggle();
    else if (event.key in targets && !event.target.matches("select, input")) time.jump(targets[event.key]);
    else return;
    event.preventDefault();
  };

  maestro.replay = (index) => {
    const game = maestro.data.games[index];
    if (!game) return;
    const drawn = maestro.scene.drawable(maestro.scene.of(game.scene));
    const last = Math.max(0, (drawn ? game.frames : game.text || []).length - 1);
    const at = () => time.now;
    const [picture, drawState] = stage(game, at);
    const [chart, drawValues] = expected(game, at);
    const range = { type: "range", min: 0, max: last, step: 1, class: "grow" };
    const on = { input: () => time.jump(Number(slider.value)) };
    const slider = make("input", { ...range, "aria-label": "State of the game", on });
    const told = make("output", { class: "count" });
    const play = button("Play", () => time.toggle(), { class: "primary" });
    const time = clock(last, ({ now, timer }) => {
      slider.value = now;
      slider.setAttribute("aria-valuetext", `${now} of ${last}`);
      told.textContent = `${now} / ${last}`;
      play.textContent = timer ? "Pause" : now === last && last ? "Again" : "Play";
      drawState();
      drawValues();
    });
    const step = (by, text, label) => button(text, () => time.jump(time.now + by), { "aria-label": label });
    const names = SPEEDS.map((speed) => `${number(speed)}×`);
    const speeds = maestro.picker("Speed", names, SPEEDS.indexOf(1), (i) => time.at(SPEEDS[i]));
    const steps = [step(-1, "◀", "One state back"), slider, step(1, "▶", "One state on")];
    const against = make("span", { class: "muted", text: "against" });
    const box = make("div", { class: "stage-box" }, picture);
    const content = [
      make("p", { class: "seats" }, seat(0, game.names[0]), against, seat(1, game.names[1])),
      make("div", { class: chart ? "watch" : "watch alone" }, box, chart),
      make("div", { class: "controls" }, play, steps, told, speeds),
      make("p", { class: "muted keys", text: HELP }),
    ];
    const title = [game.level, game.told].filter(Boolean).join(": ");
    maestro.view(title, content, { keys: keys(time, last), closed: time.stop });
    time.jump(0);
    play.focus();
    if (!maestro.still() && last) time.run();
  };
})();
