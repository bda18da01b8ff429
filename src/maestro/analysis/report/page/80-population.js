"use strict";
// The population: when members joined, how often the student wins against each, how likely each is chosen.
(() => {
  const { make, svg, number, percent, known } = maestro;
  const LEFT = 92; // pixels for names
  const HIGH = 20; // of a strip, and less where there are many
  const LOW = 9;
  const grown = (run) => run.curriculum && run.members && run.members.some((seed) => seed.length);
  const populated = (data) => data.runs.filter(grown);

  // Up to each kept moment from the one before: what was known of a member then came of games in between.
  const spans = (run, seed, { slot, joined }) => {
    const { moments } = run.curriculum;
    const span = ({ updates, seeds }, m) => ({
      slot, joined, updates,
      from: Math.max(joined, m ? moments[m - 1].updates : 0),
      to: updates,
      rate: seeds[seed].win_rate[slot],
      weight: seeds[seed].weights[slot],
    });
    return moments.map(span).filter(({ from, to }) => to > from);
  };

  const told = ({ slot, joined, updates, rate, weight }) =>
    `member ${slot}, joined at update ${number(joined)}; at update ${number(updates)} the student ` +
    `wins ${percent(rate)} of its games against it (a draw as half) and meets it with a chance of ${percent(weight)}`;

  const part = (span, { px, top, tall, say }) => {
    const [from, wide] = [px(span.from), Math.max(1, px(span.to) - px(span.from))];
    const there = known(span.rate);
    const style = there ? { "--share": `${Math.round(100 * span.rate)}%` } : null;
    const kind = there ? "part one-hue" : "part unknown";
    const rect = svg("rect", { class: kind, x: from, y: top, width: wide, height: tall, style });
    const place = { class: "inside", x: from + wide / 2, y: top + tall / 2 + 4, "text-anchor": "middle" };
    const text = wide > 34 && there && tall > 12 ? svg("text", { ...place, text: percent(span.rate) }) : null;
    return svg("g", { on: { pointerenter: () => say(told(span)) } }, rect, text);
  };

  // A strip for each member, from its joining to the end; each part has the color of the win rate at its end.
  const strips = (run, seed, say) => {
    const members = run.members[seed];
    const { moments } = run.curriculum;
    const end = Math.max(run.updates, moments[moments.length - 1].updates, 1);
    const tall = members.length > 25 ? LOW : HIGH;
    const height = members.length * (tall + 6) + 26;
    const box = make("div", { class: "chart" });
    box.style.height = `${height}px`;
    const px = (updates) => LEFT + (updates / end) * (box.clientWidth - LEFT - 8);

    const row = (member, i) => {
      const top = i * (tall + 6) + 2;
      const name = { class: "tick", x: LEFT - 8, y: top + tall / 2 + 4, "text-anchor": "end" };
      const from = Math.min(px(member.joined), px(end) - 4);
      return svg("g", null,
        svg("text", { ...name, text: `member ${member.slot}` }),
        svg("rect", { class: "strip", x: from, y: top, width: px(end) - from, height: tall }),
        spans(run, seed, member).map((span) => part(span, { px, top, tall, say })));
    };
    const label = `${members.length} members by the update at which they joined, also in the table below`;
    const paint = (text) => (text.style.fill = maestro.legible(getComputedStyle(text.previousSibling).fill));
    return maestro.drawn(box, () => {
      const width = box.clientWidth;
      const anchor = (x) => (px(x) > width - 24 ? "end" : "middle");
      const below = (x) => maestro.tickText(px(x), height - 6, anchor(x), x);
      const axis = maestro.ticks(0, end, Math.max(2, width / 150)).map(below);
      const settings = { width, height, role: "img", "aria-label": label };
      box.replaceChildren(svg("svg", settings, members.map(row), axis));
      box.querySelectorAll(".inside").forEach(paint);
    });
  };

  const weights = (run, seed) => {
    const { moments } = run.curriculum;
    const members = run.members[seed].length;
    const weight = (now, slot) => (slot > now.members ? null : now.weights[slot] ?? null);
    const line = (_, slot) => ({
      name: maestro.slotName(slot),
      y: moments.map((moment) => weight(moment.seeds[seed], slot)),
      color: maestro.slotColor(slot, members),
      dash: slot ? null : "6 3",
    });
    const lines = Array.from({ length: members + 1 }, line);
    const label = "Chance of each co-player to be chosen";
    return maestro.readable({ height: 170, x: moments.map((m) => m.updates), range: [0, 1], label, lines });
  };

  const numbers = (run, seed) => {
    const { moments } = run.curriculum;
    const rates = (slot) => moments.map((moment) => percent(moment.seeds[seed].win_rate[slot]));
    const rows = run.members[seed].map(({ slot, joined }) => [`member ${slot}`, joined, ...rates(slot)]);
    const columns = ["member", "joined", ...moments.map((moment) => `at ${number(moment.updates)}`)];
    const table = maestro.table({ title: "Games won by the student against each member, a draw as half", columns, rows });
    return make("details", null, make("summary", { text: "The same as a table" }), table);
  };

  const build = (section, data, state) => {
    const runs = populated(data);
    state.run = Math.min(state.run || 0, runs.length - 1);
    const run = runs[state.run];
    state.seed = Math.min(state.seed || 0, run.seeds.length - 1);
    const choose = (name) => (i) => ((state[name] = i), maestro.rebuild("population"));
    const words = make("output", { class: "reading muted", text: "Point at a strip for its numbers." });
    section.append(
      make("div", { class: "controls" },
        maestro.picker("Run", runs.map(({ name }) => name), state.run, choose("run")),
        maestro.picker("Seed", run.seeds.map(String), state.seed, choose("seed"))),
      make("h3", { text: "When members joined, and how often the student beats them" }),
      strips(run, state.seed, (text) => (words.textContent = text)), words,
      maestro.legend("one-hue", ["0 %", "100 % of games won, a draw as half; plain: not known"]),
      make("h3", { text: "How likely each is chosen" }),
      weights(run, state.seed), numbers(run, state.seed));
  };

  maestro.sections.push({
    id: "population",
    title: "Population",
    lead:
      "Frozen earlier selves of the student join the population as its co-players. " +
      "Each strip is one of them, from the update at which it joined; " +
      "a part of it ends where the win rate that it shows was noted.",
    has: (data) => populated(data).length > 0,
    uses: (data) => populated(data).map((run) => [run.name, run.members, run.updates, run.curriculum]),
    build,
  });
})();
