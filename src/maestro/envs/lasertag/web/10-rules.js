// LaserTag's rules, step for step those of game.py and bolts.py; nothing in here is random.
// A level: {height, width, walls, position, facing, timeLimit}. A state: {position, facing, alive, bolts, time}.
// Grids are 17 x 17, row by row, the outer wall being row 0 and column 0; a cell is its number in the grid.
// Positions are pairs [row, column]; facings are 0 up, 1 right, 2 down, 3 left.
(function (maestro) {
  "use strict";

  const MAX_SIZE = 15;
  const SIDE = MAX_SIZE + 2;
  const VIEW = 5; // an agent sees 5 columns and 5 rows: its own and the four ahead
  const DELTA = [[-1, 0], [0, 1], [1, 0], [0, -1]];
  const [NOOP, TURN_LEFT, FORWARD, TURN_RIGHT, SHOOT] = [0, 1, 2, 3, 4];
  const AGE = 16; // what one step adds to the code of a bolt: two places in the processing order
  const PLACES = 3; // a bolt's code is (1 + place) << 3 | owner << 2 | direction: the smaller flies earlier

  const cellAt = (row, column) => row * SIDE + column;
  const cellOf = (position) => cellAt(position[0], position[1]);

  /** The position one cell further. */
  function ahead(position, facing) {
    return [position[0] + DELTA[facing][0], position[1] + DELTA[facing][1]];
  }

  /** The start of an episode. */
  function reset(level) {
    return {
      position: level.position.map((position) => position.slice()),
      facing: level.facing.slice(),
      alive: [true, true],
      bolts: new Uint8Array(SIDE * SIDE),
      time: 0,
    };
  }

  const copied = (state) => ({
    position: state.position.map((position) => position.slice()),
    facing: state.facing.slice(),
    alive: state.alive.slice(),
    bolts: state.bolts.slice(),
    time: state.time,
  });

  /** Who stands in a cell, or -1. */
  function standing(state, cell) {
    return [0, 1].findIndex((player) => state.alive[player] && cellOf(state.position[player]) === cell);
  }

  /** One player's action, written into the state; a shot goes into `fresh`, for it does not fly yet. */
  function act(level, state, player, action, place, fresh) {
    if (action === TURN_LEFT) state.facing[player] = (state.facing[player] + 3) % 4;
    if (action === TURN_RIGHT) state.facing[player] = (state.facing[player] + 1) % 4;
    if (action !== FORWARD && action !== SHOOT) return;
    const target = ahead(state.position[player], state.facing[player]);
    const cell = cellOf(target);
    if (level.walls[cell] || state.bolts[cell] || fresh.has(cell) || standing(state, cell) >= 0) return;
    if (action === FORWARD) state.position[player] = target;
    else fresh.set(cell, ((1 + place) << PLACES) | (player << 2) | state.facing[player]);
  }

  /** Every bolt of earlier steps flies one cell, newest first; returns the owner of what hit each player, or -1. */
  function fly(level, state, fresh) {
    const order = [];
    state.bolts.forEach((code, cell) => code && order.push([code + AGE, cell]));
    order.sort((one, other) => one[0] - other[0]);
    for (const [code, cell] of order) state.bolts[cell] = code;
    for (const [cell, code] of fresh) state.bolts[cell] = code;
    const hits = [-1, -1];
    for (const [code, cell] of order) {
      state.bolts[cell] = 0;
      const target = cell + DELTA[code & 3][0] * SIDE + DELTA[code & 3][1];
      if (level.walls[target] || state.bolts[target]) continue;
      const player = standing(state, target);
      if (player < 0) {
        state.bolts[target] = code;
      } else {
        hits[player] = (code >> 2) & 1;
        state.alive[player] = false;
      }
    }
    return hits;
  }

  /** One step with everything decided: `first` is the player who acts first. The state given is left alone. */
  function step(level, before, actions, first) {
    const state = copied(before);
    const fresh = new Map();
    act(level, state, first, actions[first], 0, fresh);
    act(level, state, 1 - first, actions[1 - first], 1, fresh);
    const reward = [0, 0];
    fly(level, state, fresh).forEach((owner, player) => {
      if (owner < 0) return;
      reward[owner] += 1;
      reward[player] -= 1;
    });
    state.time += 1;
    const terminated = !(state.alive[0] && state.alive[1]);
    return { state, reward, terminated, truncated: state.time >= level.timeLimit && !terminated };
  }

  /** The cells that a player sees, those of the row farthest ahead first, null beyond the grid. */
  function sight(state, player) {
    const [down, right] = DELTA[state.facing[player]];
    const [row, column] = state.position[player];
    return Array.from({ length: VIEW * VIEW }, (_, place) => {
      const depth = VIEW - 1 - Math.floor(place / VIEW);
      const side = (place % VIEW) - (VIEW - 1) / 2;
      const [y, x] = [row + depth * down + side * right, column + depth * right - side * down];
      return y >= 0 && x >= 0 && y < SIDE && x < SIDE ? cellAt(y, x) : null;
    });
  }

  /** What a player sees, turned so that it looks up: 5 x 5 x 3, channels agent, bolt and wall last. */
  function observe(level, state, player) {
    const seen = new Uint8Array(VIEW * VIEW * 3);
    if (!state.alive[player]) return seen;
    sight(state, player).forEach((cell, place) => {
      if (cell === null) return;
      seen[3 * place] = standing(state, cell) >= 0 ? 1 : 0;
      seen[3 * place + 1] = state.bolts[cell] ? 1 : 0;
      seen[3 * place + 2] = level.walls[cell];
    });
    return seen;
  }

  maestro.lasertag = {
    MAX_SIZE, SIDE, VIEW, DELTA, NOOP, TURN_LEFT, FORWARD, TURN_RIGHT, SHOOT,
    cellAt, cellOf, ahead, reset, step, sight, observe,
  };
})(maestro);
