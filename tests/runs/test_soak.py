"""What must stay the same however long a run is: memory, open files, compiled programs."""

import gc
import os
from pathlib import Path

import pytest

from maestro.runs import trainer
from runs_helpers import QuickTrainer, micro, new_folder, quick_games

UPDATES = 20_000
PAGE = os.sysconf("SC_PAGE_SIZE")


def resident():
    """Bytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


def open_files():
    return len(list(Path("/proc/self/fd").iterdir()))


class Watched(QuickTrainer):
    """Notes memory and open files every now and then."""

    noted: list = []

    def pause(self):
        super().pause()
        if self.updates // 1000 > len(self.noted):
            self.checkpointer.finish()
            self.noted.append((self.updates, resident(), open_files()))


@pytest.mark.long
def test_memory_files_and_programs_stay_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(trainer, "CHECKPOINT_SECONDS", 0.5)
    config = micro("maestro", {"total_updates": UPDATES, "interval": 2000}, evaluation={"times": 20})
    watched = Watched(new_folder(tmp_path / "run", config), config)
    watched.noted = []
    watched.run()
    warm, end = watched.noted[2], watched.noted[-1]  # by then all has happened once
    growth = end[1] / warm[1] - 1
    with capsys.disabled():
        memory = f"{warm[1] / 1e6:.1f} to {end[1] / 1e6:.1f} MB ({growth:+.2%})"
        print(f"\n{warm[0]} to {end[0]} updates: {memory}, {end[2]} open files")
    assert growth < 0.01
    assert len({files for _, _, files in watched.noted}) == 1
    assert quick_games(config)[0]._cache_size() == 1
    assert end[0] >= UPDATES - 1000
