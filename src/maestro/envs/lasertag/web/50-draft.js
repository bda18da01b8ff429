// A level while it is drawn: like a level, but a start may be missing (null), and then it is none yet.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const { MAX_SIZE, SIDE, cellAt, cellOf } = game;
  const [LEAST, CLUTTER, TIME_LIMIT] = [5, 0.5, 300]; // of generated levels, as in levels.py
  const rowAndColumn = (cell) => [Math.floor(cell / SIDE), cell % SIDE];
  const starts = (draft) => draft.position.map((at) => (at ? cellOf(at) : null));

  /** A copy that can be changed. */
  const draftOf = (level) => ({
    ...level,
    walls: level.walls.slice(),
    position: level.position.map((at) => (at ? at.slice() : null)),
    facing: level.facing.slice(),
  });

  /** Build or clear a wall; returns what forbids it, or nothing. */
  function setWall(draft, cell, wall) {
    const seat = starts(draft).indexOf(cell);
    if (wall && seat >= 0) return `${"AB"[seat]} starts here: no wall can stand in this cell`;
    draft.walls[cell] = wall ? 1 : 0;
    return "";
  }

  /** Put a start into a cell; returns what forbids it, or nothing. */
  function setStart(draft, seat, cell) {
    const taken = starts(draft).indexOf(cell);
    if (taken === 1 - seat) return `${"AB"[taken]} starts here: two agents cannot share a cell`;
    if (draft.walls[cell]) return `${"AB"[seat]} cannot start in a wall`;
    draft.position[seat] = rowAndColumn(cell);
    return "";
  }

  /** The same draft with other sides; what does not fit is cut off, a start too. */
  function resized(draft, height, width) {
    const walls = game.outerWall(height, width);
    for (let y = 1; y <= Math.min(height, draft.height); y += 1) {
      for (let x = 1; x <= Math.min(width, draft.width); x += 1) walls[cellAt(y, x)] = draft.walls[cellAt(y, x)];
    }
    const position = draft.position.map((at) => (at && at[0] <= height && at[1] <= width ? at : null));
    return { ...draft, height, width, walls, position };
  }

  /** A random level, distributed as those of the generator. */
  function generated(roll) {
    const below = (count) => Math.floor(roll() * count);
    const size = LEAST + below(MAX_SIZE - LEAST + 1);
    const cells = Array.from({ length: size * size }, (_, i) => cellAt(1 + Math.floor(i / size), 1 + (i % size)));
    const number = Math.floor((size * size - 2) * CLUTTER * roll());
    const walls = game.outerWall(size, size);
    for (let i = 0; i < number + 2; i += 1) {
      const other = i + below(cells.length - i);
      [cells[i], cells[other]] = [cells[other], cells[i]];
      if (i >= 2) walls[cells[i]] = 1;
    }
    const position = [rowAndColumn(cells[0]), rowAndColumn(cells[1])];
    return { name: "", height: size, width: size, walls, position, facing: [below(4), below(4)], timeLimit: TIME_LIMIT };
  }

  /** {level} if a text is one, otherwise {problem} in words. */
  function read(text) {
    try {
      return { level: game.parse(text), problem: "" };
    } catch (error) {
      if (!(error instanceof game.LevelError)) throw error;
      return { level: null, problem: error.message };
    }
  }

  /** What a level is like, in words. */
  function described(level) {
    let walls = 0;
    for (let y = 1; y <= level.height; y += 1) {
      for (let x = 1; x <= level.width; x += 1) walls += level.walls[cellAt(y, x)];
    }
    const size = `${level.height} x ${level.width} cells, ${walls} ${walls === 1 ? "wall" : "walls"}`;
    const steps = game.shortestPath(level);
    if (!steps) return `${size}. No way leads from A to B: every game here ends in a draw.`;
    return `${size}, ${steps} ${steps === 1 ? "step" : "steps"} from A to B.`;
  }

  Object.assign(game, { described, draftOf, generated, read, resized, setStart, setWall });
})(maestro);
