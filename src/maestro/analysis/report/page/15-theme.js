"use strict";
// Light and dark: what the system asks for, until the visitor chooses.
(() => {
  const NAMES = ["wall", "floor", "grass", "road", "edge", "seat0", "seat1", "bolt0", "bolt1", "ink"];
  const KEY = "maestro-theme";
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  let palette = {};

  // A canvas cannot read the page's colors by name; a probe asks the style sheet for them.
  maestro.color = (name) => {
    if (!NAMES.includes(name)) return /^#[0-9a-f]{6}$/i.test(name) ? name : "transparent";
    if (!palette[name]) {
      const probe = maestro.make("span", { style: { color: `var(--${name})` }, hidden: true });
      document.body.append(probe);
      palette[name] = getComputedStyle(probe).color;
      probe.remove();
    }
    return palette[name];
  };

  // Black or white, whichever is read better on a color that the style sheet has mixed.
  maestro.legible = (color) => {
    dot.fillStyle = color;
    dot.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...dot.getImageData(0, 0, 1, 1).data]
      .map((x) => x / 255)
      .map((x) => (x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
  };

  // Browsers do not let every page from disk keep something; then the choice lasts as long as the page.
  const kept = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null;
    }
  };
  const keep = (theme) => {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      return;
    }
  };

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const setTheme = (theme) => {
    if (["light", "dark"].includes(theme)) root.dataset.theme = theme;
    else delete root.dataset.theme;
    const other = isDark() ? "light" : "dark";
    const button = document.getElementById("theme");
    button.textContent = other === "light" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${other} colors`);
    palette = {};
    document.dispatchEvent(new Event("themechange"));
  };

  maestro.still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
  maestro.startTheme = () => {
    let chosen = kept();
    setTheme(chosen);
    dark.addEventListener("change", () => setTheme(chosen));
    document.getElementById("theme").addEventListener("click", () => {
      chosen = isDark() ? "light" : "dark";
      keep(chosen);
      setTheme(chosen);
    });
    window.addEventListener("beforeprint", () => setTheme("light")); // paper is white
    window.addEventListener("afterprint", () => setTheme(chosen));
  };

  // Colors of the seats as the game gives them.
  maestro.setSeats = (colors) => {
    const good = colors.filter((color) => /^#[0-9a-f]{6}$/i.test(color));
    good.forEach((color, i) => root.style.setProperty(`--seat${i}`, color));
    palette = {};
  };
})();
