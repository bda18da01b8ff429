"""What may import what: the layers of the package, and what stays out of it."""

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"

# Rooms import only from rooms above them; the nouns of the paper are one room.
ROOMS = {
    "config": "config settings toml imports trees cache native mesh",
    "envs": "envs",
    "agents": "agents",
    "games": "games",
    "method": "rollout trajectory regret ppo normalizer level_buffer memories population curriculum methods "
    "metrics train exploiters cohort pieces sharding rows sums next_values",
    "evaluation": "evaluation",
    "runs": "runs",
    "analysis": "analysis",
    "theory": "theory",
    "views": "views",
    "cli": "cli __main__",
}
ORDER = list(ROOMS)

# The teacher sees parameters, levels and scores, so that it serves any game and any learner.
TEACHERS = ("maestro.level_buffer", "maestro.memories", "maestro.population", "maestro.curriculum")
OF_GAMES_AND_LEARNERS = ("envs", "agents", "rollout", "trajectory", "ppo")
HIDDEN_FROM_TEACHER = tuple(f"maestro.{name}" for name in OF_GAMES_AND_LEARNERS)
TERMINAL = ("rich", "tyro")
FACES = ("views", "cli")  # what people look at
# The only places that name the games, or what is in them.
GAMES_THEMSELVES = ("games", "envs/lasertag", "envs/racing")
OF_GAMES = re.compile(r"laser ?tag|(?<![a-z])racing|hunter|turret|fourrooms|(?<![a-z])bolt|grass")
# But for names of colors: a page has a light and a dark value for each, beside those of its own parts.
PAGE = "analysis/report/page"
ALLOWED = {f"{PAGE}/10-colors.css": {"bolt", "grass"}, f"{PAGE}/15-theme.js": {"bolt", "grass"}}


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SRC.rglob("*.py"))}


def room_of(module: str) -> str:
    """The room in which a module stands; the package itself stands before all."""
    name = module.split(".")[1] if "." in module else "config"
    return next(
        (room for room, names in ROOMS.items() if name in names.split()), "config" * (module == "maestro")
    )


def imported(path: Path) -> set[str]:
    """All modules that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in names}
    return found


def ours(path: Path) -> set[str]:
    """The modules of the package that a file imports."""
    return {name for name in imported(path) if name.split(".")[0] == "maestro"}


@pytest.mark.parametrize("module", MODULES)
def test_a_room_imports_only_from_rooms_before_it(module):
    assert room_of(module) in ORDER, f"give {module} a place in ROOMS"
    place = ORDER.index(room_of(module))
    assert not [name for name in ours(MODULES[module]) if ORDER.index(room_of(name)) > place]


def test_no_module_imports_itself_through_others():
    tuple(TopologicalSorter({name: ours(path) - {name} for name, path in MODULES.items()}).static_order())


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(TEACHERS)])
def test_the_teacher_knows_no_game_no_network_and_no_ppo(module):
    assert not [name for name in ours(MODULES[module]) if name.startswith(HIDDEN_FROM_TEACHER)]


@pytest.mark.parametrize("module", [name for name in MODULES if room_of(name) not in FACES])
def test_only_the_command_line_and_the_views_know_a_terminal(module):
    tree = ast.parse(MODULES[module].read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert not [node.lineno for node in calls if isinstance(node.func, ast.Name) and node.func.id == "print"]
    assert not [name for name in imported(MODULES[module]) if name.split(".")[0] in TERMINAL]


FILES = [
    path
    for path in (SRC / "maestro").rglob("*")
    if path.suffix in (".py", ".js", ".css", ".html", ".cu", ".cuh")
]
NAMED = {str(path.relative_to(SRC / "maestro")): path for path in sorted(FILES)}


@pytest.mark.parametrize("file", [name for name in NAMED if not name.startswith(GAMES_THEMSELVES)])
def test_nothing_but_a_game_itself_names_it_or_what_it_has(file):
    found = set(OF_GAMES.findall(NAMED[file].read_text().lower()))
    assert found <= ALLOWED.get(file, set())


def loaded_by(code: str) -> set[str]:
    """The top-level packages in memory after some code ran in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_does_not_load_jax():
    assert "jax" not in loaded_by("import maestro")


def test_help_does_not_load_jax():
    call_help = (
        "import sys\nfrom maestro.__main__ import main\nsys.argv = ['maestro', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
    )
    assert loaded_by(call_help).isdisjoint({"jax", "flax", "optax", "matplotlib", "imageio"})


@pytest.mark.parametrize("module", MODULES)
def test_wandb_is_imported_only_inside_the_function_that_needs_it(module):
    top = [node for node in ast.parse(MODULES[module].read_text()).body if isinstance(node, ast.Import)]
    assert not [alias for node in top for alias in node.names if alias.name == "wandb"]


@pytest.mark.parametrize("module", MODULES)
def test_no_module_mentions_pickle(module):
    assert "pickle" not in MODULES[module].read_text()
