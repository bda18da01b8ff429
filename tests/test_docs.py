"""The documentation is true: its code and commands run, what it points to exists, and it builds offline."""

import ast
import importlib.util
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import jax
import pytest

import runs_helpers
from maestro import agents, cli, games
from maestro.config import leaves
from maestro.envs.lasertag import levels, maps
from probes import quick_jit

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXTENDING = ROOT / "docs" / "extending.md"
TARGET = re.compile(r"`((?:src|tests|benchmarks|examples)/[\w/]+\.py):([\w.]+)`")
CODE = re.compile(r'^```(\w*)(?: title="([\w.]+)")?\n(.*?)^```', re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SHORT = """--schedule.total-updates 3 --schedule.interval 2 --ppo.workers 8 --ppo.rollout-length 8
    --curriculum.member-buffer-size 8 --evaluation.times 1 --evaluation.levels 2"""  # a minute in seconds
MAX_CODE = 100  # letters of a line of code that a page shows on a screen of 1280 pixels
MAX_COLUMNS = 6  # of a table, likewise
ACTIVATE = "source .venv/bin/activate"  # after `make train`
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def code_blocks(text: str) -> list[tuple[str, int]]:
    """The Python blocks of a page that are no files, each with the line on which it begins."""
    found = [match for match in CODE.finditer(text) if match[1] == "python" and not match[2]]
    return [(match[3], text.count("\n", 0, match.start()) + 1) for match in found]


def write_files(text: str, folder: Path) -> list[str]:
    """Write the blocks of a page that are files; returns their names."""
    files = {match[2]: match[3] for match in CODE.finditer(text) if match[2]}
    for name, content in files.items():
        (folder / name).write_text(content)
    return list(files)


def commands(text: str) -> list[list[str]]:
    """The calls of maestro in the shell blocks of a page, as words."""
    blocks = [match[3].replace("\\\n", " ") for match in CODE.finditer(text) if match[1] == "bash"]
    calls = [shlex.split(line, comments=True) for block in blocks for line in block.splitlines()]
    return [call[1:] for call in calls if call and Path(call[0]).name == "maestro"]


@by_page
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(jax, "jit", quick_jit)
    files = write_files(page.read_text(), tmp_path)
    namespace: dict = {"__name__": page.stem}
    try:
        for code, line in code_blocks(page.read_text()):
            exec(compile("\n" * line + code, str(page), "exec"), namespace)
    finally:
        for name in files:
            sys.modules.pop(Path(name).stem, None)


@by_page
def test_every_command_on_a_page_exists(page):
    assert not [call for call in commands(page.read_text()) if call[0] not in (*cli.COMMANDS, "--help")]


@by_page
def test_a_page_says_how_its_commands_become_commands_before_the_first_one(page):
    text = page.read_text()
    blocks = [match for match in CODE.finditer(text) if match[1] == "bash"]
    bare = [match for match in blocks if re.search(r"^(maestro|python) ", match[3], re.MULTILINE)]
    assert not bare or ACTIVATE in text[: bare[0].start()] + bare[0][3].partition("\nmaestro")[0]


@by_page
def test_the_trainings_on_a_page_are_accepted(page, capsys):
    known = [call for call in commands(page.read_text()) if call[:2] == ["train", "lasertag"]]
    for call in known:
        assert cli.run([*call, "--dry-run"]) == 0, capsys.readouterr().err


@by_page
def test_nothing_on_a_page_is_too_wide(page):
    text = page.read_text()
    code = [line for match in CODE.finditer(text) for line in match[3].splitlines()]
    assert not [line for line in code if len(line) > MAX_CODE]
    rows = [line for line in CODE.sub("", text).splitlines() if line.startswith("|")]
    assert not [row for row in rows if row.count("|") > MAX_COLUMNS + 1]


def script(name: str) -> ModuleType:
    """A script of the documentation."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_settings_is_what_the_fields_say():
    settings = script("settings")
    assert settings.PAGE.read_text() == settings.page(), "python docs/scripts/settings.py writes it anew"


def test_the_page_of_settings_has_every_setting_of_every_game_and_agent():
    rows = re.findall(
        r"^\| `(\w+)` \| (.+?) \| (.+)<br>\*(.+)\* \|$", script("settings").page(), re.MULTILINE
    )
    named = [name for name, *_ in rows]
    groups = [game.presets["paper"] for game in map(games.known, games.TABLE)]
    groups += [agents.ready(name)() for name in agents.READY]
    paths = [path.rpartition(".")[2] for group in groups for path, *_ in leaves(group)]
    assert not [name for name in paths if named.count(name) < 1 and name != "game"]
    told = [
        "Beta: the smaller it is, the more the highest scores are preferred.",
        "number, 0.001 to 1,000,000",
    ]
    first, second = (rest for name, *rest in rows if name == "temperature")
    assert first == ["`0.3`<br>fast: `1.0`<br>tiny: `1.0`", *told]
    assert second == ["`1.0`", *told]


def test_the_pictures_of_results_show_the_tables_of_their_page(tmp_path):
    results = script("results")
    page = results.PAGE.read_text()
    figures = results.figures(page)
    first = re.search(r"^\| its first co-player \| (\S+) / (\S+) / (\S+)<br>", page, re.MULTILINE)
    last = re.search(r"^\| 500 \| (\S+) / .+ \| (\S+) / .+ \|$", page, re.MULTILINE)
    fastest = re.search(r"^\| 1 seed of 2048 \| .+ ms \| (\S+) \|$", page, re.MULTILINE)
    assert first and last and fastest
    bars = [patch.get_width() for axes in figures["games"].axes for patch in axes.patches]
    assert len(bars) == 2 * 5 * 2 * 3 and bars[:3] == pytest.approx([float(x) for x in first.groups()])
    lines = [line.get_ydata() for line in figures["curves"].axes[0].lines]
    assert [list(line)[-1] for line in lines] == [float(x) for x in last.groups()]
    longest = max(bar.get_width() for bar in figures["speed"].axes[0].patches)
    assert longest == pytest.approx(int(fastest[1].replace(",", "")) / 1e6)
    results.main(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"results_{name}.svg" for name in figures}


def stopped(*call: str) -> str:
    """What a command says that is stopped, as by Ctrl-C, while it compiles."""
    process = runs_helpers.start(*call, HELD_COMPILING="1")
    assert any(line.startswith("compiling") for line in process.stdout), process.communicate()
    process.send_signal(signal.SIGINT)
    errors = process.communicate(timeout=runs_helpers.PATIENCE)[1]
    assert process.returncode == 128 + signal.SIGINT, errors
    return errors


@pytest.mark.long
def test_the_game_and_the_method_of_ones_own_do_what_their_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = write_files(EXTENDING.read_text(), tmp_path)
    calls = commands(EXTENDING.read_text())
    said = {}
    try:
        for call, following in zip(calls, [*calls[1:], []], strict=True):
            if call[0] == "train":
                assert stopped(*call, *SHORT.split()).strip().endswith(shlex.join(["maestro", *following]))
                continue
            code, said[" ".join(call)], errors = runs_helpers.call(*call)
            assert code == 0, errors
    finally:
        runs_helpers.end_all()
    assert {*files, "agents", "levels", "runs"} <= {path.name for path in tmp_path.iterdir()}
    assert len(list((tmp_path / "levels").iterdir())) == 3
    watched = next(said[call] for call in said if call.startswith("duel random"))
    assert "A trained against B random" in watched and "·" in watched


@by_page
def test_the_links_of_a_page_lead_somewhere(page):
    links = [link.split("#")[0] for link in LINK.findall(CODE.sub("", page.read_text()))]
    local = [link for link in links if link and not link.startswith(("http:", "https:", "mailto:"))]
    assert not [link for link in local if not (page.parent / link).exists()]


def names_in(node: ast.AST) -> dict[str, ast.AST]:
    """What a module or a class defines: functions, classes, constants and fields."""
    found: dict[str, ast.AST] = {}
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
            found[child.name] = child
        elif isinstance(child, ast.AnnAssign):
            found[ast.unparse(child.target)] = child
        elif isinstance(child, ast.Assign):
            targets = [name for target in child.targets for name in ast.walk(target)]
            found |= {name.id: child for name in targets if isinstance(name, ast.Name)}
    return found


def is_defined(file: str, name: str) -> bool:
    """Whether a file defines a name, dotted for what stands in a class."""
    if not (ROOT / file).exists():
        return False
    node: ast.AST | None = ast.parse((ROOT / file).read_text())
    for part in name.split("."):
        node = names_in(node).get(part) if node else None
    return node is not None


def test_a_target_is_found_only_where_it_is_defined():
    assert is_defined("tests/test_docs.py", "is_defined")
    assert is_defined("src/maestro/envs/lasertag/game.py", "LaserTag.step")
    assert not is_defined("src/maestro/envs/lasertag/game.py", "LaserTag.fly")
    assert not is_defined("src/maestro/nothing.py", "fly")


@by_page
def test_every_place_in_the_code_that_a_page_names_exists(page):
    targets = TARGET.findall(page.read_text())
    assert targets or page.stem != "paper-to-code"
    assert not [f"{file}:{name}" for file, name in targets if not is_defined(file, name)]


def test_the_walk_of_a_run_is_what_the_page_says():
    command = [sys.executable, ROOT / "docs" / "scripts" / "walk.py", "probes:RACE"]
    done = subprocess.run(command, env=runs_helpers.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    row = re.compile(r"^\| \d\. .+ \(\d+\) \| .+ \|$", re.MULTILINE)
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert row.findall(text) == row.findall(done.stdout) and len(row.findall(text)) == 7
    assert f"goes through {re.search(r'[0-9]+ functions in [0-9]+ files', done.stdout)[0]}" in text


def test_every_room_and_every_noun_has_its_words():
    page = (ROOT / "docs" / "architecture.md").read_text()
    text = page.partition("## The rooms")[2].partition("## One cycle")[0]
    _, *found = re.split(r"^\*\*([\w ]+)\*\* (?:is|are|keep) ", text, flags=re.MULTILINE)
    rooms, package = dict(zip(found[::2], found[1::2], strict=True)), ROOT / "src" / "maestro"
    files = [path.relative_to(package) for path in package.rglob("*.py") if path.stem[0] != "_"]
    inside = [path for path in files if not is_told(path.stem, rooms.get(path.parts[0], ""))]
    assert not [str(path) for path in inside if len(path.parts) > 1 or not is_told(path.stem, text)]


def is_told(name: str, text: str) -> bool:
    """Whether a text says something of a module or a noun."""
    return re.search(rf"`(\w+/)*{name}(\.py)?`|\*\*{name}\*\*", text) is not None


def test_the_site_builds_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    remote = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//[^>]*")
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) >= len(PAGES) - 1
    assert not [found for html in pages for found in remote.findall(html.read_text())]


def test_the_table_of_levels_is_what_the_maps_say():
    row = re.compile(r"^\| ([\w-]+) \| (\d+) x (\d+) \| (\d+) \| (\d+) \| [\w -]+ \| (\d+) \|$", re.MULTILINE)
    rows = row.findall((ROOT / "docs" / "environments.md").read_text())
    assert [name for name, *_ in rows] == list(maps.NAMES)
    for name, *told in rows:
        level = maps.LEVELS.load(name)
        height, width = int(level.height), int(level.width)
        walls = round(float(levels.statistics(level)["wall_share"]) * height * width)
        facts = [height, width, walls, int(levels.shortest_path(level)), int(level.time_limit)]
        assert [int(number) for number in told] == facts, name
