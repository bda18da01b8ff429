"""Write docs/settings.md: every setting with its sentence, its defaults and its range."""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from maestro import agents, games
from maestro.config import PRESETS, Length, Range, RunConfig, Setting, settings_of
from maestro.toml import toml_value

PAGE = Path(__file__).parent.parent / "settings.md"
KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text"}
GROUPS = [field.name for field in fields(RunConfig) if is_dataclass(getattr(PRESETS["paper"], field.name))]
ELSEWHERE = ("game", "environment", "agent", *GROUPS)  # groups of their own, or no setting but an argument
HEAD = ["| setting | default | what it is |", "|---|---|---|"]
INTRODUCTION = """\
# Settings

Everything that a run can be told, made from the fields of the package by `docs/scripts/settings.py`. Any
setting is an option, `--ppo.learning-rate 1e-4`, or stands in a TOML file for `--config`:

```toml
seeds = 5

[ppo]
learning_rate = 1e-4
```

Options win over the file, and the file over the preset (`--preset paper`, `fast` or `tiny`). The default is
that of the preset `paper`; another preset is named where it differs. In a terminal
`maestro train GAME --preset NAME --help` shows the same, for a game of your own too, and `--dry-run` prints
the values in force.
"""


def sentences(kind: type) -> dict[str, str]:
    """What stands below each field of a class, or of those that it extends."""
    found: dict[str, str] = {}
    for base in reversed([base for base in kind.__mro__ if is_dataclass(base)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0].body  # type: ignore[attr-defined]
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[ast.unparse(field.target)] = " ".join(ast.literal_eval(below.value).split())
    return found


def allowed(setting: Setting) -> str:
    """What a setting may be, in words."""
    kind, several = setting.kind, get_origin(setting.kind) is tuple
    kind = get_args(kind)[0] if several else kind
    ranges = [mark for mark in setting.marks if isinstance(mark, Range)]
    most = [f"at most {mark.most} of them" for mark in setting.marks if isinstance(mark, Length)]
    if get_origin(kind) is Literal:
        return " or ".join(f"`{part}`" for part in get_args(kind))
    words = KINDS[kind] + (f", {number(ranges[0].low)} to {number(ranges[0].high)}" if ranges else "")
    return "; ".join([f"list of: {words}" if several else words, *most])


def number(value: float) -> str:
    """A number as people write it."""
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def default(values: Mapping[str, Any]) -> str:
    """The default, and that of each preset in which it is another."""
    first, *rest = [(preset, f"`{toml_value(value)}`") for preset, value in values.items()]
    others = [f"{preset}: {value}" for preset, value in rest if value != first[1]]
    return "<br>".join([first[1], *others])


def rows(groups: Mapping[str, Any]) -> Iterator[str]:
    """A row for each setting of a group, whose values the presets hold."""
    first = next(iter(groups.values()))
    told = sentences(type(first))
    for name, setting in settings_of(first).items():
        if name not in ELSEWHERE:
            values = {preset: getattr(group, name) for preset, group in groups.items()}
            yield f"| `{name}` | {default(values)} | {told[name]}<br>*{allowed(setting)}* |"


def section(title: str, groups: Mapping[str, Any]) -> list[str]:
    """A table under a heading, with the sentence of the group."""
    kind = type(next(iter(groups.values())))
    return [f"{title}\n", str(kind.__doc__).strip(), "", *HEAD, *rows(groups), ""]


def of_each(presets: Mapping[str, RunConfig], group: str) -> dict[str, Any]:
    """One group of settings in each preset."""
    return {name: getattr(preset, group) for name, preset in presets.items()}


def game_sections(name: str) -> Iterator[str]:
    """The settings of one game and of its network, and what its presets have of their own."""
    game = games.known(name)
    yield f"## Game `{name}`\n"
    yield from section("### `environment`", of_each(game.presets, "environment"))
    yield from section("### `agent`", of_each(game.presets, "agent"))
    for group in GROUPS:
        usual, own = list(rows(of_each(PRESETS, group))), list(rows(of_each(game.presets, group)))
        changed = [row for row, known in zip(own, usual, strict=True) if row != known]
        if changed:
            yield from (f"### `{group}` with presets of its own\n", *HEAD, *changed, "")


def page() -> str:
    """The whole page."""
    lines = [INTRODUCTION, *section("## The run", PRESETS)]
    for group in GROUPS:
        lines += section(f"## `{group}`", of_each(PRESETS, group))
    for name in games.TABLE:
        lines += game_sections(name)
    lines += [
        "## Ready agents\n",
        "A game chooses one by its name; their fields are the settings `agent` of that game.\n",
    ]
    for name in agents.READY:
        lines += section(f"### `{name}`", {"paper": agents.ready(name)()})
    return "\n".join(lines).rstrip() + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
