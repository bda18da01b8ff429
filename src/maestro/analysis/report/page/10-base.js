"use strict";
// The one global of the page, and the helpers that all of its parts share.
var maestro = { games: {}, sections: [], state: {} };

(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const known = (value) => value !== null && value !== undefined;

  // Text only ever becomes text: no string of the data is read as markup.
  const set = (element, name, value) => {
    if (name === "text") element.textContent = value;
    else if (name === "on") Object.entries(value).forEach(([event, f]) => element.addEventListener(event, f));
    else if (name === "style") Object.entries(value).forEach(([key, x]) => element.style.setProperty(key, x));
    else element.setAttribute(name, value === true ? "" : value);
  };
  const fill = (element, settings, children) => {
    for (const [name, value] of Object.entries(settings || {})) {
      if (known(value) && value !== false) set(element, name, value);
    }
    element.append(...children.flat().filter(known));
    return element;
  };
  maestro.make = (tag, settings, ...children) => fill(document.createElement(tag), settings, children);
  maestro.svg = (tag, settings, ...children) => fill(document.createElementNS(SVG, tag), settings, children);
  maestro.button = (text, click, settings) =>
    maestro.make("button", { type: "button", text, on: { click }, ...settings });

  // A menu with a label; the chosen index goes to `chosen`.
  maestro.picker = (label, names, index, chosen) => {
    const options = names.map((name, i) => maestro.make("option", { value: String(i), text: name }));
    const on = { change: () => chosen(select.selectedIndex) };
    const select = maestro.make("select", { "data-key": label, on }, options);
    select.selectedIndex = index;
    return maestro.make("label", { class: "picker" }, maestro.make("span", { text: label }), select);
  };

  // Numbers as people read them: a real minus sign, thousands apart, a dash where nothing is known.
  const placesOf = (value) => {
    const size = Math.abs(value);
    return Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  };
  maestro.known = known;
  maestro.number = (value, digits) => {
    if (!known(value) || !Number.isFinite(value)) return "–";
    const places = { maximumFractionDigits: digits ?? placesOf(value), minimumFractionDigits: digits ?? 0 };
    const text = Math.abs(value).toLocaleString("en-US", places);
    return value < 0 && /[1-9]/.test(text) ? `−${text}` : text;
  };
  maestro.signed = (value, digits) => {
    const text = maestro.number(value, digits);
    return value > 0 && /[1-9]/.test(text) ? `+${text}` : text;
  };
  maestro.short = (text) => text.replace(/^([+−]?)0\./, "$1."); // .31, where cells are small
  maestro.percent = (value) => (known(value) ? `${maestro.number(100 * value, 0)} %` : "–");
  maestro.mean = (values) => {
    const there = values.filter(known);
    return there.length ? there.reduce((a, b) => a + b, 0) / there.length : null;
  };

  // Drawings follow the width of their place and the theme, and end when they leave the page.
  const drawings = new Map();
  const redraw = (element) => {
    const drawing = drawings.get(element);
    if (!element.isConnected) {
      drawings.delete(element);
      watcher.unobserve(element);
    } else if (drawing && element.clientWidth) {
      drawing.width = element.clientWidth;
      drawing.draw();
    }
  };
  const watcher = new ResizeObserver((entries) => {
    const all = entries.map(({ target }) => target);
    const moved = all.filter((target) => drawings.get(target)?.width !== target.clientWidth);
    if (moved.length) requestAnimationFrame(() => moved.forEach(redraw));
  });
  maestro.drawn = (element, draw) => {
    drawings.set(element, { draw, width: null });
    watcher.observe(element);
    return element;
  };
  document.addEventListener("themechange", () => [...drawings.keys()].forEach(redraw));
})();
