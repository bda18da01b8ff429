"""The settings of runs as a table."""

from typing import Any

from maestro.analysis.figures.logs import by_label
from maestro.analysis.figures.source import Made, Options, Run, Source, opened

OWN = ("method", "level", "seed", "seeds")  # what runs of one study differ in


def hyperparameters(source: Source, options: Options) -> Made:
    """A line for each setting, a column for the runs that have the same."""
    runs = [run for own in by_label(opened(source, options)).values() for run in own]
    groups = grouped(runs)
    settings = list(dict.fromkeys(name for values in groups.values() for name in values))
    lines = [[name, *(values.get(name, "") for values in groups.values())] for name in settings]
    head = ["setting", *(groups if len(groups) > 1 else ["value"])]
    rows = [
        {"method": run.label, "setting": name, "value": text, "seeds": len(run.seeds)}
        for run in runs
        for name, text in flat(run.settings).items()
    ]
    return Made(rows, texts={".md": markdown(head, lines), ".tex": latex(head, lines, options.title)})


def grouped(runs: list[Run]) -> dict[str, dict[str, str]]:
    """The settings of runs, those together that differ in method, level and seeds alone."""
    found: dict[tuple[tuple[str, str], ...], list[Run]] = {}
    for run in runs:
        common = {name: text for name, text in flat(run.settings).items() if name not in OWN}
        found.setdefault(tuple(common.items()), []).append(run)
    return {
        ", ".join(dict.fromkeys(run.label for run in own)): who(own) | dict(common)
        for common, own in found.items()
    }


def who(runs: list[Run]) -> dict[str, str]:
    """What runs of one study differ in."""
    seeds = dict.fromkeys(str(len(run.seeds)) for run in runs)
    return {"methods": ", ".join(dict.fromkeys(run.label for run in runs)), "seeds": ", ".join(seeds)}


def flat(settings: dict[str, Any], path: str = "") -> dict[str, str]:
    """Every setting as a text, by its path."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        if isinstance(value, dict):
            found |= flat(value, f"{path}{name}.")
        else:
            found[path + name] = text_of(value)
    return found


def text_of(value: Any) -> str:
    """A value as it would be typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """The table for a page."""
    cells = [[cell.replace("|", "\\|") for cell in line] for line in (head, *lines)]
    rows = [f"| {' | '.join(line)} |" for line in cells]
    return "\n".join([rows[0], "|" + "---|" * len(head), *rows[1:]]) + "\n"


def latex(head: list[str], lines: list[list[str]], title: str) -> str:
    """The table for a paper, with rules of booktabs."""
    rows = [" & ".join(map(escaped, line)) + r" \\" for line in (head, *lines)]
    body = [r"\begin{tabular}{l" + "r" * (len(head) - 1) + "}", r"\toprule", rows[0], r"\midrule", *rows[1:]]
    about = [f"% {' '.join(title.split())}"] * bool(title)
    return "\n".join([*about, *body, r"\bottomrule", r"\end{tabular}"]) + "\n"


def escaped(text: str) -> str:
    """A text in which nothing steers LaTeX."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return "".join(special.get(x, f"\\{x}" if x in "&%$#_{}" else x) for x in text)
