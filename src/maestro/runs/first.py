"""Process 0 of a run of several: it decides, gives orders, and is the one that others are heard through."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from maestro.runs import crew, relay
from maestro.runs.line import Line, Lost
from maestro.runs.processes import Member, ProcessError


class First:
    """Process 0: it listens where all know, gives orders, and hears what the others are asked."""

    first = True

    def __init__(self, member: Member, words: list[str], tell: crew.Tell) -> None:
        self.member, self.words, self.tell = member, words, tell
        self.lines: dict[int, Line] = {}
        self.left: set[int] = set()
        self.complete, self.ending = threading.Event(), False
        self.gone: str | None = None
        self.lost = threading.Event()
        self.calm = 0.0  # seconds before this thread's own end, once `gone` is looked at by someone
        self.asked: Callable[[int], None] = self.note
        self.early: int | None = None  # a signal that came before anyone asked for it
        self.service = relay.free_port()
        self.joining = threading.Lock()
        try:
            self.server = listening(member.port)
        except OSError as error:
            told = f"process 0 cannot listen at port {member.port}: {error.strerror or error}"
            raise ProcessError(f"--coordinator: {told}") from None
        threading.Thread(target=self.accept, daemon=True).start()

    def start(self) -> None:
        """Wait for all, then start JAX's runtime."""
        if self.member.count > 1 and not self.complete.wait(crew.WAIT):
            there = {0, *self.lines}
            missing = ", ".join(str(n) for n in range(self.member.count) if n not in there)
            told = f"process {missing} of {self.member.count} did not come within {crew.WAIT:.0f} seconds"
            raise ProcessError(f"--processes: {told}")
        self.order("start")
        here = f"{relay.HERE}:{self.service}"
        crew.start_jax(self.member, here, here)

    def accept(self) -> None:
        """Let processes in, until nobody listens any more."""
        while True:
            try:
                connection, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self.greet, args=(connection,), daemon=True).start()

    def greet(self, connection: socket.socket) -> None:
        """Whoever connects is another process of this run, or JAX in one of them."""
        line = Line(connection)
        try:
            hello = line.hear_alone()
        except Lost:
            return line.close()
        if hello.get("relay") is True:
            with suppress(OSError):
                relay.join(relay.reach(self.service), connection)
            return None
        with self.joining:
            problem = self.problem(hello)
            line.send(welcome=not problem, problem=problem)
            if problem:
                return line.close()
            self.lines[hello["number"]] = line
            if len(self.lines) == self.member.count - 1:
                self.complete.set()
        line.live()
        return self.listen(hello["number"], str(hello.get("host", "")), line)

    def problem(self, hello: dict[str, Any]) -> str:
        """Why a process is none of this run."""
        number, count = hello.get("number"), hello.get("count")
        if count != self.member.count:
            return f"--processes: {count} here, and {self.member.count} in process 0"
        if type(number) is not int or not 0 < number < self.member.count or number in self.lines:
            return f"--process: there is a process {number} already"
        if hello.get("made") != crew.versions():
            return f"process 0 is {crew.versions()}, and this is {hello.get('made')}"
        if hello.get("words") != self.words:
            return f"process 0 was started with other arguments: {' '.join(self.words)}"
        return ""

    def listen(self, number: int, host: str, line: Line) -> None:
        """Hear one of the others to its end."""
        try:
            for message in line.messages():
                if type(message.get("signal")) is int:
                    self.asked(message["signal"])
                if "ended" in message:
                    raise Lost(f"ended: {message['ended']}")
        except Lost as lost:
            self.left.add(number)
            if not self.ending:
                self.lose(f"process {number} of {self.member.count} (on {host}) {lost}")

    def lose(self, text: str) -> None:
        """One is gone: whoever looks may bring things in order, for so long; then it is over."""
        if self.gone is None:
            self.gone = text
            self.lost.set()
            time.sleep(self.calm)
            self.end(1, text)
            crew.last_words(self.tell, 1, f"{text}; {crew.STANDS}")

    def note(self, number: int) -> None:
        """A signal that came to another process before this one could do anything about it."""
        self.early = number

    def attend(self, ask: Callable[[int], None]) -> None:
        """From here on signals of others are passed on, and someone looks who is gone."""
        self.asked, self.calm = ask, crew.CALM
        if self.early is not None:
            ask(self.early)

    def check(self) -> None:
        """Raise `Gone` if one of the others is."""
        if self.gone is not None:
            raise crew.Gone(self.gone)

    def order(self, do: str, **details: Any) -> None:
        """Tell all others what to do next."""
        for line in list(self.lines.values()):
            line.send(do=do, **details)

    def end(self, code: int, text: str = "") -> None:
        """Let all others end with this exit code and a word to whoever watches them."""
        self.ending, until = True, time.monotonic() + crew.LEAVING
        for line in list(self.lines.values()):
            line.send(end=code, text=text)
        while len(self.left) < len(self.lines) and time.monotonic() < until:
            time.sleep(0.01)

    def close(self) -> None:
        """Hang up, without a word."""
        self.ending = True
        with suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)  # wakes who waits for connections
        self.server.close()
        for line in self.lines.values():
            line.close()


def listening(port: int) -> socket.socket:
    """A server on all addresses of this machine."""
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    return socket.create_server(("", port), family=family, dualstack_ipv6=both)
