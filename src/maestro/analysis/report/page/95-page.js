"use strict";
// The page: its head, its sections with their navigation, and following a run that still trains.
(() => {
  const { make } = maestro;
  const EVERY = 5000; // milliseconds between two looks at a run that trains
  const LOST = "The program that follows this run does not answer any more; this is what it told last.";
  const byId = (id) => document.getElementById(id);
  const drawnFrom = {}; // what each section was last drawn from

  const head = (data) => {
    const runs = `${data.runs.length} ${data.runs.length === 1 ? "run" : "runs"}`;
    const about = [data.game, runs, data.made, `maestro ${data.version}`].filter(Boolean).join(" · ");
    const dot = make("i", { "aria-hidden": "true" });
    const live = data.live ? make("p", { class: "live-mark" }, dot, "follows the run while it trains") : null;
    const notice = make("p", { id: "notice", role: "status", class: "panel", hidden: true });
    const question = make("p", { class: "question", text: data.question });
    const answer = data.answer.map((text) => make("p", { text }));
    return make("section", { id: "top", class: "section", "aria-labelledby": "title" },
      make("h1", { id: "title", text: data.title }), make("p", { class: "muted", text: about }),
      live, notice, make("div", { id: "answer" }, question, answer));
  };

  const say = (text) => {
    byId("notice").hidden = !text;
    byId("notice").textContent = text || "";
  };

  // The focus stays on the control it was on, if there is still such a one.
  const keepFocus = (element, change) => {
    const key = element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    change();
    const all = key ? [...element.querySelectorAll("[data-key]")] : [];
    all.find((one) => one.dataset.key === key)?.focus();
  };

  const draw = (section, spec) =>
    keepFocus(section, () => {
      maestro.state[spec.id] = maestro.state[spec.id] || {};
      section.replaceChildren(make("h2", { id: `${spec.id}-title`, text: spec.title }));
      if (spec.lead) section.append(make("p", { class: "lead muted", text: spec.lead }));
      spec.build(section, maestro.data, maestro.state[spec.id]);
    });
  maestro.rebuild = (id) => draw(byId(id), maestro.sections.find((spec) => spec.id === id));

  // A section after the one before it: made, drawn anew if its data changed, or gone; returns the last one.
  const place = (before, spec) => {
    const there = byId(spec.id);
    if (!spec.has(maestro.data)) {
      there?.remove();
      delete drawnFrom[spec.id];
      return before;
    }
    const settings = { id: spec.id, class: "section", "aria-labelledby": `${spec.id}-title` };
    const section = there || make("section", settings);
    if (!there) before.after(section);
    const from = JSON.stringify(spec.uses(maestro.data));
    if (drawnFrom[spec.id] !== from) draw(section, spec);
    drawnFrom[spec.id] = from;
    return section;
  };

  // The link of the section that is being read is marked.
  const mark = (id) =>
    byId("nav").querySelectorAll("a").forEach((link) => {
      const current = link.hash === `#${id}`;
      if (current) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      if (current) byId("nav").scrollLeft = link.offsetLeft - byId("nav").offsetLeft - 24; // on a phone
    });
  const seen = (entries) => entries.filter((one) => one.isIntersecting).forEach((one) => mark(one.target.id));
  const spy = new IntersectionObserver(seen, { rootMargin: "-20% 0px -70% 0px" });
  const navigate = () => {
    const there = maestro.sections.filter((spec) => byId(spec.id));
    const link = (spec) =>
      make("a", { href: `#${spec.id}`, text: spec.nav || spec.title, "data-key": spec.id });
    keepFocus(byId("nav"), () => byId("nav").replaceChildren(...there.map(link)));
    spy.disconnect();
    ["top", ...there.map((spec) => spec.id)].forEach((id) => spy.observe(byId(id)));
  };

  maestro.render = (data) => {
    maestro.data = data;
    maestro.setSeats(data.seat_colors);
    document.title = data.title;
    const [old, top] = [byId("top"), head(data)];
    if (old) old.replaceWith(top);
    else byId("content").append(top);
    say(data.notice);
    maestro.sections.reduce(place, top);
    navigate();
    const made = `Made ${data.made} by maestro ${data.version}.`;
    byId("foot").textContent = `${made} This page is one file and asks nothing of any other machine.`;
  };

  let last = "";
  const look = async () => {
    try {
      const reply = await fetch(`./data.json${location.search}`, { cache: "no-store" });
      if (!reply.ok) throw new Error(reply.statusText);
      const text = await reply.text();
      if (text !== last) maestro.render(JSON.parse(text));
      last = text;
      say(maestro.data.notice);
    } catch {
      say(LOST);
    }
    setTimeout(look, EVERY);
  };

  // Only then are the scripts of the game itself there too.
  document.addEventListener("DOMContentLoaded", () => {
    maestro.startTheme();
    maestro.render(JSON.parse(byId("data").textContent));
    if (maestro.data.live) setTimeout(look, EVERY);
  });
})();
