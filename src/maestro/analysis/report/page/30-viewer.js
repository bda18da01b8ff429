"use strict";
// The viewer: one dialog in which games are watched, and levels and figures are seen large.
(() => {
  const { make, button } = maestro;
  let ended = null; // called when the dialog closes or shows something else
  const finish = () => {
    if (ended) ended();
    ended = null;
  };

  maestro.view = (title, content, { keys, closed } = {}) => {
    const box = document.getElementById("viewer");
    finish();
    ended = closed || null;
    const heading = make("h2", { id: "viewer-title", text: title });
    const close = button("Close", () => box.close(), { class: "quiet" });
    box.replaceChildren(make("div", { class: "viewer-top" }, heading, close), ...content);
    box.onkeydown = keys || null;
    box.onclick = (event) => event.target === box && box.close();
    box.onclose = () => {
      finish();
      box.replaceChildren();
    };
    if (!box.open) box.showModal();
  };

  maestro.enlarge = (index, about) => {
    const scene = maestro.scene.of(index);
    if (!scene) return;
    const canvas = maestro.scene.view(scene);
    canvas.classList.add("stage");
    const words = make("p", { class: "muted", text: about || "" });
    maestro.view(scene.label || "A level", [words, make("div", { class: "stage-box" }, canvas)]);
  };

  maestro.zoom = (figure) => {
    const image = make("img", { src: figure.image, alt: figure.title, on: { click: () => flip() } });
    const label = "The figure; the arrow keys move it where it is larger than the window";
    const settings = { class: "plate zoom", tabindex: "0", role: "group", "aria-label": label };
    const plate = make("div", settings, image);
    const size = button("Actual size", () => flip(), { "aria-pressed": "false" });
    const flip = () => {
      const large = plate.classList.toggle("large");
      size.setAttribute("aria-pressed", String(large));
      size.textContent = large ? "Fit the window" : "Actual size";
    };
    const words = make("p", { class: "muted", text: figure.about });
    maestro.view(figure.title, [plate, make("div", { class: "controls" }, size), words]);
  };
})();
