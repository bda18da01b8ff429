"""A process of a run of several that is not the first: it takes orders, and ends when the first does."""

import queue
import socket
import threading
import time
from typing import Any

from maestro.runs import crew, relay
from maestro.runs.line import Line, Lost
from maestro.runs.processes import Member, ProcessError


class Other:
    """A process that follows the first."""

    first = False

    def __init__(self, member: Member, words: list[str], tell: crew.Tell) -> None:
        self.member, self.tell = member, tell
        self.orders: queue.Queue[dict[str, Any]] = queue.Queue()
        self.line = Line(self.reach())
        who = {"number": member.number, "count": member.count, "host": socket.gethostname()}
        self.line.send(**who, words=words, made=crew.versions())
        problem = self.refused()
        if problem:
            self.line.close()
            raise ProcessError(problem)
        self.line.live()
        threading.Thread(target=self.listen, daemon=True).start()

    @property
    def where(self) -> str:
        """Where the first listens."""
        return f"{self.member.host}:{self.member.port}"

    def refused(self) -> str:
        """Why this process is none of the run, as the first says."""
        try:
            answer = self.line.hear()
        except Lost as lost:
            return f"--coordinator: who listens at {self.where} {lost}"
        unknown = f"--coordinator: {self.where} is no process 0 of a run"
        return "" if answer.get("welcome") is True else str(answer.get("problem") or unknown)

    def start(self) -> None:
        """Start JAX's runtime once all are there."""
        while self.orders.get().get("do") != "start":
            pass
        crew.start_jax(self.member, f"{relay.HERE}:{relay.listen(self.connect)}")

    def reach(self) -> socket.socket:
        """A connection to the first process, which may not have begun yet."""
        end = time.monotonic() + crew.WAIT
        while True:
            try:
                return socket.create_connection((self.member.host, self.member.port), max(1.0, crew.WAIT))
            except OSError as error:
                if time.monotonic() > end:
                    told = f"{self.where} did not answer within {crew.WAIT:.0f} seconds"
                    raise ProcessError(f"--coordinator: {told} ({error.strerror or error})") from None
                time.sleep(crew.AGAIN)

    def connect(self) -> socket.socket:
        """A connection for JAX to the service of the first process."""
        connection = socket.create_connection((self.member.host, self.member.port), crew.WAIT)
        Line(connection).send(relay=True)
        return connection

    def listen(self) -> None:
        """Take orders; the end of the first, in good order or not, is the end of this one."""
        first = f"process 0 of {self.member.count} (at {self.where})"
        try:
            for message in self.line.messages():
                if "end" in message:
                    code, text = int(message["end"]), str(message.get("text", ""))
                    crew.last_words(self.tell, code, text and f"{self.member.name} ends: {text}")
                self.orders.put(message)
        except Lost as lost:
            crew.last_words(self.tell, 1, f"{first} {lost}, hence {self.member.name} ends; {crew.STANDS}")

    def asked(self, number: int) -> None:
        """Pass on a signal that asks for a stop."""
        self.line.send(signal=number)

    def end(self, code: int, text: str = "") -> None:
        """Say why this process ends, with whatever exit code."""
        self.line.send(ended=text)
        self.line.close()
