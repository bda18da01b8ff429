// The controls with which LaserTag is played, out of the page's own elements.
(function (maestro) {
  "use strict";

  const { make } = maestro;

  const button = (text, click, settings = {}) => make("button", { type: "button", text, on: { click }, ...settings });

  /** A control with its name above it. */
  const labeled = (text, control) => make("label", { class: "play-field" }, make("span", { text }), control);

  /** A choice among texts; `chosen(index)` is called when it changes. */
  function choice(texts, chosen, settings = {}) {
    const change = () => chosen(select.selectedIndex);
    const select = make("select", { ...settings, on: { change } }, texts.map((text) => make("option", { text })));
    return select;
  }

  /** A whole number between two others; `changed(number)` is called with numbers in that range only. */
  function whole(value, [least, most], changed, settings = {}) {
    const change = () => {
      const number = Math.min(most, Math.max(least, Math.round(Number(input.value) || least)));
      input.value = String(number);
      changed(number);
    };
    const input = make("input", { type: "number", min: least, max: most, step: 1, value, on: { change }, ...settings });
    return input;
  }

  Object.assign(maestro.lasertag, { button, choice, labeled, whole });
})(maestro);
