"""Estimated against true regret as pictures: a scatter for each score, and the levels themselves."""

from functools import partial
from typing import Any

import jax
import numpy as np

from maestro.analysis.figures import style
from maestro.analysis.figures.gallery import SIDE, framed
from maestro.analysis.figures.landscape import WORDS
from maestro.analysis.true_regret import Row
from maestro.analysis.true_regret_summary import column
from maestro.envs.base import Environment
from maestro.evaluation.true_regret import KINDS
from maestro.games import Game

LOOKS = {"top": (style.VERMILION, "^"), "middle": (style.BLUE, "s"), "random": (style.GREEN, "o")}
OTHER_UNITS = ("learnability",)  # a variance of results, not a return
MOST, COLUMNS = 36, 9  # levels that are drawn, and beside each other
NAMES = {"stored": "stored in the buffer", **{name: f"{word}, fresh" for name, word in WORDS.items()}}


def scatter(found: dict[str, Any]) -> Any:
    """True regret over each estimate, a point for each level, with the intervals of its games."""
    rows, scores = found["levels"], list(found["rank_correlation"])
    columns = min(3, len(scores))
    lines = -(-len(scores) // columns)
    figure, axes = style.sheet(style.WIDTH, 0.8 + 2.3 * lines, lines, columns, sharey=True)
    for panel in axes.flat[len(scores) :]:
        panel.set_visible(False)
    for panel, name in zip(axes.flat, scores, strict=False):
        points(panel, rows, name, returns=(found["score"] if name == "stored" else name) not in OTHER_UNITS)
        over = found["rank_correlation"][name]["random"]
        title = style.plain(NAMES.get(name, f"{name}, fresh"))
        panel.set_title(f"{title}\nrank correlation, random levels:\n{told(over)}", fontsize=7.5)
        panel.set_xlabel("estimate")
    for panel in axes[:, 0]:
        panel.set_ylabel("true regret")
    axes[0, 0].legend(loc="best", fontsize=7, handletextpad=0.2)
    return style.finish(figure, "", caption(found))


def points(panel: Any, rows: list[Row], name: str, returns: bool) -> None:
    """One panel; on the dashed line the estimate is the truth, where both are returns."""
    values, truth = column(rows, name), column(rows, "true_regret")
    ends = np.array([row["true_regret_95"] for row in rows], float)
    for kind in KINDS:
        mine = np.array([row["kind"] == kind for row in rows]) & ~np.isnan(values)
        color, marker = LOOKS[kind]
        bars = np.abs(ends[mine] - truth[mine, None]).T
        panel.errorbar(
            values[mine], truth[mine], bars, fmt=marker, ms=3, lw=0, elinewidth=0.4, color=color,
            alpha=0.75, label=kind,
        )  # fmt: skip
    if returns:
        panel.axline((0, 0), slope=1, linestyle="--", color=style.GRAY, lw=0.8)
    panel.axhline(0, color=style.GRAY, lw=0.5)


def told(number: dict[str, Any]) -> str:
    """A number with its interval."""
    if number["value"] is None:
        return "unknown"
    ends = "" if number["low_95"] is None else f" ({number['low_95']:+.2f} to {number['high_95']:+.2f})"
    return f"{number['value']:+.2f}{ends}"


def caption(found: dict[str, Any]) -> str:
    """What was measured."""
    each = {(row["seed"], row["member"]) for row in found["levels"]}
    seeds = len({seed for seed, _ in each})
    budget = f"{found['updates']} updates on those levels alone, beginning as the {found['start']}"
    return (
        f"{found['method']} on {found['game']}, the student of update {found['student']}, {seeds} seed(s), "
        f"levels from {len(each)} buffer(s) of co-players. True regret: mean return of a best response "
        f"({budget.replace('the scratch', 'a fresh network')}) minus that of the student, {found['games']} "
        "games each; bars: 95 % over games. A response that has not learned enough makes it too low. "
        "Dashed: the estimate is the truth."
    )


@partial(jax.jit, static_argnums=0)
def begun(env: Environment, levels: Any) -> Any:
    """The states at the start of some levels."""
    return jax.vmap(lambda level: env.reset(jax.random.key(0), level)[0])(levels)


def shown(rows: list[Row]) -> list[Row]:
    """Levels by their stored estimate, highest first; evenly taken where there are too many to draw."""
    ordered = sorted(rows, key=lambda row: -row["estimates"]["stored"])
    places = np.unique(np.linspace(0, len(ordered) - 1, min(MOST, len(ordered))).round().astype(int))
    return [ordered[i] for i in places]


def gallery(found: dict[str, Any], game: Game, env: Environment) -> Any:
    """The levels drawn, with estimated and true regret below; None for a game without pictures."""
    draw = game.draw.picture
    if draw is None:
        return None
    rows = shown(found["levels"])
    levels = [game.levels.parse(row["text"]) for row in rows]
    states = jax.device_get(begun(env, jax.tree.map(lambda *x: np.stack(x), *levels)))
    lines = -(-len(rows) // COLUMNS)
    figure, axes = style.sheet(style.WIDTH, 0.5 + 1.22 * lines, lines, COLUMNS)
    for panel in axes.flat:
        panel.set(xticks=[], yticks=[])
        panel.spines[:].set_visible(False)
    for i, (panel, row) in enumerate(zip(axes.flat, rows, strict=False)):
        state = jax.tree.map(lambda x, i=i: x[i], states)
        scale = max(1, SIDE // max(draw(levels[i], state, 1).shape[:2]))
        picture = draw(levels[i], state, scale)
        panel.imshow(framed(picture, max(SIDE, *picture.shape[:2])), interpolation="nearest")
        numbers = f"est. {row['estimates']['stored']:.2f}\ntrue {row['true_regret']:+.2f}"
        panel.set_xlabel(f"{row['kind']}\n{numbers}", fontsize=6.5, labelpad=1)
    seats = f" The student is {game.draw.seats[0]}." if game.draw.seats else ""
    kinds = "top: of the highest estimates; middle: around the median; random: any"
    told = f"Stored levels by estimated regret ({found['score']}), with true regret. {kinds}.{seats}"
    return style.finish(figure, "", told)
