// LaserTag's levels as text (the same texts and the same refusals as text.py), and what is measured of them.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const { MAX_SIZE, SIDE, DELTA, cellAt, cellOf } = game;
  const FACINGS = ["up", "right", "down", "left"];
  const REQUIRED = ["time limit", "A faces", "B faces"];
  const HEADERS = [...REQUIRED, "name"];
  const CELLS = "#.AB";
  const MAX_TIME_LIMIT = 10000;
  const MAX_CHARACTERS = 4096;
  const quoted = (text) => `'${text}'`;

  /** What is wrong with a text, and where. */
  class LevelError extends Error {
    constructor(problem, line, column) {
      super(`line ${line}, column ${column}: ${problem}`);
      Object.assign(this, { problem, line, column });
    }
  }

  /** The level that a text describes, with its name; throws a LevelError. */
  function parse(text) {
    const at = text.indexOf("\0");
    if (at >= 0 && at <= MAX_CHARACTERS) throw new LevelError("binary: a NUL character", ...place(text.slice(0, at)));
    if (text.length > MAX_CHARACTERS) {
      throw new LevelError(`longer than ${MAX_CHARACTERS} characters`, ...place(text.slice(0, MAX_CHARACTERS)));
    }
    const lines = text.replace(/^\ufeff/, "").replaceAll("\r\n", "\n").split("\n");
    while (lines.length && !lines.at(-1).trim()) lines.pop();
    if (!lines.length) throw new LevelError("empty: a level needs header lines and a map", 1, 1);
    const { found, first } = headers(lines);
    const rows = lines.slice(first);
    if (!rows.length) throw new LevelError("no map follows the header lines", lines.length, 1);
    checkRows(rows, first);
    return built(rows, found, first);
  }

  /** Line and column of the character that follows. */
  function place(before) {
    return [before.split("\n").length, before.length - before.lastIndexOf("\n")];
  }

  /** The values of the header lines by name, and the index of the map's first row. */
  function headers(lines) {
    const found = new Map();
    let index = 0;
    for (; index < lines.length && (lines[index].includes(":") || !lines[index].trim()); index += 1) {
      if (!lines[index].trim()) continue;
      const [key, value] = header(lines[index], index + 1);
      if (found.has(key)) throw new LevelError(`header ${quoted(key)} is given twice`, index + 1, 1);
      found.set(key, value);
    }
    const missing = REQUIRED.find((key) => !found.has(key));
    if (missing) throw new LevelError(`header '${missing}:' is missing before the map`, index + 1, 1);
    return { found, first: index };
  }

  /** One header line as its name and its value, facings being numbers. */
  function header(line, number) {
    const [key, rest] = [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)];
    const plain = key.toLowerCase().split(/\s+/).filter(Boolean).join(" ");
    const name = HEADERS.find((known) => known.toLowerCase() === plain);
    if (!name) throw new LevelError(`unknown header ${quoted(key)} (allowed: ${HEADERS.join(", ")})`, number, 1);
    const [value, column] = [rest.trim(), line.length - rest.trimStart().length + 1];
    if (name === "name") return [name, value];
    if (name === "time limit") return [name, timeLimit(value, number, column)];
    const facing = FACINGS.indexOf(value.toLowerCase());
    if (facing < 0) throw new LevelError(`${name} ${quoted(value)}: allowed are ${FACINGS.join(", ")}`, number, column);
    return [name, facing];
  }

  function timeLimit(value, line, column) {
    const steps = /^[0-9]{1,9}$/.test(value) ? Number(value) : 0;
    if (steps >= 1 && steps <= MAX_TIME_LIMIT) return steps;
    throw new LevelError(`time limit ${quoted(value)} is not a number from 1 to ${MAX_TIME_LIMIT}`, line, column);
  }

  /** Every row has known characters and one length, and neither side is too long. */
  function checkRows(rows, first) {
    rows.forEach((row, index) => {
      const number = first + index + 1;
      if (index >= MAX_SIZE) throw new LevelError(`more than ${MAX_SIZE} rows`, number, 1);
      Array.from(row).forEach((cell, column) => {
        const known = `allowed: ${Array.from(CELLS).join(" ")}`;
        if (!CELLS.includes(cell)) throw new LevelError(`unknown character ${quoted(cell)} (${known})`, number, column + 1);
        if (column >= MAX_SIZE) throw new LevelError(`more than ${MAX_SIZE} columns`, number, column + 1);
      });
      if (row.length === rows[0].length) return;
      const told = `ragged: ${row.length} cells, the first row has ${rows[0].length}`;
      throw new LevelError(told, number, Math.min(row.length, rows[0].length) + 1);
    });
  }

  /** A level from rows that were checked. */
  function built(rows, found, first) {
    const [height, width] = [rows.length, rows[0].length];
    const walls = outerWall(height, width);
    rows.forEach((row, y) => Array.from(row).forEach((cell, x) => {
      if (cell === "#") walls[cellAt(y + 1, x + 1)] = 1;
    }));
    const position = ["A", "B"].map((letter) => start(rows, letter, first));
    const facing = [found.get("A faces"), found.get("B faces")];
    return { name: found.get("name") || "", height, width, walls, position, facing, timeLimit: found.get("time limit") };
  }

  /** The ring around so many inner cells, as a grid. */
  function outerWall(height, width) {
    const walls = new Uint8Array(SIDE * SIDE);
    for (let y = 0; y <= height + 1; y += 1) walls[cellAt(y, 0)] = walls[cellAt(y, width + 1)] = 1;
    for (let x = 0; x <= width + 1; x += 1) walls[cellAt(0, x)] = walls[cellAt(height + 1, x)] = 1;
    return walls;
  }

  /** Where the one start of an agent is. */
  function start(rows, letter, first) {
    const places = rows.flatMap((row, y) => Array.from(row).flatMap((cell, x) => (cell === letter ? [[y + 1, x + 1]] : [])));
    if (!places.length) throw new LevelError(`there is no ${letter} in the map`, first + 1, 1);
    if (places.length > 1) throw new LevelError(`a second ${letter} in the map`, first + places[1][0], places[1][1]);
    return places[0];
  }

  /** The text of a level, which `parse` turns back into an equal level; a start may be null: it is left out. */
  function toText(level) {
    const rows = Array.from({ length: level.height }, (_, y) =>
      Array.from({ length: level.width }, (_, x) => (level.walls[cellAt(y + 1, x + 1)] ? "#" : ".")));
    level.position.forEach((at, player) => {
      if (at) rows[at[0] - 1][at[1] - 1] = "AB"[player];
    });
    const [a, b] = level.facing.map((facing) => FACINGS[facing]);
    const lines = [`time limit: ${level.timeLimit}`, `A faces: ${a}`, `B faces: ${b}`];
    if (level.name) lines.unshift(`name: ${level.name}`);
    return [...lines, ...rows.map((row) => row.join(""))].join("\n") + "\n";
  }

  /** Steps from one start to the other, 0 if there is no way. */
  function shortestPath(level) {
    const goal = cellOf(level.position[1]);
    const far = new Map([[cellOf(level.position[0]), 0]]);
    for (const [cell, steps] of far) { // a Map goes on to what is added while it is walked through
      if (cell === goal) return steps;
      for (const [y, x] of DELTA) {
        const next = cell + y * SIDE + x;
        if (!level.walls[next] && !far.has(next)) far.set(next, steps + 1);
      }
    }
    return 0;
  }

  Object.assign(game, { FACINGS, LevelError, outerWall, parse, shortestPath, toText });
})(maestro);
