"""What may import what: the layers of the package, and what stays out of it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src"

# A module imports only what stands before it. A new module gets its line here.
LAYERS = [
    "maestro",
    "maestro.config",
    "maestro.limits",
    "maestro.toml",
    "maestro.settings",
    "maestro.envs.base",
    "maestro.envs.contract.trial",
    "maestro.envs.contract.clauses",
    "maestro.envs.contract",
    "maestro.envs",
    "maestro.envs.lasertag",
    "maestro.envs.lasertag.levels",
    "maestro.envs.lasertag.text",
    "maestro.envs.lasertag.maps",
    "maestro.envs.lasertag.bolts",
    "maestro.envs.lasertag.game",
    "maestro.envs.lasertag.poses",
    "maestro.envs.lasertag.players",
    "maestro.envs.lasertag.draw",
    "maestro.envs.interop",
    "maestro.duel",
    "maestro.agents",
    "maestro.agents.distributions",
    "maestro.agents.base",
    "maestro.agents.lstm",
    "maestro.agents.lasertag",
    "maestro.rollout",
    "maestro.regret",
    "maestro.ppo",
    "maestro.level_buffer",
    "maestro.population",
    "maestro.curriculum",
    "maestro.methods",
    "maestro.measure",
    "maestro.train",
    "maestro.evaluate",
    "maestro.video",
    "maestro.experiment",
    "maestro.files",
    "maestro.shelf",
    "maestro.lock",
    "maestro.checkpoint",
    "maestro.export",
    "maestro.runs",
    "maestro.progress",
    "maestro.signals",
    "maestro.logbook",
    "maestro.keeper",
    "maestro.driver",
    "maestro.finish",
    "maestro.cli.arguments",
    "maestro.cli.levels",
    "maestro.cli.duel",
    "maestro.cli.conduct",
    "maestro.cli.train",
    "maestro.cli.resume",
    "maestro.cli.runs",
    "maestro.cli.export",
    "maestro.cli",
    "maestro.__main__",
]

# The teacher sees parameters, levels and scores, so that it serves any game and any learner.
TEACHER = ("maestro.level_buffer", "maestro.population", "maestro.curriculum")
HIDDEN_FROM_TEACHER = ("maestro.envs", "maestro.agents", "maestro.rollout", "maestro.ppo")


def module_name(path: Path) -> str:
    """The dotted name of a file of the package."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in sorted(SRC.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """The modules of the package that a file imports, inside functions too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else str(node.module) for name in names}
    return {name for name in found if name.split(".")[0] == "maestro"}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_what_stands_before_it(module):
    assert module in LAYERS, f"give {module} its place in LAYERS"
    before = LAYERS[: LAYERS.index(module)]
    assert imported(MODULES[module]) <= set(before)


@pytest.mark.parametrize("module", [name for name in TEACHER if name in MODULES])
def test_the_teacher_knows_no_game_no_network_and_no_ppo(module):
    assert not [name for name in imported(MODULES[module]) if name.startswith(HIDDEN_FROM_TEACHER)]


def loaded_by(code: str) -> set[str]:
    """The top-level packages in memory after some code ran in a fresh interpreter."""
    report = f"{code}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}}, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_importing_the_package_does_not_load_jax():
    assert "jax" not in loaded_by("import maestro")


def test_help_does_not_load_jax():
    call_help = (
        "import sys\nfrom maestro.cli import main\nsys.argv = ['maestro', '--help']\n"
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
