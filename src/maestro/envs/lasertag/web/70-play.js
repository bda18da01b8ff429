// The section of the page in which LaserTag is played: take a seat, watch two agents, or draw a level.
(function (maestro) {
  "use strict";

  const { make } = maestro;
  const game = maestro.lasertag;
  const { button, choice, labeled, tables, whole, words } = game;
  const SEATS = ["Red, A", "Blue, B"];
  const ABOUT = "Take a seat against a trained agent, or let two of them play: who tags the other first wins. " +
    "A bolt flies one cell per step. It can be dodged, outrun and parried, and a target in the very next cell " +
    "cannot be hit. Red is drawn filled, blue hollow; the tinted cells are all that an agent sees. The bar of an " +
    "agent is the return that it expects, from -1, it is tagged, to 1, it tags.";
  const PAD = [["↺", "Turn left", game.TURN_LEFT], ["▲", "Forward", game.FORWARD], ["↻", "Turn right", game.TURN_RIGHT],
    ["●", "Shoot", game.SHOOT], ["·", "Wait", game.NOOP]];
  const KEYS = [["← or A", "turn left"], ["↑ or W", "forward"], ["→ or D", "turn right"], ["Space", "shoot"],
    ["↓ or S", "wait"], ["P", "pause"], ["R", "restart"], ["N", "next game"]];
  const DRAWN = "your drawing";
  const FIELD = "name: Open field\ntime limit: 200\nA faces: right\nB faces: left\n" +
    ".......\nA.....#\n...#...\n#.....B\n.......\n";
  const paced = (pace) => (pace ? `${pace} steps a second` : "one step per key");
  let current = null; // what fills the section: one that is filled anew must leave no clock behind

  /** The levels of the page that can be read, or one of our own. */
  function levelsOf(play) {
    const found = (play.levels || []).map(({ name, text }) => ({ name, level: game.read(text).level }));
    const known = found.filter(({ level }) => level);
    return known.length ? known : [{ name: "Open field", level: game.parse(FIELD) }];
  }

  /** Fill a place of the page; `play` holds agents and levels. */
  function start(place, play) {
    if (current) tables.pause(current.table);
    const players = [game.human, ...(play.agents || []).map(game.trained), game.random, game.still];
    const page = { players, levels: levelsOf(play), seats: [0, 1], fog: false, table: null };
    const { level } = page.levels[0];
    page.parts = parts(page);
    page.editor = game.editor((drawn) => playOn(page, drawn));
    place.replaceChildren(...laidOut(page));
    page.table = tables.table(level, [players[0], players[1]], () => page.table && show(page));
    current = page;
    page.editor.show(level);
    listen(page);
    show(page);
  }

  /** What changes while a game goes on, and what it is steered by. */
  function parts(page) {
    const canvas = make("canvas", { class: "play-board", role: "img" });
    const name = "The board: keys play when it has the focus";
    const stage = make("div", { class: "play-keys", tabindex: 0, role: "group", "aria-label": name }, canvas);
    return {
      canvas, stage,
      told: make("p", { class: "play-told", role: "status" }),
      clock: make("p", { class: "muted play-clock" }),
      score: make("p", { class: "play-score" }),
      minds: SEATS.map(game.mind),
      pad: make("div", { class: "play-pad", role: "group", "aria-label": "Your actions" },
        PAD.map(([text, title, action]) => button(text, () => tables.press(page.table, action), { "aria-label": title, title }))),
      run: button("Start", () => run(page), { class: "primary play-run" }),
      step: button("Step", () => tables.step(page.table), { class: "play-step" }),
      ...choices(page),
    };
  }

  function run(page) {
    tables.toggle(page.table);
    page.parts.stage.focus({ preventScroll: true });
  }

  function choices(page) {
    const fog = (event) => { page.fog = event.target.checked; show(page); };
    const pace = (index) => tables.setPace(page.table, tables.PACES[index]);
    const names = page.players.map(({ name }) => name);
    return {
      who: SEATS.map((_, seat) => choice(names, (index) => sit(page, seat, index), { class: `play-who${seat}` })),
      level: choice(page.levels.map(({ name }) => name), () => reseat(page), { class: "play-level" }),
      pace: choice(tables.PACES.map(paced), pace, { class: "play-pace" }),
      seed: whole(1, [1, tables.MOST_SEED], (seed) => tables.reseed(page.table, seed), { class: "play-seed" }),
      fog: make("input", { type: "checkbox", class: "play-fog", on: { change: fog } }),
    };
  }

  function laidOut(page) {
    const { parts: p } = page;
    const drawing = make("details", { class: "panel play-draw" }, make("summary", { text: "Draw a level" }), page.editor.element);
    drawing.addEventListener("toggle", () => drawing.open && page.editor.show(page.table.level));
    return [
      make("p", { class: "lead muted", text: ABOUT }),
      make("div", { class: "controls play-controls" },
        labeled(SEATS[0], p.who[0]), labeled(SEATS[1], p.who[1]), labeled("Level", p.level), labeled("Pace", p.pace),
        labeled("Seed", p.seed), labeled("See only what your agent would", p.fog)),
      make("div", { class: "controls" }, p.run, p.step,
        button("Restart", () => tables.deal(page.table), { class: "play-restart" }),
        button("Next game", () => tables.next(page.table), { class: "play-next" })),
      make("div", { class: "panel play-stage" }, p.stage,
        make("div", { class: "play-side" }, p.told, p.pad, p.clock, p.score, p.minds.map(({ body }) => body), keys())),
      drawing,
    ];
  }

  const keys = () => make("dl", { class: "play-help" },
    KEYS.map(([key, what]) => make("div", {}, make("dt", {}, make("kbd", { text: key })), make("dd", { text: what }))));

  /** Another player in a seat; there is one person only, who changes seats. */
  function sit(page, seat, index) {
    const before = page.seats[seat];
    page.seats[seat] = index;
    if (page.seats.every((player) => page.players[player].human)) page.seats[1 - seat] = before;
    reseat(page);
  }

  function reseat(page) {
    const { level } = page.levels[page.parts.level.selectedIndex];
    tables.seat(page.table, level, page.seats.map((index) => page.players[index]));
  }

  /** A level that was drawn is the last of the menu. */
  function playOn(page, level) {
    if (!page.drawn) {
      page.drawn = { name: DRAWN };
      page.levels.push(page.drawn);
      page.parts.level.append(make("option", { text: DRAWN }));
    }
    page.drawn.level = level;
    page.parts.level.selectedIndex = page.levels.length - 1;
    reseat(page);
    page.parts.stage.focus();
  }

  function listen(page) {
    const { stage } = page.parts;
    stage.addEventListener("keydown", (event) => tables.keyDown(page.table, event) && event.preventDefault());
    stage.addEventListener("keyup", (event) => tables.keyUp(page.table, event));
    stage.addEventListener("blur", () => { page.table.held = []; });
    stage.addEventListener("click", () => stage.focus({ preventScroll: true }));
  }

  function show(page) {
    const { parts: p, table } = page;
    const { match } = table;
    const hidden = page.fog ? tables.unseen(table) : new Set();
    game.draw(p.canvas, table.level, match.state, { hidden });
    p.canvas.setAttribute("aria-label", words.pictured(match, hidden));
    const told = words.telling(table);
    if (p.told.textContent !== told) p.told.textContent = told; // said once, not in every step
    p.clock.textContent = `Step ${match.state.time} of ${table.level.timeLimit}`;
    p.score.textContent = words.counted(table.score);
    showControls(p, table);
    page.seats.forEach((index, seat) => {
      p.who[seat].selectedIndex = index;
      game.showMind(p.minds[seat], table.players[seat], match.minds[seat]);
    });
  }

  function showControls(p, table) {
    const { match } = table;
    p.run.textContent = table.running() ? "Pause" : table.played() && !match.over ? "Go on" : "Start";
    p.run.disabled = match.over;
    p.run.hidden = !table.pace;
    p.step.disabled = match.over || table.running();
    p.pad.hidden = !table.byHand();
    p.seed.value = String(table.seed);
    p.pace.selectedIndex = tables.PACES.indexOf(table.pace);
  }

  document.addEventListener("themechange", () => {
    if (!current) return;
    show(current);
    current.editor.redraw();
  });
  maestro.games.lasertag = { start };
})(maestro);
