"""What a user starts, as processes of their own: single commands, and the controller."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import urllib3

from tests.support.waiting import pause

COMMAND_SECONDS = 150.0
"""Limit of one command; most take one second."""

START_SECONDS = 120.0
"""Limit until a started controller serves HTTP and is ready."""

STOP_SECONDS = 90.0
"""Limit from SIGTERM to the end; the controller's own limits add up to less."""

HTTP_SECONDS = 30.0
LOG_SHOWN_CHARACTERS = 12_000
"""As much of the end of a controller's log is shown with a failure."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def everything(self) -> str:
        """Return both outputs."""
        return self.out + self.err


class Running(Protocol):
    """A process that was started, as `subprocess.Popen` is one."""

    @property
    def pid(self) -> int:
        """Its process id."""

    def poll(self) -> int | None:
        """Return its exit code; None while it runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it has ended."""

    def send_signal(self, number: signal.Signals, /) -> None:
        """Send it a signal, if it runs."""

    def kill(self) -> None:
        """End it with SIGKILL, if it runs."""


class Interpreter(Protocol):
    """Runs `jobledger` quicker than a new interpreter does, as processes all the same."""

    def run(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> Finished:
        """Run it with arguments to its end."""

    def start(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], log: Path
    ) -> Running:
        """Start it with arguments; both outputs are added to `log`."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """An environment to type commands in; nothing of the tests' own environment is handed on."""

    directory: Path
    environment: Mapping[str, str]
    interpreter: Interpreter | None = None
    """What runs and starts `jobledger`; None: a new interpreter each time."""

    def with_environment(self, **more: str) -> "Terminal":
        """Return a terminal in which more (or other) variables are set; empty ones are not.

        Python's own variables are read when an interpreter starts: with other ones a new one does.
        """
        merged = {name: value for name, value in {**self.environment, **more}.items() if value}
        anew = any(name.startswith("PYTHON") for name in more)
        interpreter = None if anew else self.interpreter
        return replace(self, environment=merged, interpreter=interpreter)

    def jobledger(self, *arguments: str, code: int | None = 0) -> Finished:
        """Run `jobledger`; fail unless it ends with `code` (None: whatever it ends with)."""
        if self.interpreter is None:
            return self.run([*jobledger_command(), *arguments], code=code)
        finished = self.interpreter.run(arguments, self.directory, self.environment)
        assert code is None or finished.code == code, f"{arguments} ended with {finished}"
        return finished

    def start(self, arguments: Sequence[str], log: Path) -> Running:
        """Start `jobledger`; both outputs are added to `log`."""
        if self.interpreter is not None:
            return self.interpreter.start(arguments, self.directory, self.environment, log)
        with log.open("ab") as file:
            return subprocess.Popen(
                [*jobledger_command(), *arguments],
                cwd=self.directory,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )

    def run(self, words: Sequence[str], *, code: int | None = 0) -> Finished:
        """Run a program to its end."""
        ended = subprocess.run(
            words,
            cwd=self.directory,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        finished = Finished(ended.returncode, ended.stdout, ended.stderr)
        assert code is None or finished.code == code, f"{words[-3:]} ended with {finished}"
        return finished


def jobledger_command() -> list[str]:
    """Return the words that stand for `jobledger`: the code under test, by this interpreter."""
    return [sys.executable, "-m", "jobledger.adapters.cli.main"]


def place_of_bytecode(own: Path) -> Path:
    """Return where processes keep their bytecode: where this one does (`make test`), or `own`."""
    return own if sys.pycache_prefix is None else Path(sys.pycache_prefix)


def plain_environment(home: Path, bytecode: Path) -> dict[str, str]:
    """Return what every process of a test gets.

    Python's bytecode is kept for the session, whatever the tests' own environment says: without
    it each start takes seconds.
    """
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "COLUMNS": "200",
        "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
        "PYTHONPYCACHEPREFIX": str(bytecode),
    }


@contextmanager
def killed_in_the_end(controller: "Controller") -> Iterator["Controller"]:
    """Let a controller be started by the body as it likes, and leave nothing running."""
    try:
        yield controller
    except BaseException as error:
        error.add_note(f"its log:\n{controller.log[-LOG_SHOWN_CHARACTERS:]}")
        raise
    finally:
        controller.kill()


class Controller:
    """`jobledger run` as a process; a context manager that leaves nothing running.

    If the body fails, the end of its log stands beside the failure.
    """

    def __init__(
        self,
        terminal: Terminal,
        replica: str = "controller",
        arguments: Sequence[str] = (),
        *,
        start_seconds: float = START_SECONDS,
    ) -> None:
        """Take where to run it, under which name, and what else stands on its command line."""
        self._start_seconds = start_seconds
        self._terminal = terminal
        self._replica = replica
        self._arguments = tuple(arguments)
        self._ready_file = terminal.directory / f"{replica}.ready"
        self._log_file = terminal.directory / f"{replica}.log"
        self._process: Running | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.kill()
        if error is not None:
            error.add_note(f"log of {self._replica}:\n{self.log[-LOG_SHOWN_CHARACTERS:]}")

    def start(self, *, until_ready: bool = True) -> None:
        """Start it; return when it serves HTTP, and is ready if that is asked for."""
        self._ready_file.unlink(missing_ok=True)
        words = ["run", *self._arguments, "--replica", self._replica, "--port", "0"]
        self._log_file.touch()
        ready = ("--ready-file", str(self._ready_file))
        self._process = self._terminal.start([*words, *ready], self._log_file)
        self._wait(lambda: self.url != "", "the controller serves HTTP")
        if until_ready:
            self._wait(self._is_ready, "the controller is ready")

    def _is_ready(self) -> bool:
        try:
            return self.get("/readyz")[0] == 200  # OK
        except urllib3.exceptions.HTTPError:
            return False  # if it has ended, `_wait` says so and shows its log

    def kill(self) -> None:
        """End it with SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def terminate(self) -> int:
        """Ask it to stop; return its exit code."""
        assert self._process is not None, "it was started"
        self._process.send_signal(signal.SIGTERM)
        code = self._process.wait(STOP_SECONDS)
        self._process = None
        return code

    @property
    def running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def has_died(self) -> bool:
        """Whether it has ended though nobody here ended it."""
        return self._process is not None and self._process.poll() is not None

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process is not None, "it was started"
        return self._process.pid

    @property
    def url(self) -> str:
        """The address it serves; empty before that."""
        try:
            return self._ready_file.read_text()
        except FileNotFoundError:
            return ""

    @property
    def log(self) -> str:
        """Everything it wrote, earlier runs included."""
        return self._log_file.read_text(errors="replace")

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of one of its pages.

        Each on a connection of its own: one that was kept may be closed by the other side, which
        finds it idle after a SIGCONT, just when the next request is on its way.
        """
        answer = urllib3.request(
            "GET",
            self.url + path,
            headers={"Connection": "close"},
            retries=False,
            timeout=HTTP_SECONDS,
            redirect=False,
        )
        return answer.status, answer.data.decode()

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric over all series with these labels."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        lines = [line for line in self.get("/metrics")[1].splitlines() if line.startswith(name)]
        found = [line for line in lines if line[len(name)] in "{ "]
        return sum(
            float(line.rsplit(" ", 1)[1]) for line in found if all(item in line for item in wanted)
        )

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        begun = time.monotonic()
        while not condition():
            waited = time.monotonic() - begun
            trouble = f"{self._start_seconds:.0f} s have passed"
            if self._process is not None and (code := self._process.poll()) is not None:
                trouble = f"it ended with {code}"
            if not self.running or waited >= self._start_seconds:
                log = self.log[-LOG_SHOWN_CHARACTERS:]
                raise AssertionError(f"{trouble} before {what}; log of {self._replica}:\n{log}")
            pause(waited)
