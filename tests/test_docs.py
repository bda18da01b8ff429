"""The documentation is true: its code runs, what it points to exists, and it builds without the network."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from maestro.envs.lasertag import levels, maps

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TARGET = re.compile(r"`((?:src|tests|benchmarks|examples)/[\w/]+\.py):([\w.]+)`")
CODE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def code_blocks(text: str) -> list[tuple[str, int]]:
    """The Python blocks of a page, each with the line on which it begins."""
    found = [match for match in CODE.finditer(text) if match[1] == "python"]
    return [(match[2], text.count("\n", 0, match.start()) + 1) for match in found]


@by_page
def test_the_code_on_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": page.stem}
    for code, line in code_blocks(page.read_text()):
        exec(compile("\n" * line + code, str(page), "exec"), namespace)


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
        level = maps.load(name)
        height, width = int(level.height), int(level.width)
        walls = round(float(levels.statistics(level)["wall_share"]) * height * width)
        facts = [height, width, walls, int(levels.shortest_path(level)), int(level.time_limit)]
        assert [int(number) for number in told] == facts, name
