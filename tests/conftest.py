"""How the tests run: shapes are checked, ranks never promote, on the CPU, one thread per process."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from quick import flags

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_FLAGS", flags())
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MAESTRO_REPORT", "no")  # of every run: they take as long as the runs
# Compiled programs are kept in the user's cache, the small ones too: most of the time goes into compiling.
os.environ.setdefault("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{os.environ['XDG_CACHE_HOME']}/maestro/tests")

import jax
import pytest
from _pytest import runner
from jaxtyping import install_import_hook

from tracing import roomy, roomy_threads, spare

install_import_hook("maestro", "beartype.beartype")

# A shell starts background jobs with SIGINT ignored, nohup with SIGHUP: processes under test must hear both.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

# Two processes share the files; the longest come first, so that neither waits for the other at the end.
LONGEST = (
    *("methods", "processes", "train", "docs", "contract", "resume", "wiring_books", "faults"),
    *("normalizer", "report", "probes", "study_workers", "versions", "wiring", "racing_frames"),
    *("cli_study", "figures", "sharding", "trying", "theory_loop", "exploiter_runs", "beginning"),
    *("exploiters", "games", "from", "landscape", "accel", "memories", "rollout", "racing_view"),
    *("racing_levels", "fuzz", "best_response", "level_buffer", "milestones", "ready_agents"),
    *("trainer", "wiring_keys", "gym", "web_policy", "racing_collision", "resampling", "regret"),
    *("web_rules", "conv_beta", "true_regret", "racing_properties", "cli", "evaluation", "report_page"),
    *("cli_landscape", "chance", "cli_train", "cli_crossplay", "build", "study", "cli_report"),
    *("checkpoint", "views", "observations", "cross_play", "racing_track", "estimates", "digests"),
)

# Linux lets a process have 65,530 pieces of memory. Compiled programs take several; one too many crashes it.
MAPS, MOST_MAPS = Path("/proc/self/maps"), 25_000


@pytest.fixture(autouse=True, scope="module")
def room() -> Iterator[None]:
    """After a file, let go of compiled programs if there are many."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
        gc.collect()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """As always, with room."""
    return roomy(runner.pytest_runtest_protocol, item, nextitem)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files in the order in which they should start."""
    place = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


def pytest_collection_finish() -> None:
    """All modules are loaded."""
    spare()
    roomy_threads()
