"""What a page answers first: three sentences with figures, and no more than the data says."""

import shlex
from datetime import datetime
from typing import Any

from maestro.analysis import curves
from maestro.analysis.figures.source import Run
from maestro.analysis.report.crossplays import Played
from maestro.analysis.report.numbers import both, count, signed, sure
from maestro.analysis.report.runs import made, names, status
from maestro.analysis.standings import standings
from maestro.evaluation.comparison import difference
from maestro.evaluation.opponents import FIRST
from maestro.runs import folder as run_folder
from maestro.runs import sessions

Answer = tuple[str, list[str]]  # the question, and three sentences


def of(played: list[Played], runs: list[Run]) -> Answer:
    """The question that the data can answer, and its answer."""
    ranks = [ranked(play) for play in played[:1]]
    if ranks and len(ranks[0]) > 1:
        return compared(played[0], *ranks[0][:2])
    if len(runs) == 1:
        return learned(runs[0])
    return apart(runs) if runs else nothing(played)


def ranked(play: Played) -> list[dict[str, Any]]:
    """The standings of those who can have trained the best students: no scripts, no specialists."""
    rows = standings(play.games)
    return [row for row in rows if row["method"] in play.methods and row["return"] is not None]


def compared(play: Played, first: dict[str, Any], second: dict[str, Any]) -> Answer:
    """Which method was best in the round robin, by how much, and how sure that is."""
    where = f"{len(play.cube.levels)} levels ({play.folder.split})"
    best = (
        f"Best in the round robin on {where} is {first['method']}: its mean return against all others is "
        f"{signed(first['return'])} ({sure(first['low'], first['high'], count(first['seeds']))})."
    )
    lead = difference(play.cube, first["method"], second["method"])
    ahead = (
        f"It is {lead.value:.3f} ahead of the second, {second['method']} "
        f"({sure(lead.low, lead.high, both(*lead.seeds))})."
    )
    return "Which method has trained the best students?", [best, ahead, counted(play)]


def counted(play: Played) -> str:
    """How many games the comparison is made of, and who has played them."""
    after = f"after {play.updates} updates" if play.updates else "at the end of their training"
    scripts = sum(name in play.folder.scripted for name in play.names)
    others = {"scripted player": scripts, "specialist": len(play.names) - scripts - len(play.methods)}
    too = " and ".join(count(number, what) for what, number in others.items() if number)
    more = f", also against {too}" if too else ""
    who = f"{count(len(play.methods), 'method')} {after}{more}"
    return (
        f"That is {play.met:,} games of {who}; it says nothing of longer training, other levels or "
        "other players."
    )


def learned(run: Run) -> Answer:
    """How a run's students do against their first co-players, from where they came, how long it took."""
    question = f"Has the student of {run.label} learned to beat its first co-player?"
    return question, [now(run), before(run), took(run)]


def now(run: Run) -> str:
    """The last comparison, or the newest evaluation."""
    told = run_folder.read_json(run.folder.path / "summary.json")
    try:
        games, won, lost = (int(told[name]) for name in ("games", "won", "lost"))
        low, high = (float(x) for x in told["won_95"])
        result = f"won {won / games:.0%} and lost {lost / games:.0%} of {games:,} games on unseen levels"
        sure = f"won: {low:.0%} to {high:.0%}, 95 % confidence, {count(len(run.seeds))}"
        return f"After {made(run)} updates it {result} ({sure})."
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return evaluated(run, -1) or (
            "Nothing has been measured yet: games against the first co-player are played along training "
            "(evaluation.times) and at its end."
        )


def evaluated(run: Run, which: int) -> str:
    """What an evaluation of the run said; empty if there was none."""
    known = curves.won(curves.records(run.folder.evaluation)).get(FIRST)
    if known is None:
        return ""
    seeds = known.values[which][known.values[which] == known.values[which]]
    if not len(seeds):
        return ""
    band = "" if known.band is None else f" ({known.band[which][0]:.0%} to {known.band[which][1]:.0%}, 95 %)"
    return f"After {int(known.updates[which])} updates it won {seeds.mean():.0%} of its games{band}."


def before(run: Run) -> str:
    """What it started from."""
    known = curves.won(curves.records(run.folder.evaluation)).get(FIRST)
    first = evaluated(run, 0)
    if known is None or not first or known.updates[0] >= made(run):
        return "How it did earlier in training was not measured."
    return f"Earlier in training, on other unseen levels: {first[0].lower()}{first[1:]}"


def took(run: Run) -> str:
    """How long it was trained, and on what."""
    state, done = status(run), made(run)
    past = [one for one in sessions.before(run_folder.read_json(run.folder.about)) if isinstance(one, dict)]
    times = [seconds(run, one) for one in past]
    known = sum(time for time in times if time is not None)
    on = ", ".join(dict.fromkeys(str(one["device"]) for one in past if "device" in one))
    told = f"It was trained for {lasted(known)}" if known else "How long it was trained is not known"
    place = f" on {on}" if on else ""
    return f"{told}{place}, and is {state} after {done} updates of {count(len(run.seeds))}."


def seconds(run: Run, session: dict[str, Any]) -> float | None:
    """How long a session took; one that has not been noted yet lasts until the newest status."""
    told: Any = session.get("seconds")
    if type(told) in (int, float):
        return float(told)
    try:
        end = float(run_folder.read_json(run.folder.status)["time"])
        return max(0.0, end - datetime.fromisoformat(str(session["began"])).timestamp())
    except (KeyError, TypeError, ValueError):
        return None


def lasted(time: float) -> str:
    """`3.5 minutes`."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if time >= 2 * size:
            return f"{time / size:.1f} {unit}"
    return f"{time:.0f} seconds"


def apart(runs: list[Run]) -> Answer:
    """Several runs that have not met."""
    typed = " ".join(shlex.quote(f"runs/{run.folder.path.resolve().name}") for run in runs)
    own = [f"{name}: {now(run)}" for name, run in zip(names(runs)[:2], runs, strict=False)]
    more = f" ({len(runs) - 2} more runs are listed below.)" * (len(runs) > 2)
    missing = (
        "Each of them played its own first co-player, which compares nothing; to let them meet: "
        f"maestro crossplay {typed if len(typed) < 200 else 'RUNS...'} --out games"
    )
    return "Which of these runs has trained the best student?", [own[0], own[1] + more, missing]


def nothing(played: list[Played]) -> Answer:
    """Folders without runs, and games that compare nobody."""
    said = ["There is no run and no round robin of several methods in these folders."]
    said += [f"There are {play.count:,} games on {play.folder.split}." for play in played[:1]]
    said += ["To make a run: maestro train; to let several meet: maestro crossplay RUN RUN --out games."]
    return "What is in these folders?", said
