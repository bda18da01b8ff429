"use strict";
// All figures, the section in which the game is played, and what was left out.
(() => {
  const { make } = maestro;
  const PICTURE = /^data:image\/(png|svg\+xml);base64,[A-Za-z0-9+/=]+$/;
  const pictures = (data) => data.figures.filter(({ image }) => PICTURE.test(image));
  const leftOut = (data) => data.left_out || [];

  const figure = (one) => {
    const on = { click: () => maestro.zoom(one) };
    const settings = { type: "button", class: "plate", "aria-label": `${one.title}: enlarge`, on };
    const plate = make("button", settings, make("img", { src: one.image, alt: "", loading: "lazy" }));
    const about = make("span", { class: "muted", text: one.about ? ` ${one.about}` : "" });
    return make("figure", null, plate, make("figcaption", null, make("b", { text: one.title }), about));
  };

  maestro.sections.push({
    id: "figures",
    title: "Figures",
    lead: "Click one to see it large.",
    has: (data) => pictures(data).length > 0,
    uses: (data) => data.figures,
    build: (section, data) => section.append(make("div", { class: "figures" }, pictures(data).map(figure))),
  });

  // The scripts of the game itself, where it has some.
  maestro.sections.push({
    id: "play",
    title: "Play",
    has: (data) => Boolean(data.play && Object.hasOwn(maestro.games, data.game)),
    uses: (data) => data.play,
    build: (section, data) => {
      const place = make("div", { class: "play" });
      section.append(place);
      maestro.games[data.game].start(place, data.play);
    },
  });

  maestro.sections.push({
    id: "left-out",
    title: "What was left out",
    nav: "Left out",
    has: (data) => leftOut(data).length > 0,
    uses: leftOut,
    build: (section, data) =>
      section.append(make("ul", { class: "plain" }, leftOut(data).map((text) => make("li", { text })))),
  });
})();
