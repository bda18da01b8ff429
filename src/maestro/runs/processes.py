"""Which process this is of a run of several: as it was typed, else as a scheduler says in the environment."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

PORT = 55527  # where none is named, under Kubernetes; the one that JAX takes
LAST_PORTS = 2**12  # SLURM: the job's number chooses one of these, as JAX does
HIGHEST_PORT = 2**16 - 1
ADDRESS = "JAX_COORDINATOR_ADDRESS"  # JAX's own; typed is typed
OPTIONS = ("--coordinator", "--process", "--processes")
SLURM = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID")  # of a step, not of a script


class ProcessError(ValueError):
    """Why processes cannot be one run."""


@dataclass(frozen=True)
class Member:
    """One process of several: its number, how many there are, and where process 0 listens."""

    number: int
    count: int
    host: str
    port: int

    @property
    def name(self) -> str:
        """`process 1 of 2`."""
        return f"process {self.number} of {self.count}"


def find(coordinator: str, process: str, processes: str, environment: Mapping[str, str]) -> Member | None:
    """This process by what was typed, and by the environment where nothing was; None if it is alone."""
    typed = {"coordinator": coordinator, "process": process, "processes": processes}
    if processes and whole("processes", processes) == 1 and not process.strip("0"):
        return None
    known = of_slurm(environment) or of_kubernetes(environment, processes)
    if not any(typed.values()) and not known:
        return None
    if environment.get(ADDRESS):
        known["coordinator"] = environment[ADDRESS]
    told = {name: value or known.get(name, "") for name, value in typed.items()}
    missing = [f"--{name}" for name, value in told.items() if not value]
    if missing:
        given = ", ".join(f"--{name}" for name, value in told.items() if value)
        raise ProcessError(f"{given}: needs {' and '.join(missing)} too")
    number, count = (whole(name, told[name]) for name in ("process", "processes"))
    return member(told["coordinator"], number, count)


def member(coordinator: str, number: int, count: int) -> Member:
    """A process of several, if there can be such a one."""
    if count < 1:
        raise ProcessError(f"--processes: {count} is not at least 1")
    if not 0 <= number < count:
        raise ProcessError(f"--process: {number} is not one of {count} processes, 0 to {count - 1}")
    host, colon, port = coordinator.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) <= HIGHEST_PORT:
        raise ProcessError(f"--coordinator: {coordinator!r} is not HOST:PORT, as in 10.0.0.1:{PORT}")
    return Member(number, count, host.strip("[]"), int(port))


def whole(option: str, text: str) -> int:
    """A number that was typed."""
    if not text.isdecimal():
        raise ProcessError(f"--{option}: {text!r} is not a whole number")
    return int(text)


def of_slurm(environment: Mapping[str, str]) -> dict[str, str]:
    """A step of several tasks (`srun`): the first node's name, and a port that the job's number chooses."""
    if any(not environment.get(name) for name in SLURM):
        return {}
    job, nodes, tasks, number = (environment[name] for name in SLURM)
    if not tasks.isdecimal() or not job.isdecimal() or int(tasks) < 2:
        return {}
    port = HIGHEST_PORT + 1 - LAST_PORTS + int(job) % LAST_PORTS
    return {"coordinator": f"{first_node(nodes)}:{port}", "process": number, "processes": tasks}


def first_node(nodes: str) -> str:
    """`a007` of `a[007-015,020],b1`; `a1` of `a1,b1`."""
    name, bracket, rest = nodes.partition("[")
    if not bracket or "," in name:
        return name.partition(",")[0]
    return name + rest.replace("-", ",").replace("]", ",").partition(",")[0]


def of_kubernetes(environment: Mapping[str, str], processes: str) -> dict[str, str]:
    """A pod of an indexed Job that was told how many there are: JOB-0 of the same subdomain is the first."""
    number, own = environment.get("JOB_COMPLETION_INDEX", ""), environment.get("HOSTNAME", "")
    if not processes or not number:
        return {}
    job, ending = own.removesuffix(f"-{number}"), f"-{number}"
    if not own.endswith(ending):
        return {"process": number}
    domain = socket.getfqdn(own).partition(".")[2]
    first = ".".join(filter(None, [f"{job}-0", domain]))
    return {"coordinator": f"{first}:{PORT}", "process": number}
