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
    say("\n".join(lines([row(own, card) for own, card in cards.items()], width(), ("parameters", "steps"))))


def row(name: str, card: Card) -> Row:
    """A line of the list."""
    return {
        "agent": name,
        "method": str(card.get("method", "")),
        "updates": number(card.get("updates")),
        "steps": number(card.get("environment_steps")),
        "seed": f"{number(card.get('seed'))} (first of {number(card.get('seeds'))})",
        "parameters": number(card.get("parameters")),
        "mean return": ", ".join(f"{levels} {mean:+.2f}" for levels, mean in means(card).items()),
    }


def means(card: Card) -> dict[str, float]:
    """The mean return against all others, each counting alike, for each set of levels."""
    found: dict[str, list[float]] = {}
    for result in card.get("results", []):
        found.setdefault(result["levels"], []).append(result["return"])
    return {levels: sum(returns) / len(returns) for levels, returns in found.items()}


def number(value: Any) -> str:
    """1234567 as 1,234,567; a text as it is."""
    return f"{value:,}" if isinstance(value, int | float) else str(value or "")


def told(name: str, card: Card) -> list[str]:
    """All that a card says that a person wants to know."""
    facts = {**row(name, card), "precision": str(card.get("dtype", "")), "study": str(card.get("study", ""))}
    results = [
        {
            "against": result["opponent"],
            "levels": result["levels"],
            "games": number(result["games"]),
            "won": f"{result['won']:.2f}",
            "drawn": f"{result['drawn']:.2f}",
            "lost": f"{result['lost']:.2f}",
            "return": f"{result['return']:+.2f}",
        }
        for result in card.get("results", [])
    ]
    about = [f"{key}: {value}" for key, value in facts.items() if value]
    return about + (["", *lines(results, width(), ("levels", "games"))] if results else [])
