"""The command that measures regret landscapes, on a run folder made by hand."""

import functools
import json
import shutil
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from maestro import cli, toml
from maestro.cli.landscape import heat_map
from maestro.evaluation import landscape
from maestro.evaluation.landscape import Landscape, numbers
from maestro.exploiters import Newcomer
from maestro.runs import agent_file, crowd, milestones
from maestro.runs.folder import RunFolder
from runs_helpers import QUICK, RACE, experiment, micro, new_folder

CONFIG = micro(schedule={"total_updates": 8, "interval": 3}, seeds=2, seed=5)
JOINED = (0, 3, 6)
GAME = ("--game", "probes:RACE")
SIZE = ("--levels", 4, "--rollouts", 2)


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def fresh(numbers):
    """Parameters, one for each number, stacked."""
    return jax.tree.map(lambda *x: jnp.stack(x), *(init()(jax.random.key(number)) for number in numbers))


@functools.cache
def init():
    """What makes parameters, compiled once."""
    return jax.jit(experiment(CONFIG).agent.init, compiler_options=QUICK)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run without its checkpoints: milestones and exported students are all different."""
    folder = new_folder(tmp_path_factory.mktemp("landscape") / "run", CONFIG)
    for number, updates in enumerate((*JOINED, 8)):
        milestones.write(folder, CONFIG, Newcomer(updates), fresh([10 * number, 10 * number + 1]))
    for seed in (5, 6):
        params = jax.tree.map(lambda x: x[0], fresh([100 + seed]))
        path = folder.agents / f"student-{seed}.safetensors"
        agent_file.save(path, CONFIG, params, {"seed": seed, "updates": 8})
    shutil.rmtree(folder.checkpoints)
    return folder.path


@pytest.fixture
def copy(run, tmp_path):
    """A copy of the run to be changed."""
    shutil.copytree(run, tmp_path / "copy", ignore=shutil.ignore_patterns("landscape"))
    return RunFolder(tmp_path / "copy")


def expected(seed, dice=0):
    """(levels, cells) of a seed, measured with the very parameters that were written."""
    exp = experiment(CONFIG)
    at = CONFIG.seed
    half = [fresh([10 * number + seed - at]) for number in range(len(JOINED))]
    members = jax.tree.map(lambda *x: jnp.concatenate(x).astype(jnp.float16).astype(jnp.float32), *half)
    student = jax.tree.map(lambda x: x[0], fresh([100 + seed]))
    key = jax.random.fold_in(jax.random.key(dice), seed)
    return program(exp)(key, student, members)


@functools.cache
def program(exp):
    """What measures, compiled once."""
    survey = functools.partial(landscape.survey, levels=4, rollouts=2)
    return jax.jit(lambda key, *who: survey(key, exp, *who), compiler_options=QUICK)


def test_all_seeds_are_measured_written_drawn_and_told(capsys, run) -> None:
    code, out, errors = call(capsys, "landscape", run, *SIZE, *GAME)
    assert code == 0 and "seed 5: 3 co-players x 4 levels, 2 rollouts of 8 steps" in errors
    found = json.loads((run / "landscape" / "landscape.json").read_text())
    assert [seed["seed"] for seed in found["seeds"]] == [5, 6] and found["method"] == "maestro"
    for seed in found["seeds"]:
        levels, cells = expected(seed["seed"])
        assert seed["members"] == ["update 0", "update 3", "update 6"] and seed["student"] == "update 8"
        assert [json.loads(text)["number"] for text in seed["levels"]] == levels.number.tolist()
        scores = np.array(seed["scores"], float)
        np.testing.assert_allclose(scores, cells.scores, atol=1e-5)
        np.testing.assert_allclose(np.array(seed["halves"], float), cells.halves, atol=1e-5)
        np.testing.assert_array_equal(seed["episodes"], cells.episodes)
        for name, value in numbers(cells).items():
            np.testing.assert_allclose(seed["regret"][name], value, atol=1e-5)
        best = seed["marks"]["joint"]
        assert scores[best["member"], best["level"]] == np.nanmax(scores) == seed["regret"]["joint"]
        assert f"joint regret        {seed['regret']['joint']:.3f}" in out
    mean = np.mean([seed["regret"]["joint"] for seed in found["seeds"]])
    assert found["mean"]["joint"]["seeds"] == 2
    np.testing.assert_allclose(found["mean"]["joint"]["mean"], mean, atol=1e-5)
    assert f"joint regret        {mean:.3f} (" in out
    for ending in ("json", "pdf", "png", "csv"):
        assert (run / "landscape" / f"landscape.{ending}").stat().st_size > 0
        assert str(run / "landscape" / f"landscape.{ending}") in out


def test_a_seed_alone_has_the_numbers_that_it_has_among_others_and_dice_change_them(
    capsys, run, tmp_path
) -> None:
    options = ("--seed", 6, "--out", tmp_path / "six", "--json")
    code, out, _ = call(capsys, "landscape", run, *SIZE, *GAME, *options)
    seed = json.loads(out)["seeds"][0]
    _, cells = expected(6)
    assert code == 0 and json.loads(out)["folder"] == str(tmp_path / "six")
    np.testing.assert_allclose(np.array(seed["scores"], float), cells.scores, atol=1e-5)
    code, out, _ = call(capsys, "landscape", run, *SIZE, *GAME, *options, "--dice", 1)
    assert code == 0 and json.loads(out)["seeds"][0]["levels"] != seed["levels"]


def test_without_exported_students_the_last_that_was_kept_is_the_student(copy) -> None:
    agent = experiment(CONFIG).agent
    exported = crowd.load(copy, RACE, CONFIG, agent, 6)
    shutil.rmtree(copy.agents)
    kept = crowd.load(copy, RACE, CONFIG, agent, 6)
    last = milestones.load(copy, RACE, 8, 6).params
    names = [f"update {at}" for at in JOINED]
    assert kept.updates == 8 and list(kept.members) == list(exported.members) == names
    jax.tree.map(np.testing.assert_array_equal, kept.student, last)
    assert any(
        (x != y).any() for x, y in zip(*map(jax.tree.leaves, (kept.student, exported.student)), strict=True)
    )


def remove(folder, name):
    """A file or a folder is gone."""
    path = folder.path / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def nobody_joined(folder):
    """A run whose warm-up is not over: its student was exported after one update."""
    warm = replace(CONFIG, schedule=replace(CONFIG.schedule, warmup=2))
    folder.config.write_text(f"format = 2\n{toml.to_toml(warm)}")
    card = folder.agents / "student-5.json"
    card.write_text(json.dumps({**json.loads(card.read_text()), "updates": 1}))


MISTAKES = {
    "no run": (lambda folder: remove(folder, "config.toml"), (), "is no run folder: it has no config.toml"),
    "an unknown game": (None, None, "the game 'race' is not known here; say where it is: --game module:NAME"),
    "no such seed": (None, ("--seed", 7), "--seed: the run has no seed 7; it has 5 to 6"),
    "nobody has joined": (nobody_joined, (), "nobody had joined the population by update 1"),
    "no student": (
        lambda folder: [remove(folder, "agents"), remove(folder, "milestones")],
        (),
        "no student in agents/ nor in milestones/; maestro export writes some",
    ),
    "a lost member": (
        lambda folder: remove(folder, "milestones/000000003-student-5.json"),
        (),
        "no student of seed 5 was kept at update 3",
    ),
    "a damaged student": (
        lambda folder: (folder.agents / "student-5.safetensors").write_bytes(b"no"),
        (),
        "student-5.safetensors: not the file that its card describes",
    ),
    "odd rollouts": (None, ("--rollouts", 3), "--rollouts: 3 is odd"),
    "no levels": (None, ("--levels", 0), "--levels: 0 is not between 1 and 4096"),
    "too many games": (None, ("--levels", 4096), "--levels: 4096 x 8 rollouts are too many"),
    "no place": (None, ("--out", "/dev/null/x"), "--out: '/dev/null/x' cannot be made"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_told_with_code_2(capsys, copy, name, monkeypatch) -> None:
    spoil, options, message = MISTAKES[name]
    if spoil is not None:
        spoil(copy)
    if options is None:
        monkeypatch.setattr("maestro.games._found", {})
    code, out, errors = call(capsys, "landscape", copy.path, *(() if options is None else (*GAME, *options)))
    assert (code, out) == (2, "") and message in errors and "Traceback" not in errors


def test_the_heat_map_on_the_terminal_marks_cells_and_shades_the_others() -> None:
    scores = np.array([[0.0, 1.0, np.nan], [0.6, 0.7, 0.4]])
    rest = np.stack([scores] * 2), np.ones((2, 3), int)
    seed = Landscape("update 8", ("update 0", "update 30"), ("a", "b", "c"), scores, *rest)
    drawn = heat_map(seed, {"independent": (1, 1), "joint": (0, 1)})
    assert drawn == " update 0 |  j█··|\nupdate 30 |▓▓i▓▒▒|"
    assert "|  b█··|" in heat_map(seed, {"independent": (0, 1), "joint": (0, 1)})
