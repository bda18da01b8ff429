// Drawing a level: by pointer, by keyboard, or as text.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const { make } = maestro;
  const { MAX_SIZE, button, choice, labeled, whole } = game;
  const TOOLS = ["walls", "start of A", "start of B"];
  const ARROWS = { ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowDown: [1, 0], ArrowLeft: [0, -1] };
  const HELP = "Click a cell to build or clear a wall, drag to draw many. Drag A or B to another cell, click it to turn it. " +
    "By keyboard: arrows move the frame, Space builds or clears, A and B put the starts there, T turns the start in the frame.";

  /** The editor: {element, show(level), redraw()}; `done(level)` gets every level that is to be played. */
  function editor(done) {
    const canvas = make("canvas", { class: "play-board", tabindex: 0, role: "application", "aria-label": HELP });
    const text = make("textarea", { class: "play-text", rows: 9, spellcheck: "false" });
    const message = make("p", { class: "play-message", role: "status" });
    const play = button("Play on this level", () => done(game.read(text.value).level), { class: "primary play-done" });
    const self = { canvas, text, message, play, draft: null, cursor: game.cellAt(1, 1), tool: 0, drag: null };
    self.sizes = ["height", "width"].map((side) =>
      whole(1, [1, MAX_SIZE], (size) => change(self, game.resized(self.draft, ...sides(self.draft, side, size)))));
    self.limit = whole(1, [1, 10000], (steps) => change(self, { ...self.draft, timeLimit: steps }));
    listen(self);
    self.element = make("div", { class: "play-editor" },
      make("div", { class: "controls" },
        labeled("Click puts", choice(TOOLS, (tool) => { self.tool = tool; })),
        labeled("Rows", self.sizes[0]), labeled("Columns", self.sizes[1]), labeled("Time limit", self.limit),
        button("Clear all walls", () => change(self, cleared(self.draft))),
        button("Random level", () => change(self, game.generated(Math.random)))),
      make("div", { class: "play-stage" }, canvas,
        make("div", { class: "play-side" },
          make("p", { class: "muted small", text: HELP }), labeled("As text", text), message, play)));
    self.redraw = () => judge(self);
    self.show = (level) => change(self, { ...game.draftOf(level), name: "" });
    return self;
  }

  const sides = (draft, side, size) => (side === "height" ? [size, draft.width] : [draft.height, size]);
  const cleared = (draft) => ({ ...draft, walls: game.outerWall(draft.height, draft.width) });

  /** Everything shows another draft. */
  function change(self, draft) {
    self.draft = draft;
    self.sizes[0].value = String(draft.height);
    self.sizes[1].value = String(draft.width);
    self.limit.value = String(draft.timeLimit);
    self.text.value = game.toText(draft);
    if (!within(draft, self.cursor)) self.cursor = game.cellAt(1, 1);
    judge(self);
  }

  const within = (draft, cell) => cell % game.SIDE <= draft.width && Math.floor(cell / game.SIDE) <= draft.height;

  /** Whether it is a level, told in words, and the picture. */
  function judge(self, refusal = "") {
    const { level, problem } = game.read(self.text.value);
    self.message.textContent = refusal || (level ? game.described(level) : `This is no level yet: ${problem}`);
    self.message.classList.toggle("play-wrong", Boolean(refusal || problem));
    self.play.disabled = !level;
    const bolts = new Uint8Array(game.SIDE * game.SIDE);
    const cursor = document.activeElement === self.canvas ? self.cursor : null;
    game.draw(self.canvas, self.draft, { ...self.draft, alive: [true, true], bolts, time: 0 }, { cursor });
  }

  /** Tell of a change of the draft, or what forbids it. */
  function after(self, refusal) {
    self.text.value = game.toText(self.draft);
    judge(self, refusal);
  }

  const startAt = (draft, cell) => draft.position.findIndex((at) => at && game.cellOf(at) === cell);

  /** What a click, or Space, does in a cell. */
  function apply(self, cell) {
    if (self.tool) return after(self, game.setStart(self.draft, self.tool - 1, cell));
    return after(self, game.setWall(self.draft, cell, !self.draft.walls[cell]));
  }

  function turn(self, seat) {
    self.draft.facing[seat] = (self.draft.facing[seat] + 1) % 4;
    after(self, "");
  }

  function pointerDown(self, event) {
    const cell = game.cellUnder(self.canvas, self.draft, event);
    if (cell === null) return;
    self.canvas.setPointerCapture(event.pointerId);
    self.cursor = cell;
    const seat = startAt(self.draft, cell);
    self.drag = { seat, from: cell, last: cell, wall: !self.draft.walls[cell] };
    if (seat < 0) apply(self, cell);
  }

  function pointerMove(self, event) {
    const cell = self.drag && game.cellUnder(self.canvas, self.draft, event);
    if (cell === null || !self.drag || cell === self.drag.last) return;
    self.drag.last = self.cursor = cell;
    if (self.drag.seat >= 0) after(self, game.setStart(self.draft, self.drag.seat, cell));
    else if (!self.tool) after(self, game.setWall(self.draft, cell, self.drag.wall));
    else apply(self, cell);
  }

  /** A click on a start that was not dragged turns it. */
  function pointerUp(self) {
    const { seat, from, last } = self.drag || { seat: -1 };
    if (seat >= 0 && from === last) turn(self, seat);
    self.drag = null;
  }

  function keyDown(self, event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const seat = startAt(self.draft, self.cursor);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (ARROWS[key]) move(self, ...ARROWS[key]);
    else if (key === " ") apply(self, self.cursor);
    else if (key === "a" || key === "b") after(self, game.setStart(self.draft, key === "a" ? 0 : 1, self.cursor));
    else if (key === "t" && seat >= 0) turn(self, seat);
    else return;
    event.preventDefault();
  }

  function move(self, down, right) {
    const cell = self.cursor + down * game.SIDE + right;
    if (within(self.draft, cell) && cell % game.SIDE >= 1 && cell > game.SIDE) self.cursor = cell;
    judge(self);
  }

  function listen(self) {
    self.canvas.addEventListener("pointerdown", (event) => pointerDown(self, event));
    self.canvas.addEventListener("pointermove", (event) => pointerMove(self, event));
    self.canvas.addEventListener("pointerup", () => pointerUp(self));
    self.canvas.addEventListener("pointercancel", () => { self.drag = null; });
    self.canvas.addEventListener("keydown", (event) => keyDown(self, event));
    for (const kind of ["focus", "blur"]) self.canvas.addEventListener(kind, () => judge(self));
    self.text.addEventListener("input", () => {
      const { level } = game.read(self.text.value);
      if (level) self.draft = game.draftOf(level);
      judge(self);
    });
  }

  Object.assign(game, { editor });
})(maestro);
