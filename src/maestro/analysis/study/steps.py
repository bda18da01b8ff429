"""What comes after training: games, measurements and figures, each in a folder of its own, each made once.

made/ says what each was made of; if that is no longer so, it is made again.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from maestro.analysis.study.cohorts import Planned
from maestro.runs import agent_file
from maestro.runs.files import write_file
from maestro.runs.folder import RunFolder

MADE = "made"  # the folder that says so; whoever makes something holds its lock
Report = Callable[[str], None]  # what is being done


@dataclass(frozen=True)
class Step:
    """Something to be made of finished cohorts."""

    name: str
    folder: Path
    result: str  # the file that is there when it is done
    cohorts: tuple[Planned, ...]
    entry: Any  # what the file says of it
    make: Callable[["Step", Report], None] = field(hash=False)
    sources: tuple[Path, ...] = ()  # results of other steps that it needs
    along: bool = False  # whether it needs the students of earlier, too

    def inputs(self, out: Path) -> dict[str, Any]:
        """What decides the result."""
        students = {c.name: digests(RunFolder(out / "runs" / c.name), self.along) for c in self.cohorts}
        return {
            "entry": plain(self.entry),
            "students": students,
            "sources": [digest(p) for p in self.sources],
        }

    def record(self, out: Path) -> Path:
        """The file that says what it was made of."""
        return out / MADE / ("-".join(self.folder.relative_to(out).parts) + ".json")

    def is_done(self, out: Path) -> bool:
        """Whether the result is there, made of what there is now."""
        return (self.folder / self.result).exists() and known(self.record(out)) == self.inputs(out)

    def run(self, out: Path, report: Report) -> None:
        """Make the result; go on where an interrupted one stopped."""
        inputs, record = self.inputs(out), self.record(out)
        if self.folder.exists() and known(record) != inputs:
            shutil.rmtree(self.folder)
        for folder in (self.folder, record.parent):
            folder.mkdir(parents=True, exist_ok=True)
        write_file(record, json.dumps(inputs, indent=1).encode())
        self.make(self, report)


def known(record: Path) -> Any:
    """What a result was made of; None if that is not known."""
    try:
        return json.loads(record.read_bytes())
    except (OSError, ValueError):
        return None


def plain(entry: Any) -> Any:
    """An entry as JSON has it."""
    return json.loads(json.dumps(asdict(entry) if entry is not None else None))


def digests(folder: RunFolder, along: bool) -> dict[str, str]:
    """Of a cohort's students, by their cards."""
    cards = sorted(folder.agents.glob("student-*.json"))
    cards += sorted(folder.milestones.glob("*.json")) if along else []
    return {card.stem: str(agent_file.read_card(card).get("sha256", "")) for card in cards}


def digest(path: Path) -> str:
    """Of a file that a result is made of; nothing if it is not there yet."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
