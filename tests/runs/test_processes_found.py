"""Which process of a run this is: as typed, as SLURM says, as Kubernetes says."""

import socket

import pytest

from maestro.cli import company, resume, train
from maestro.cli.arguments import Mistake
from maestro.runs import processes
from maestro.runs.processes import Member, ProcessError

STEP = {"SLURM_JOB_ID": "4097", "SLURM_STEP_NODELIST": "gpu[007-015,020],big1"}
STEP |= {"SLURM_NTASKS": "4", "SLURM_PROCID": "2"}
POD = {"JOB_COMPLETION_INDEX": "3", "HOSTNAME": "maestro-3"}


def test_a_process_is_alone_if_nothing_says_otherwise():
    assert processes.find("", "", "", {}) is None
    assert processes.find("", "", "1", STEP) is None and processes.find("here:1", "0", "1", {}) is None
    script = {name: value for name, value in STEP.items() if name != "SLURM_STEP_NODELIST"}
    assert processes.find("", "", "", script) is None  # a batch script is not a step
    assert processes.find("", "", "", STEP | {"SLURM_NTASKS": "1", "SLURM_PROCID": "0"}) is None
    assert processes.find("", "", "", POD) is None  # each pod of an array of jobs is a run of its own
    assert processes.find("", "", "", {"JAX_COORDINATOR_ADDRESS": "here:7"}) is None


def test_what_was_typed_is_taken():
    assert processes.find("10.0.0.1:7", "1", "2", {}) == Member(1, 2, "10.0.0.1", 7)
    assert processes.find("[::1]:7", "1", "2", {}) == Member(1, 2, "::1", 7)


def test_slurm_says_it_all_and_what_was_typed_wins():
    assert processes.find("", "", "", STEP) == Member(2, 4, "gpu007", 61441)
    assert processes.find("other:9", "", "", STEP) == Member(2, 4, "other", 9)
    assert processes.find("", "1", "3", STEP) == Member(1, 3, "gpu007", 61441)
    told = STEP | {"JAX_COORDINATOR_ADDRESS": "here:7"}
    assert processes.find("", "", "", told) == Member(2, 4, "here", 7)


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a1", "a1"),
        ("a1,b1", "a1"),
        ("a[1-3]", "a1"),
        ("a[04,7-9],b", "a04"),
        ("b,a[1-3]", "b"),
        ("a[5]", "a5"),
    ],
)
def test_the_first_node_of_a_list(nodes, first):
    assert processes.first_node(nodes) == first


def test_a_pod_of_an_indexed_job_needs_only_the_number_of_processes(monkeypatch):
    monkeypatch.setattr(socket, "getfqdn", lambda name: f"{name}.pods.default.svc.cluster.local")
    first = "maestro-0.pods.default.svc.cluster.local"
    assert processes.find("", "", "4", POD) == Member(3, 4, first, processes.PORT)
    assert processes.find("there:5", "", "4", POD | {"HOSTNAME": "odd"}) == Member(3, 4, "there", 5)


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("here:7", "2", "2"), "--process: 2 is not one of 2 processes, 0 to 1"),
        (("here:7", "-1", "2"), "--process: '-1' is not a whole number"),
        (("here:7", "0", "two"), "--processes: 'two' is not a whole number"),
        (("here:7", "0", "0"), "--processes: 0 is not at least 1"),
        (("here", "0", "2"), "--coordinator: 'here' is not HOST:PORT"),
        ((":7", "0", "2"), "--coordinator: ':7' is not HOST:PORT"),
        (("here:0", "0", "2"), "'here:0' is not HOST:PORT"),
        (("here:65536", "0", "2"), "'here:65536' is not HOST:PORT"),
        (("", "0", "2"), "--process, --processes: needs --coordinator too"),
        (("here:7", "", ""), "--coordinator: needs --process and --processes too"),
    ],
)
def test_what_cannot_be_is_refused(typed, told):
    with pytest.raises(ProcessError) as error:
        processes.find(*typed, {})
    assert told in str(error.value) and "\n" not in str(error.value)


def test_only_what_may_differ_between_processes_is_not_compared():
    words = [
        "race",
        "--process=1",
        "--seeds",
        "2",
        "--out",
        "here",
        "--processes",
        "2",
        "--coordinator",
        "a:1",
    ]
    assert company.alike(words) == ["race", "--seeds", "2"]
    assert company.value_of("--process", words) == "1" and company.value_of("--out", words) == "here"
    assert company.value_of("--mesh", words) == ""


class Asked(Exception):
    """Others were looked for."""


def ask(words):
    raise Asked


SAID = {
    "nothing": ([], {}, Mistake),
    "typed": (["--process", "0"], {}, Asked),
    "typed in one word": (["--processes=2"], {}, Asked),
    "a step": ([], STEP, Asked),
    "a pod": ([], POD, Mistake),
}


@pytest.mark.parametrize("command", [train, resume], ids=["train", "resume"])
@pytest.mark.parametrize("name", SAID)
def test_others_are_looked_for_only_if_something_says_that_there_are_some(monkeypatch, command, name):
    words, environment, end = SAID[name]
    monkeypatch.setattr(company, "joined", ask)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(end):
        command.main(["nothing:of_that_name", *words])
