"""Agents of a study as those that come with the package: one student of each method, the first seed.

    python benchmarks/ship_agents.py STUDY [--out FOLDER] [--game module:NAME]

Takes every generalist among STUDY/runs/*, never the best but the first of its seeds, writes its student in
half precision with a card that says how it was trained and, by the games in STUDY/crossplay and
STUDY/evaluate, how it does.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from maestro import games
from maestro.cli.opening import open_run
from maestro.evaluation import comparison, round_robin, table
from maestro.evaluation.resampling import Estimate
from maestro.evaluation.table import Table
from maestro.games import shipped
from maestro.runs import agent_file
from maestro.runs.folder import RunFolder


def tables(study: Path) -> list[tuple[str, Table]]:
    """What was played at the end of training, each with the name of its levels; without specialists."""
    found = []
    for plan in sorted([*study.glob("crossplay/*/plan.json"), *study.glob("evaluate/*/games/plan.json")]):
        played = table.mirrored(table.read(plan.parent / "table.csv"))
        last = table.select(played, updates=[int(played["updates"].max())])
        if not any("@" in name for name in last["a"].tolist()):
            found.append((str(json.loads(plan.read_bytes())["levels"]), last))
    return found


def told(mean: Estimate) -> dict[str, Any]:
    """A mean return, and its 95 % interval over the opponents' seeds; null where they have only one."""
    ends = [mean.low, mean.high]
    return {
        "return": round(mean.value, 4),
        "return_95": [round(end, 4) for end in ends] if np.isfinite(ends).all() else None,
    }


def results(played: list[tuple[str, Table]], label: str, seed: int) -> list[dict[str, Any]]:
    """How one student does against every other player, on each set of levels; seats and levels alike."""
    rows = []
    for levels, games_of_all in played:
        own = table.select(games_of_all, a=label, a_seed=seed)
        cube = round_robin.cube(own)
        for opponent in sorted(set(own["b"].tolist()) - {label}):
            met = table.select(own, b=opponent)
            counts = {kind: int(met[kind].sum()) for kind in ("episodes", "wins", "draws", "losses")}
            shares = {
                name: round(counts[kind] / counts["episodes"], 4)
                for name, kind in (("won", "wins"), ("drawn", "draws"), ("lost", "losses"))
            }
            about = {"opponent": opponent, "levels": levels, "games": counts["episodes"]}
            mean = told(comparison.one_to_one_estimate(cube, label, opponent))
            rows.append({**about, "seeds": len(set(met["b_seed"].tolist())), **shares, **mean})
    return rows


def standings(played: list[tuple[str, Table]], label: str, seed: int) -> list[dict[str, Any]]:
    """The mean return of one student against all other methods, each alike, on each set of levels."""
    rows = []
    for levels, games_of_all in played:
        cube = round_robin.cube(table.select(games_of_all, a=label, a_seed=seed))
        if any(len(seeds) > 1 for seeds in cube.seeds):  # others than scripted players
            mean = told(comparison.round_robin_estimate(cube, label))
            rows.append({"levels": levels, "opponents": len(cube.methods) - 1, **mean})
    return rows


def ship(
    run: Path, played: list[tuple[str, Table]], out: Path, game: str = "", study: str = ""
) -> Path | None:
    """The first seed's student of a run as an agent of the package; None for a specialist."""
    found, config, _ = open_run(run, game)
    if config.level:
        return None
    path = out / config.game / f"{config.method}.safetensors"
    if path.exists():
        raise SystemExit(f"{path}: is already there")
    source = RunFolder(run).agents / f"student-{config.seed}.safetensors"
    _, params = agent_file.load_params(source, found)
    updates = agent_file.read_card(source.with_suffix(".json"))["updates"]
    about = {
        "seed": config.seed,
        "seeds": config.seeds,
        "updates": updates,
        "environment_steps": updates * config.ppo.workers * config.ppo.rollout_length,
        "study": study,
        "standings": standings(played, config.method, config.seed),
        "results": results(played, config.method, config.seed),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    agent_file.save(path, config, params, about, half=True)
    agent_file.load(path, found)  # it is what its card says
    return path


def main(arguments: list[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("--out", type=Path, default=shipped.FOLDER)
    parser.add_argument("--game", default="", help="where the game is, if it is one of your own")
    options = parser.parse_args(arguments)
    if options.game:
        games.find(options.game)
    played = tables(options.study)
    for run in sorted((options.study / "runs").iterdir()):
        path = ship(run, played, options.out, options.game, options.study.resolve().name)
        print(f"{run.name}: {path or 'a specialist, left out'}")


if __name__ == "__main__":
    main()
