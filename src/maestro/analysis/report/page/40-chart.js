"use strict";
// A line chart: thin lines for seeds, thick ones for means, and a line that marks a place.
(() => {
  const { make, svg, number, known } = maestro;
  const [LEFT, RIGHT, TOP, BOTTOM] = [44, 10, 8, 22]; // margins, in pixels

  // Round numbers between two ends, about `count` of them.
  maestro.ticks = (low, high, count) => {
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((x) => x * power).find((x) => x >= raw) || raw;
    const first = Math.ceil(low / step - 1e-9);
    const length = Math.max(0, Math.floor(high / step + 1e-6) - first + 1);
    return Array.from({ length }, (_, i) => (first + i) * step);
  };

  const extent = (values) => {
    const there = values.filter(known);
    const low = there.reduce((a, b) => Math.min(a, b), Infinity);
    const high = there.reduce((a, b) => Math.max(a, b), -Infinity);
    if (low > high) return [0, 1];
    const room = high - low < 1e-9 ? Math.max(0.05, Math.abs(low) * 0.1) : 0;
    return [low - room, high + room];
  };

  maestro.tick = (value) => {
    const round = Number(value.toPrecision(6));
    return Math.abs(round) >= 10000 ? `${number(round / 1000)}k` : number(round);
  };

  maestro.tickText = (x, y, anchor, value) =>
    svg("text", { class: "tick", x, y, "text-anchor": anchor, text: maestro.tick(value) });

  maestro.nearest = (xs, x) =>
    xs.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(xs[best] - x) ? i : best), 0);

  // The place of the x nearest to one; none where that lies before the first or after the last.
  maestro.within = (xs, x) => (x < xs[0] || x > xs[xs.length - 1] ? null : maestro.nearest(xs, x));

  const path = (xs, ys, px, py) => {
    const pen = (i) => (i > 0 && known(ys[i - 1]) ? "L" : "M");
    const point = (y, i) => (known(y) ? `${pen(i)}${px(xs[i]).toFixed(1)} ${py(y).toFixed(1)}` : "");
    return ys.map(point).join("");
  };

  const frame = ({ width, height, px, py, xs, ys }) => {
    const rule = (y) => svg("line", { class: "rule", x1: LEFT, x2: width - RIGHT, y1: py(y), y2: py(y) });
    const left = (y) => maestro.tickText(LEFT - 6, py(y) + 3.5, "end", y);
    const below = (x) => maestro.tickText(px(x), height - 6, px(x) > width - 24 ? "end" : "middle", x);
    const up = maestro.ticks(...ys, Math.max(2, height / 36));
    return [...up.map(rule), ...up.map(left), ...maestro.ticks(...xs, Math.max(2, width / 85)).map(below)];
  };

  const summary = ({ label, lines }) => {
    const told = ({ name, y }) => {
      const there = y.filter(known);
      return there.length ? `${name} from ${number(there[0])} to ${number(there[there.length - 1])}` : name;
    };
    return `${label}: ${lines.filter((line) => !line.faint).map(told).join("; ")}`;
  };

  // spec: height, lines [{name, y, x or spec.x, color, dash, faint}], label, range of y if it is fixed.
  maestro.chart = (spec) => {
    const xsOf = (line) => line.x || spec.x;
    const xs = extent(spec.lines.flatMap(xsOf));
    const [low, high] = spec.range || extent(spec.lines.flatMap((line) => line.y));
    const pad = spec.range ? 0 : (high - low) * 0.06;
    const ys = [low - pad, high + pad];
    const height = spec.height;
    const box = make("div", { class: "chart" });
    box.style.height = `${height}px`;
    const inner = () => box.clientWidth - LEFT - RIGHT;
    const px = (x) => LEFT + ((x - xs[0]) / (xs[1] - xs[0])) * inner();
    const py = (y) => height - BOTTOM - ((y - ys[0]) / (ys[1] - ys[0])) * (height - TOP - BOTTOM);
    const reader = svg("line", { class: "reader", y1: TOP, y2: height - BOTTOM });
    const dot = ({ color }) => svg("circle", { class: "dot", r: 3.2, style: { fill: color } });
    const dots = spec.lines.map(dot);
    let marked = null;

    const markLine = (line, i) => {
      const at = maestro.within(xsOf(line), marked);
      const seen = !line.faint && known(line.y[at]);
      dots[i].classList.toggle("off", !seen);
      if (!seen) return;
      dots[i].setAttribute("cx", px(xsOf(line)[at]));
      dots[i].setAttribute("cy", py(line.y[at]));
    };
    const mark = (x) => {
      marked = x;
      [reader, ...dots].forEach((part) => part.classList.toggle("off", x === null));
      if (x === null) return;
      ["x1", "x2"].forEach((end) => reader.setAttribute(end, px(x)));
      spec.lines.forEach(markLine);
    };
    const drawLine = (line) => {
      const d = path(xsOf(line), line.y, px, py);
      const kind = line.faint ? "faint" : "line";
      return svg("path", { class: kind, d, "stroke-dasharray": line.dash, style: { stroke: line.color } });
    };
    maestro.drawn(box, () => {
      const width = box.clientWidth;
      const rules = frame({ width, height, px, py, xs, ys });
      const settings = { width, height, role: "img", "aria-label": summary(spec) };
      box.replaceChildren(svg("svg", settings, rules, spec.lines.map(drawLine), reader, dots));
      mark(marked);
    });
    // The x of a place on the screen.
    const under = (place) =>
      xs[0] + ((place - box.getBoundingClientRect().left - LEFT) / inner()) * (xs[1] - xs[0]);
    return { element: box, mark, under, xs: [...new Set(spec.lines.flatMap(xsOf))].sort((a, b) => a - b) };
  };
})();
