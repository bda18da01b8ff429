"""`maestro agents`: the agents that come with the package, how they were trained and how they do."""

import json
from typing import Annotated, Any

import tyro

from maestro.cli.arguments import Mistake, find_game, parse
from maestro.cli.levels import GameOption
from maestro.cli.options import JsonFlag
from maestro.cli.output import say
from maestro.cli.table import Row, lines, width
from maestro.games import DEFAULT

Card = dict[str, Any]
NOTES = """\
on LEVELS: mean return against the other methods, each counting alike, with its
95 % interval over their seeds. An agent is the first seed of its method, not the
best one. More of one: maestro agents NAME. To see it play: maestro duel."""


def main(arguments: list[str]) -> None:
    """Run `maestro agents`."""
    parse(agents, "agents", arguments)


def agents(
    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME", help_behavior_hint="")] = "",
    game: GameOption = DEFAULT,
    as_json: JsonFlag = False,
) -> None:
    """List the agents that come with the package; with a name, all that is known of one.

    They play by their names, as in maestro duel LEVEL --a NAME.

    For example:

    maestro agents

    maestro agents maestro --json

    Args:
        name: One of them: how it was trained, and how it does against others.
    """
    from maestro.games import shipped
    from maestro.settings import nearest

    found = find_game("--game", game)
    cards = shipped.cards(found.name)
    if name:
        known = {own.lower(): own for own in cards}
        if name.lower() not in known:
            hint = nearest(name, list(cards)) if cards else f"none come with this version for {found.name}"
            raise Mistake(f"name: there is no agent {name!r}; {hint}")
        card = cards[known[name.lower()]]
        return say(json.dumps(card, indent=1) if as_json else "\n".join(told(known[name.lower()], card)))
    if as_json:
        return say(json.dumps(cards, indent=1))
    if not cards:
        return say(f"No agents of {found.name} come with this version; maestro train makes some.")
    rows = [row(own, card) for own, card in cards.items()]
    empty = dict.fromkeys((column for one in rows for column in one), "")  # studies differ in their levels
    shown = lines([empty | one for one in rows], width(), ("steps", "updates"))
    say("\n".join([*shown, "", NOTES]))


def row(name: str, card: Card) -> Row:
    """A line of the list."""
    trained = {"updates": number(card.get("updates")), "steps": number(card.get("environment_steps"))}
    return {"agent": name, **trained} | {f"on {levels}": mean for levels, mean in standings(card).items()}


def standings(card: Card) -> dict[str, str]:
    """The mean return against all others, each counting alike, for each set of levels."""
    return {standing["levels"]: interval(standing) for standing in card.get("standings", [])}


def interval(result: Card) -> str:
    """A mean return with its interval, where there is one."""
    ends = result.get("return_95")
    return f"{result['return']:+.2f}" + (f" ({ends[0]:+.2f} to {ends[1]:+.2f})" if ends else "")


def number(value: Any) -> str:
    """1234567 as 1,234,567; a text as it is."""
    return f"{value:,}" if isinstance(value, int | float) else str(value or "")


def told(name: str, card: Card) -> list[str]:
    """All that a card says that a person wants to know."""
    facts = {
        "agent": name,
        "method": str(card.get("method", "")),
        "updates": number(card.get("updates")),
        "trained steps": number(card.get("environment_steps")),
        "seed": f"{number(card.get('seed'))}, the first of {number(card.get('seeds'))}",
        "parameters": f"{number(card.get('parameters'))}, stored as {card.get('dtype', 'float32')}",
        "study": str(card.get("study", "")),
    }
    facts |= {f"mean return on {levels}": mean for levels, mean in standings(card).items()}
    about = [f"{key}: {value}" for key, value in facts.items() if value]
    results = [met(result) for result in card.get("results", [])]
    return about + (["", *lines(results, width(), ("games", "drawn"))] if results else [])


def met(result: Card) -> Row:
    """A line about one opponent."""
    from maestro.evaluation.table import SHARES

    shares = {kind: f"{result[kind]:.2f}" for kind in SHARES}
    about = {"against": result["opponent"], "levels": result["levels"], "games": number(result["games"])}
    return {**about, **shares, "return (95 %)": interval(result)}
