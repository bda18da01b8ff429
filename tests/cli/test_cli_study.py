"""`maestro study`: everything is trained once, in as many sittings as it takes, and nothing is lost."""

import os
import platform
import shutil
import signal
from pathlib import Path

import pytest

from maestro import cli
from maestro.analysis.study import run_folders
from maestro.cli import launch
from maestro.cli.sitting import Sitting
from maestro.runs import folder as run_folder
from maestro.runs import lock
from maestro.runs.trainer import Stopped
from runs_helpers import call as call_other
from runs_helpers import claim
from study_helpers import PAPER, ROCK, finished, note_session, study
from study_sittings import COHORTS, CROSSPLAY, FILE, NOW, QuickTrainer, be_quick, content, sitting


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Each test in a folder of its own, with a quick trainer, a short last comparison, and the time at 0."""
    monkeypatch.chdir(tmp_path)
    be_quick(monkeypatch)
    NOW[0] = 0.0
    return tmp_path


def call(capsys, *arguments):
    """Exit code, output and errors of one command."""
    code = cli.run(["study", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The folder of a study that was done in one go, and what it said."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        be_quick(patch)
        (out.parent / "small.toml").write_text(FILE + CROSSPLAY)
        assert cli.run(["study", str(out.parent / "small.toml"), "--out", str(out)]) == 0
    return out


def test_everything_is_trained_once_and_skipped_the_second_time(whole, place, capsys) -> None:
    for name in ("dr-sp", "dr-fsp"):
        folder = run_folder.RunFolder(whole / "runs" / name)
        assert not folder.checkpoints.exists() and len(list(folder.agents.iterdir())) == 4
        (session,) = run_folder.read_json(folder.about)["sessions"]
        assert session["updates"] == 4 and session["seconds"] > 0
    assert (whole / "crossplay" / "test" / "table.csv").is_file()
    shutil.copytree(whole, place / "again")
    before = {path: path.stat().st_mtime_ns for path in (place / "again").rglob("*") if path.is_file()}
    code, out, err = call(capsys, "again")
    assert (code, out, err) == (0, "all is done: again\n", "")
    after = {path: path.stat().st_mtime_ns for path in (place / "again").rglob("*") if path.is_file()}
    assert after == before


def test_a_study_whose_time_is_over_goes_on_later_to_the_same_students(whole, place, capsys) -> None:
    first = sitting(place / "out", until=3.0)
    assert first.run() == 3
    out = capsys.readouterr().out
    assert "left:\n  dr-sp (at update 2 of 4), about a minute\n  dr-fsp, about a minute\n" in out
    assert "cohort 2 of 2" not in out
    NOW[0] = 0.0
    assert sitting(place / "out").run() == 0
    for name in ("dr-sp", "dr-fsp"):
        assert content(place / "out" / "runs" / name) == content(whole / "runs" / name)


def test_a_study_that_was_killed_goes_on_to_the_same_students(whole, place, monkeypatch) -> None:
    class Killed(Exception):
        """As if the process had ended here."""

    def pause(self):
        if self.updates == 2:
            self.checkpointer.thread.shutdown()
            raise Killed
        QuickTrainer.pause(self)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(launch, "Trainer", type("Mortal", (QuickTrainer,), {"pause": pause}))
        sitting(place / "out").run()
    assert sitting(place / "out").run() == 0
    for name in ("dr-sp", "dr-fsp"):
        assert content(place / "out" / "runs" / name) == content(whole / "runs" / name)


def test_an_interrupt_stops_the_cohort_in_good_order_and_the_study_with_it(
    place, monkeypatch, capsys
) -> None:
    def pause(self):
        if self.updates == 1:
            signal.raise_signal(signal.SIGINT)
        QuickTrainer.pause(self)

    monkeypatch.setattr(launch, "Trainer", type("Interrupted", (QuickTrainer,), {"pause": pause}))
    monkeypatch.setattr(launch, "answer", lambda text: None)
    assert sitting(place / "out").run() == 130
    captured = capsys.readouterr()
    assert "stopped at update 1; the same command goes on" in captured.err and "dr-fsp" in captured.out
    (standing, _) = run_folders.standings(study(*COHORTS), place / "out")
    assert (standing.state, standing.updates) == (run_folders.BEGUN, 1)


def test_checkpoints_are_kept_if_the_file_says_so(place) -> None:
    assert sitting(place / "out", only=("dr-sp",), keep_checkpoints=True).run() == 0
    kept = place / "out" / "runs" / "dr-sp" / "checkpoints"
    assert list(kept.iterdir())
    assert sitting(place / "out", only=("dr-sp",)).run() == 0 and not kept.exists()


def test_a_grid_ends_with_a_ranking_that_names_its_split(place, capsys) -> None:
    found = study(grid=[{"methods": ["dr-sp"], "ppo.gamma": [0.9, 0.5]}], figures=["hyperparameters"])
    for planned, hand in zip(found.cohorts, (PAPER, ROCK), strict=True):
        finished(place / "out", planned, [hand, hand])
    assert Sitting(found, place / "out").run() == 0
    out = capsys.readouterr().out
    assert "by mean return on the validation split, best first:\ncohort " in out
    assert out.index("dr-sp+gamma=0.9  2      +0.000  ") < out.index("dr-sp+gamma=0.5  2      -1.000  ")
    assert (place / "out" / "figures" / "hyperparameters.md").is_file()


def test_a_figure_that_cannot_be_drawn_fails_if_it_was_named(place, capsys) -> None:
    found = study(*COHORTS, figures=["specialists"], crossplay=[{"episodes": 1}])
    for planned in found.cohorts:
        finished(place / "out", planned, [PAPER, ROCK])
    assert Sitting(found, place / "out").run() == 1
    assert "figures; failed: specialists: there is no specialist" in capsys.readouterr().out


@pytest.mark.long
def test_landscapes_responses_and_all_figures_are_made_of_a_trained_study(whole, place, capsys) -> None:
    shutil.copytree(whole, place / "out")
    measured = {"levels": ["here"], "updates": 1, "seeds": 1, "best": 1}
    found = study(
        *COHORTS,
        crossplay=[{"episodes": 1, "milestones": True}],
        evaluate={},
        landscape={"cohorts": ["dr-fsp"], "levels": 2, "rollouts": 2},
        exploit=measured,
        figures=["all"],
    )
    assert Sitting(found, place / "out").run() == 0
    made = {"landscape/dr-fsp/landscape.json", "exploit/exploit.json", "evaluate/test/ranking.csv",
            "figures/test/round-robin-curves.pdf", "figures/landscape.pdf", "figures/pairs.csv"}  # fmt: skip
    assert not [name for name in made if not (place / "out" / name).is_file()]
    assert len(list((place / "out" / "exploit").glob("*/exploiter-0.safetensors"))) == 1
    assert "not drawn: specialists" in capsys.readouterr().out
    assert Sitting(found, place / "out").run() == 0 and capsys.readouterr().out.startswith("all is done")


def chosen(found, out, left, trained):
    """The name of the cohort that is started with so many seconds left, after so many others."""
    one = Sitting(found, out, until=float(left), clock=lambda: 0.0, trained=trained)
    standing = one.choose(one.standings())
    return standing and standing.planned.name


def test_no_cohort_is_started_that_does_not_fit_into_the_time(place) -> None:
    short = {"method": "dr-sp", "name": "short", "settings": {"schedule": {"total_updates": 1}}}
    found = study(*COHORTS, short)
    assert chosen(found, place, 1, 0) == "dr-sp"  # nobody knows how long it takes
    note_session(finished(place, found.cohorts[0], [PAPER, ROCK]), 40.0, 4)
    assert [chosen(found, place, left, 1) for left in (45, 43, 12, 10)] == ["dr-fsp", "short", "short", None]
    assert chosen(found, place, 10, 0) == "dr-fsp"  # would never fit, but can go on later
    assert chosen(found, place, 0, 0) is None


def test_what_was_begun_comes_first_and_what_has_failed_before_comes_last(place) -> None:
    found = study(*COHORTS, {"method": "maestro"})
    for number, state in ((0, "failed"), (2, "stopped")):
        planned = found.cohorts[number]
        folder = claim(place / "runs" / planned.name)
        run_folder.begin(folder, planned.config)
        run_folder.write_status(folder, state=state)
    one = Sitting(found, place)
    order = []
    while (standing := one.choose(one.standings())) is not None:
        order.append(standing.planned.name)
        one.failed[order[-1]] = "so that the next one is chosen"
    assert order == ["maestro", "dr-fsp", "dr-sp"]


def test_a_cohort_that_another_process_works_on_is_left_to_it(place, capsys) -> None:
    planned = study(*COHORTS).cohorts[0]
    folder = claim(place / "out" / "runs" / planned.name)
    run_folder.begin(folder, planned.config)
    with lock.hold(folder.path):
        one = sitting(place / "out", only=("dr-sp",))
        assert one.run() == 3
        assert f"dr-sp, process {os.getpid()} on {platform.node()} works on it" in capsys.readouterr().out


def test_a_cohort_that_fails_leaves_the_others_their_turn(place, monkeypatch, capsys) -> None:
    def run(self):
        if self.config.method == "dr-sp":
            raise Stopped(1, "10 updates in a row were not finite", resumable=False)
        return QuickTrainer.run(self)

    monkeypatch.setattr(launch, "Trainer", type("Failing", (QuickTrainer,), {"run": run}))
    vast = {"method": "dr-sp", "name": "vast", "settings": {"ppo": {"workers": 10_000_000}}}
    one = Sitting(study(*COHORTS, vast, crossplay=[{"cohorts": ["dr-sp", "dr-fsp"]}]), place / "out")
    assert one.run() == 1
    captured = capsys.readouterr()
    assert "maestro: dr-sp failed: 10 updates in a row were not finite" in captured.err
    assert "GB are needed" in captured.err and "  crossplay test" in captured.out
    assert [s.state for s in one.standings()] == [run_folders.BEGUN, run_folders.DONE, run_folders.NEW]


def test_finished_cohorts_from_elsewhere_are_merged(whole, place, capsys) -> None:
    elsewhere = place / "elsewhere"
    assert sitting(elsewhere, only=("dr-fsp",)).run() == 0
    assert not (elsewhere / "runs" / "dr-sp").exists() and not (elsewhere / "crossplay").exists()
    (place / "out" / "runs").mkdir(parents=True)
    for name, source in (("dr-sp", whole), ("dr-fsp", elsewhere)):
        shutil.copytree(source / "runs" / name, place / "out" / "runs" / name)
    Path("small.toml").write_text(FILE + CROSSPLAY)
    capsys.readouterr()
    code, out, _ = call(capsys, "small.toml", "--out", "out")
    assert code == 0 and "cohort 1" not in out and "crossplay test\nall is done: out\n" in out
    merged, original = (x / "crossplay" / "test" / "table.csv" for x in (place / "out", whole))
    assert merged.read_bytes() == original.read_bytes()


def test_runs_that_do_not_belong_to_the_study_are_refused(place, capsys) -> None:
    planned = study({**COHORTS[0], "seeds": 1}).cohorts[0]
    finished(place / "out", planned, [PAPER])
    Path("small.toml").write_text(FILE)
    code, _, err = call(capsys, "small.toml", "--out", "out")
    assert code == 2 and "Traceback" not in err
    assert "do not belong to the study:\n  out/runs/dr-sp: its settings" in err and "seeds: 1 -> 2" in err


def test_a_study_keeps_its_cohorts_but_may_grow(whole, place, capsys) -> None:
    shutil.copytree(whole, place / "out")
    Path("small.toml").write_text(FILE.replace("interval = 2", "interval = 3"))
    code, _, err = call(capsys, "small.toml", "--out", "out")
    assert code == 2 and "cohort dr-sp: schedule.interval: 2 -> 3\n" in err and "choose another --out" in err
    Path("small.toml").write_text(FILE + '\n[[cohort]]\nmethod = "maestro"\n' + CROSSPLAY)
    code, out, err = call(capsys, "small.toml", "--out", "out", "--only", "dr-sp")
    assert (code, out, err) == (0, "all is done: out\n", "")
    assert (place / "out" / "study.toml").read_bytes() == Path("small.toml").read_bytes()
    code, out, _ = call(capsys, "out", "--dry-run")
    assert code == 0 and "maestro  2      0/4      new" in out and "crossplay test: to do" in out


def test_a_dry_run_lists_what_there_is_to_do_and_makes_nothing(place, capsys) -> None:
    Path("small.toml").write_text(FILE + CROSSPLAY)
    code, out, _ = call(capsys, "small.toml", "--dry-run")
    assert code == 0 and out.splitlines() == [
        "cohort  seeds  updates  state",
        "dr-sp   2      0/4      new",
        "dr-fsp  2      0/4      new",
        "crossplay test: to do",
    ]
    assert os.listdir() == ["small.toml"]


MISTAKES = {
    "no such file": (["none.toml"], "none.toml: No such file"),
    "no TOML": (["bad.toml"], "bad.toml: this study cannot be done:\n  bad.toml: not TOML"),
    "a folder without a study": (["empty"], "empty/study.toml: No such file"),
    "no game": (["nameless.toml"], "game: None is no name of a game; the study needs one"),
    "an unknown game": (["chess.toml"], "game: the game 'chess' is not known here; say where it is: --game"),
    "another game": (["small.toml", "--game", "probes:RACE"], "game: the study is of 'hands', not of race"),
    "a mistake in it": (["wrong.toml"], "wrong.toml: this study cannot be done:\n  preset: 'big' is not all"),
    "no such cohort": (
        ["small.toml", "--only", "dr-pf"],
        "--only: 'dr-pf' is no cohort of the study; did you",
    ),
    "no time": (["small.toml", "--minutes", "0"], "--minutes: 0.0 is not between 0 and"),
    "no method of one's own": (
        ["small.toml", "--method", "dr-sp"],
        "--method: 'dr-sp' is no method of your o",
    ),
    "a part after the last": (["small.toml", "--part", "9/8"], "--part: 9/8 is no part: the I of I/N goes"),
    "a part before the first": (["small.toml", "--part", "0/8"], "--part: 0/8 is no part: the I of I/N goes"),
    "no part at all": (["small.toml", "--part", "x"], "--part: 'x' is no part; the third of eight is 3/8"),
    "a part and a name": (
        ["small.toml", "--part", "1/2", "--only", "dr-sp"],
        "--only and --part exclude each other",
    ),
    "a folder in use": (["small.toml", "--out", "used"], "--out: used is not empty, and holds no study"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_one_message_and_trains_nothing(name, place, capsys) -> None:
    texts = {"small": FILE, "bad": "game = ", "nameless": "", "chess": 'game = "chess"'}
    texts["wrong"] = FILE.replace("tiny", "big")
    for stem, text in texts.items():
        Path(f"{stem}.toml").write_text(text)
    for folder in ("empty", "used/mine"):
        Path(folder).mkdir(parents=True)
    arguments, message = MISTAKES[name]
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "") and "Traceback" not in err and message in err, err
    assert not Path("runs").exists() and not Path("empty/runs").exists()


def test_a_study_without_time_says_what_is_left_and_ends_with_3(place) -> None:
    Path("small.toml").write_text(FILE + CROSSPLAY)
    game = ("--game", "study_helpers:GAME")
    code, out, err = call_other("study", "small.toml", *game, "--minutes", "0.0001")
    assert (code, out) == (3, "left:\n  dr-sp\n  dr-fsp\n  crossplay test\n"), err
