// What is shown of a player: who it is, and what it expects.
(function (maestro) {
  "use strict";

  const { make } = maestro;

  /** One player: who it is, and what it expects, as a bar from -1 to 1. */
  function mind(name, seat) {
    const [who, value] = [make("span"), make("span", { class: "muted" })];
    const [about, bar] = [make("p", { class: "muted small" }), make("div", { class: "play-bar-fill" })];
    const track = make("div", { class: "play-bar", role: "img" }, bar);
    const top = make("p", {}, make("strong", { text: `${name}: ` }), who, value);
    return { who, about, value, bar, track, body: make("div", { class: `play-mind play-seat${seat}` }, top, about, track) };
  }

  /** Who sits there, and the value of its critic when it acted last. */
  function showMind({ who, about, value, bar, track }, player, mind) {
    const known = Boolean(mind) && mind.value !== undefined;
    const told = known ? maestro.signed(mind.value, 2) : "";
    who.textContent = player.name;
    about.textContent = player.about;
    value.textContent = known ? ` expects ${told}` : "";
    track.setAttribute("aria-label", `expects a return of ${told}, between -1 and 1`);
    track.hidden = !known;
    const share = known ? Math.max(-1, Math.min(1, mind.value)) : 0;
    bar.style.left = `${50 + 50 * Math.min(0, share)}%`;
    bar.style.width = `${50 * Math.abs(share)}%`;
  }

  Object.assign(maestro.lasertag, { mind, showMind });
})(maestro);
