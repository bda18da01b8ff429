// The table at which games are played: the clock, the keys, the score; it tells `shown` of every change.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const KEYS = {
    ArrowLeft: game.TURN_LEFT, a: game.TURN_LEFT,
    ArrowUp: game.FORWARD, w: game.FORWARD,
    ArrowRight: game.TURN_RIGHT, d: game.TURN_RIGHT,
    " ": game.SHOOT,
    ArrowDown: game.NOOP, s: game.NOOP,
  };
  const PACES = [0, 2, 4, 8, 16, 32]; // steps per second; 0: one step for every key
  const MOST_SEED = 999999;

  const named = (event) => (event.key.length === 1 ? event.key.toLowerCase() : event.key);

  /** A table with a level and two players; `shown(table)` is called whenever something has changed. */
  function table(level, players, shown) {
    const self = { level, players, shown, seed: 1, pace: 4, score: [0, 0, 0], timer: null, typed: null, held: [] };
    self.running = () => self.timer !== null;
    self.played = () => self.match.state.time > 0;
    self.byHand = () => self.players.some((player) => player.human);
    deal(self);
    return self;
  }

  /** A new game; the score is kept. */
  function deal(self) {
    pause(self);
    Object.assign(self, { typed: null, held: [], match: game.match(self.level, self.players, self.seed) });
    self.shown(self);
  }

  /** Others play, or elsewhere; the score begins anew if the players are others. */
  function seat(self, level, players) {
    if (players.some((player, i) => player !== self.players[i])) self.score = [0, 0, 0];
    Object.assign(self, { level, players });
    deal(self);
  }

  function next(self) {
    self.seed = self.seed >= MOST_SEED ? 1 : self.seed + 1;
    deal(self);
  }

  function reseed(self, seed) {
    self.seed = seed;
    deal(self);
  }

  function pause(self) {
    clearInterval(self.timer);
    self.timer = null;
  }

  /** Let the clock run, or wait for keys. */
  function resume(self) {
    pause(self);
    if (!self.match.over && self.pace) self.timer = setInterval(() => step(self), 1000 / self.pace);
    self.shown(self);
  }

  function toggle(self) {
    if (!self.running()) return resume(self);
    pause(self);
    return self.shown(self);
  }

  function setPace(self, pace) {
    self.pace = pace;
    if (self.running()) resume(self);
    else self.shown(self);
  }

  /** One step, with the key pressed last, or held down, or none. */
  function step(self) {
    const held = self.held.length ? KEYS[self.held.at(-1)] : game.NOOP;
    self.match.turn(self.typed === null ? held : self.typed);
    self.typed = null;
    if (self.match.over) end(self);
    self.shown(self);
  }

  /** Count the game: won by A, drawn, won by B. */
  function end(self) {
    pause(self);
    self.score[self.match.won < 0 ? 1 : 2 * self.match.won] += 1;
  }

  /** An action by key or button: it is the next step, or makes one, and starts the clock. */
  function press(self, action) {
    if (self.match.over || !self.byHand()) return;
    self.typed = action;
    if (!self.pace) step(self);
    else if (!self.running() && !self.played()) resume(self);
  }

  /** Returns whether the key meant something. */
  function keyDown(self, event) {
    const key = named(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (key in KEYS && self.byHand()) {
      if (!event.repeat || !self.pace) press(self, KEYS[key]); // a key held down is looked at by the clock
      if (!self.held.includes(key)) self.held.push(key);
    } else if (key === "p") toggle(self);
    else if (key === "r") deal(self);
    else if (key === "n") next(self);
    else return false;
    return true;
  }

  function keyUp(self, event) {
    self.held = self.held.filter((key) => key !== named(event));
  }

  /** The cells that whoever plays by hand does not see, as long as the game goes on. */
  function unseen({ level, match, players }) {
    const player = players.findIndex(({ human }) => human);
    if (player < 0 || match.over) return new Set();
    const cells = Array.from({ length: (level.height + 2) * game.SIDE }, (_, cell) => cell);
    const seen = new Set(game.sight(match.state, player));
    return new Set(cells.filter((cell) => cell % game.SIDE < level.width + 2 && !seen.has(cell)));
  }

  game.tables = {
    MOST_SEED, PACES, deal, keyDown, keyUp, next, pause, press, reseed, seat, setPace, step, table, toggle, unseen,
  };
})(maestro);
