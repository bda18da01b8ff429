// A state of LaserTag on a canvas. Red is filled and blue hollow, so that nobody depends on the colors.
(function (maestro) {
  "use strict";

  const game = maestro.lasertag;
  const { DELTA, SIDE } = game;
  const SHARP = 40; // pixels of a cell
  const NAMES = ["floor", "wall", "seat0", "seat1", "ink"];

  /** Draw a state; `hidden` are cells that are not shown, `cursor` a cell with a frame around it. */
  function draw(canvas, level, state, { hidden = new Set(), cursor = null } = {}) {
    const [rows, columns] = [level.height + 2, level.width + 2];
    if (canvas.width !== columns * SHARP) canvas.width = columns * SHARP;
    if (canvas.height !== rows * SHARP) canvas.height = rows * SHARP;
    const pen = canvas.getContext("2d");
    pen.setTransform(SHARP, 0, 0, SHARP, 0, 0);
    const tones = Object.fromEntries(NAMES.map((name) => [name, maestro.color(name)]));
    drawGround(pen, level, tones);
    const there = [0, 1].filter((seat) => state.position[seat] && !hidden.has(game.cellOf(state.position[seat])));
    for (const seat of there) if (state.alive[seat]) drawSight(pen, level, state, seat, tones);
    state.bolts.forEach((code, cell) => code && !hidden.has(cell) && drawBolt(pen, cell, code, tones));
    for (const seat of there) drawAgent(pen, state, seat, tones);
    hidden.forEach((cell) => drawDark(pen, cell, tones));
    if (cursor !== null) drawFrame(pen, cursor, tones);
  }

  const corner = (cell) => [cell % SIDE, Math.floor(cell / SIDE)];

  /** Floor, lines between its cells, and walls. */
  function drawGround(pen, level, tones) {
    pen.globalAlpha = 1;
    pen.fillStyle = tones.floor;
    pen.fillRect(0, 0, level.width + 2, level.height + 2);
    for (let y = 0; y < level.height + 2; y += 1) {
      for (let x = 0; x < level.width + 2; x += 1) {
        const wall = level.walls[game.cellAt(y, x)];
        pen.globalAlpha = wall ? 1 : 0.07;
        pen.fillStyle = wall ? tones.wall : tones.ink;
        if (wall) pen.fillRect(x, y, 1, 1);
        else pen.fillRect(x, y, 1, 0.03), pen.fillRect(x, y, 0.03, 1);
      }
    }
  }

  /** What an agent sees, in a breath of its color. */
  function drawSight(pen, level, state, seat, tones) {
    pen.globalAlpha = 0.16;
    pen.fillStyle = tones[`seat${seat}`];
    for (const cell of game.sight(state, seat)) {
      if (cell === null) continue;
      const [x, y] = corner(cell);
      if (x < level.width + 2 && y < level.height + 2) pen.fillRect(x, y, 1, 1);
    }
  }

  /** A disc of the owner's color, hollow if it is blue's, with a tail behind it. */
  function drawBolt(pen, cell, code, tones) {
    const [x, y] = corner(cell).map((at) => at + 0.5);
    const [down, right] = DELTA[code & 3];
    pen.globalAlpha = 1;
    pen.strokeStyle = pen.fillStyle = tones[`seat${(code >> 2) & 1}`];
    pen.lineWidth = 0.1;
    stroke(pen, [[x - 0.45 * right, y - 0.45 * down], [x, y]]);
    pen.beginPath();
    pen.arc(x, y, 0.17, 0, 2 * Math.PI);
    pen.fill();
    if (code & 4) disc(pen, x, y, 0.08, tones.floor);
  }

  function stroke(pen, points) {
    pen.beginPath();
    for (const [x, y] of points) pen.lineTo(x, y);
    pen.stroke();
  }

  function disc(pen, x, y, radius, color) {
    pen.fillStyle = color;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.fill();
  }

  /** A triangle that points ahead; who is tagged is only a shadow with a cross. */
  function drawAgent(pen, state, seat, tones) {
    const [row, column] = state.position[seat];
    pen.save();
    pen.translate(column + 0.5, row + 0.5);
    pen.rotate((state.facing[seat] * Math.PI) / 2);
    pen.globalAlpha = state.alive[seat] ? 1 : 0.4;
    pen.fillStyle = pen.strokeStyle = tones[`seat${seat}`];
    pen.lineWidth = 0.12;
    pen.lineJoin = "round";
    triangle(pen, 1);
    pen.stroke();
    pen.fill();
    if (seat === 1) {
      pen.fillStyle = tones.floor;
      triangle(pen, 0.45);
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = tones.ink;
    if (!state.alive[seat]) stroke(pen, [[-0.3, -0.3], [0.3, 0.3]]), stroke(pen, [[-0.3, 0.3], [0.3, -0.3]]);
    pen.restore();
  }

  function triangle(pen, size) {
    pen.beginPath();
    for (const [x, y] of [[0, -0.34], [0.28, 0.28], [-0.28, 0.28]]) pen.lineTo(size * x, size * (y - 0.07) + 0.07);
    pen.closePath();
  }

  function drawDark(pen, cell, tones) {
    pen.globalAlpha = 0.55;
    pen.fillStyle = tones.ink;
    pen.fillRect(...corner(cell), 1, 1);
  }

  function drawFrame(pen, cell, tones) {
    const [x, y] = corner(cell);
    pen.globalAlpha = 1;
    pen.strokeStyle = tones.ink;
    pen.lineWidth = 0.08;
    pen.strokeRect(x + 0.06, y + 0.06, 0.88, 0.88);
  }

  /** The cell of a level under a place of the screen, or null. */
  function cellUnder(canvas, level, event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * (level.width + 2));
    const row = Math.floor(((event.clientY - box.top) / box.height) * (level.height + 2));
    const inside = row >= 1 && column >= 1 && row <= level.height && column <= level.width;
    return inside ? game.cellAt(row, column) : null;
  }

  Object.assign(game, { cellUnder, draw });
})(maestro);
