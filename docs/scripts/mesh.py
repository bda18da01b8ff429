"""Draw the picture of docs/scaling.md: eight devices as a mesh of 2 x 4, and what goes between them.

python docs/scripts/mesh.py
"""

from pathlib import Path

FILE = Path(__file__).parent.parent / "images" / "mesh.svg"
SEEDS, ENVS = 2, 4
LEFT, TOP, WIDE, HIGH, GAP = 132, 104, 176, 118, 16
INK, PALE, GREEN = "#1f2430", "#5b6372", "#2a8a43"
TITLE = "A mesh of 2 x 4 devices"
ALONG = "4 devices along the environments: a quarter of each seed's environments"
SAID = (
    "Eight devices in two rows of four. A row trains one seed, each device plays a quarter. "
    "Devices of a row exchange steps and gradients; the rows share one bit."
)


def text(x, y, words, color=INK, size=15, weight=400, anchor="start"):
    """Some words."""
    look = f'fill="{color}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}"'
    return f'<text x="{x}" y="{y}" {look}>{words}</text>'


def device(seed, part):
    """One device, what it has alone and what it has like its neighbors."""
    x, y = LEFT + part * (WIDE + GAP), TOP + seed * (HIGH + 64)
    first, last = part * 8, part * 8 + 7
    return [
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="12" fill="#f3f6fa" stroke="#c5cedb"/>',
        text(x + 14, y + 27, f"device {seed * ENVS + part}", weight=600),
        text(x + 14, y + 52, f"environments {first} to {last}", GREEN, 13),
        text(x + 14, y + 74, "student, members and", PALE, 13),
        text(x + 14, y + 92, f"buffers: all of seed {seed}", PALE, 13),
    ]


def row(seed):
    """The devices of one seed, and what they tell each other."""
    y = TOP + seed * (HIGH + 64)
    right = LEFT + ENVS * (WIDE + GAP) - GAP
    line = f'<path d="M{LEFT + 8} {y + HIGH + 12}H{right - 8}" stroke="{GREEN}" stroke-width="2" '
    marks = 'marker-start="url(#tip)" marker-end="url(#tip)"/>'
    told = "once a cycle: steps that were played; at every minibatch: the mean of gradients"
    return [
        text(20, y + HIGH // 2 + 5, f"seed {seed}", weight=600),
        *(part for number in range(ENVS) for part in device(seed, number)),
        line + marks,
        text((LEFT + right) // 2, y + HIGH + 32, told, GREEN, 13, anchor="middle"),
    ]


def picture():
    """The whole file."""
    width, height = LEFT + ENVS * (WIDE + GAP) + 8, TOP + SEEDS * (HIGH + 64) - 8
    middle = TOP + HIGH + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'aria-labelledby="title desc" font-family="system-ui, sans-serif">',
        f'<title id="title">{TITLE}</title><desc id="desc">{SAID}</desc>',
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
        f'orient="auto-start-reverse"><path d="M0 0L10 5L0 10z" fill="{GREEN}"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="14" fill="#ffffff"/>',
        text(20, 38, "--mesh 2x4", weight=600, size=18),
        text(LEFT, 82, ALONG, PALE),
        text(20, 82, "2 for seeds", PALE),
        *(part for seed in range(SEEDS) for part in row(seed)),
        f'<path d="M60 {TOP + HIGH - 20}V{middle + 42}" stroke="{PALE}" stroke-dasharray="4 4" fill="none"/>',
        text(70, middle + 2, "1 bit a", PALE, 13),
        text(70, middle + 18, "cycle", PALE, 13),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    FILE.write_text(picture())
