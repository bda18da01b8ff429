"use strict";
// Levels and states as pictures: shapes in world units on a canvas of any size.
(() => {
  const points = (g, at) => {
    for (let i = 0; i + 1 < at.length; i += 2) g.lineTo(at[i], at[i + 1]);
  };
  const PATHS = {
    rects: (g, at) => {
      for (let i = 0; i + 3 < at.length; i += 4) g.rect(at[i], at[i + 1], at[i + 2], at[i + 3]);
    },
    circle: (g, at) => g.arc(at[0], at[1], at[2], 0, 2 * Math.PI),
    polygon: (g, at) => {
      points(g, at);
      g.closePath();
    },
    line: (g, at, closed) => {
      points(g, at);
      if (closed) g.closePath();
    },
  };

  // Neighbouring rectangles overlap by a hair, so that no line of the ground shows between them.
  const shape = (g, { kind, at, color, width, closed }, hair) => {
    if (!Object.hasOwn(PATHS, kind)) return;
    g.beginPath();
    PATHS[kind](g, at, closed);
    g.fillStyle = g.strokeStyle = maestro.color(color);
    g.lineJoin = g.lineCap = "round";
    g.lineWidth = kind === "line" ? width || 0.1 : hair;
    if (kind !== "line") g.fill();
    if (kind === "line" || (kind === "rects" && hair)) g.stroke();
  };

  // Scenes may share the bodies of another one.
  const bodiesOf = ({ bodies }) => {
    const other = maestro.data.scenes[bodies.same];
    const found = Array.isArray(bodies) ? bodies : other && other.bodies;
    return Array.isArray(found) ? found : [];
  };

  // A rim in the ground's color keeps a body apart from whatever is below it.
  const rim = (g, kind, ground, width) => {
    const outline = kind.find((part) => part.kind === "polygon");
    if (!outline) return;
    g.beginPath();
    PATHS.polygon(g, outline.at);
    g.lineWidth = width;
    g.lineJoin = "round";
    g.strokeStyle = maestro.color(ground);
    g.stroke();
  };

  const drawBodies = (g, scene, frame, width) => {
    const kinds = bodiesOf(scene);
    for (let i = 0; i + 3 < frame.length; i += 4) {
      const kind = kinds[frame[i]];
      if (!kind) continue;
      g.save();
      g.translate(frame[i + 1], frame[i + 2]);
      g.rotate(frame[i + 3]);
      rim(g, kind, scene.ground, width);
      kind.forEach((part) => shape(g, part, 0));
      g.restore();
    }
  };

  const draw = (canvas, scene, frame) => {
    const [width, height] = scene.size;
    canvas.style.aspectRatio = `${width} / ${height}`;
    const dots = (canvas.clientWidth || 160) * Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.max(1, Math.round(dots));
    canvas.height = Math.max(1, Math.round((dots * height) / width));
    const scale = canvas.width / width;
    const g = canvas.getContext("2d");
    g.fillStyle = maestro.color(scene.ground);
    g.fillRect(0, 0, canvas.width, canvas.height);
    g.scale(scale, scale);
    scene.shapes.forEach((part) => shape(g, part, 0.5 / scale));
    drawBodies(g, scene, frame || scene.start, 2.4 / scale);
  };

  // A canvas that draws itself whenever its place or the theme changes; `frame` is asked each time.
  // Levels of games that draw nothing are shown as their text.
  const view = (scene, label, frame) => {
    const settings = { role: "img", "aria-label": label || scene.label || "a level" };
    if (!drawable(scene)) return maestro.make("pre", { ...settings, class: "level-text", text: scene.text });
    const canvas = maestro.make("canvas", settings);
    canvas.style.aspectRatio = `${scene.size[0]} / ${scene.size[1]}`;
    return maestro.drawn(canvas, () => draw(canvas, scene, frame ? frame() : null));
  };

  const drawable = (scene) => Boolean(scene && scene.size[0] > 0 && scene.size[1] > 0);
  const of = (index) => (Number.isInteger(index) ? maestro.data.scenes[index] || null : null);
  maestro.scene = { draw, view, of, drawable };
})();
