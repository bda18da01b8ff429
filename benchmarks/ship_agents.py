"""Agents of a study as those that come with the package: one student of each method, the first seed.

    python benchmarks/ship_agents.py STUDY [--out FOLDER] [--game module:NAME]

Takes every generalist among STUDY/runs/*, never the best but the first of its seeds, writes its student in
half precision with a card that says how it was trained and, by the games in STUDY/crossplay, how it does.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from maestro import games
from maestro.cli.opening import open_run
from maestro.evaluation import table
from maestro.evaluation.table import Table
from maestro.games import shipped
from maestro.runs import agent_file
from maestro.runs.folder import RunFolder


def tables(study: Path) -> dict[str, Table]:
    """What was played at the end of training, by the name of the levels."""
    found = {}
    for plan in sorted((study / "crossplay").rglob("plan.json")):
        played = table.mirrored(table.read(plan.parent / "table.csv"))
        last = table.select(played, updates=[int(played["updates"].max())])
        found[str(json.loads(plan.read_bytes())["levels"])] = last
    return found


def results(played: dict[str, Table], label: str, seed: int) -> list[dict[str, Any]]:
    """How one student does against every other method, on each set of levels; seats and levels alike."""
    rows = []
    for levels, games_of_all in played.items():
        own = table.select(games_of_all, a=label, a_seed=seed)
        for opponent in sorted(set(own["b"].tolist()) - {label}):
            met = table.select(own, b=opponent)
            counts = {kind: int(met[kind].sum()) for kind in ("episodes", "wins", "draws", "losses")}
            shares = {
                name: round(counts[kind] / counts["episodes"], 4)
                for name, kind in (("won", "wins"), ("drawn", "draws"), ("lost", "losses"))
            }
            mean = round(float(np.average(met["a_return"], weights=met["episodes"])), 4)
            about = {"opponent": opponent, "levels": levels, "games": counts["episodes"]}
            rows.append({**about, "seeds": len(set(met["b_seed"].tolist())), **shares, "return": mean})
    return rows


def ship(run: Path, played: dict[str, Table], out: Path, game: str = "", study: str = "") -> Path | None:
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
