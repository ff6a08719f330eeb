"""Starts controllers as forks of an interpreter that has imported everything and set no trap yet.

Run as a program this file is that interpreter: it reads orders from standard input and answers with
process ids. A fork is a process like any other, with arguments, environment and log of its own.
"""

import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TextIO

TELL_STACKS = signal.SIGUSR1
"""Has a fork write into its log what each of its threads is doing."""

DIRECTORY_VARIABLE = "CRASH_POINTS_DIRECTORY"
"""Names the directory of order and journal to a fork."""


@dataclass(frozen=True)
class Fork:
    """A running process that is no child of this one."""

    pid: int
    handle: int
    """File descriptor that gets readable once it has ended; -1: it had ended at once."""

    def has_ended(self, seconds: float = 0.0) -> bool:
        """Return whether it has ended, or does within a while."""
        if self.handle < 0:
            return True
        watched = select.poll()
        watched.register(self.handle, select.POLLIN)
        return bool(watched.poll(int(seconds * 1000)))

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is there."""
        if self.handle >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.handle, number)

    def close(self) -> None:
        """Let go of the handle; the process is left as it is."""
        if self.handle >= 0:
            os.close(self.handle)


class Forks:
    """The interpreter, as its user sees it; a context manager. Any thread may ask it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash_points.forks"],
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._process.communicate()

    def start(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], log: Path
    ) -> Fork:
        """Start `jobledger` with a trap whose order and journal are in `directory`."""
        order = {
            "arguments": list(arguments),
            "environment": {**environment, DIRECTORY_VARIABLE: str(directory)},
            "directory": str(directory),
            "log": str(log),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            pid = int(self._process.stdout.readline())
        try:
            return Fork(pid, os.pidfd_open(pid))
        except ProcessLookupError:
            return Fork(pid, -1)


def serve(orders: TextIO, answers: TextIO) -> None:
    """Fork for every order; no fork outlives this process."""
    from jobledger.adapters.cli import lazy_commands, main  # noqa: PLC0415  # the imports this is about
    from jobledger.adapters.postgres.schema import version  # noqa: PLC0415
    from tests.crash_points import trap  # noqa: PLC0415
    from tests.support.effectful_steps import knowing_effects  # noqa: PLC0415

    lazy_commands.load_all()
    version.head()  # the names of all migrations
    gc.collect()
    gc.freeze()  # so that the forks do not copy what they only look at
    forks: set[int] = set()
    with knowing_effects():
        for line in orders:
            _bury(forks)
            child = os.fork()
            if child == 0:
                _become(main, trap, json.loads(line))
            forks.add(child)
            answers.write(f"{child}\n")
            answers.flush()
    _bury(forks)
    for left in forks:
        os.kill(left, signal.SIGKILL)


def _bury(forks: set[int]) -> None:
    """Take note of the forks that have ended; who started them knows already."""
    while forks and (ended := os.waitpid(-1, os.WNOHANG)[0]):
        forks.discard(ended)


def _become(main: Any, trap: Any, order: Mapping[str, Any]) -> NoReturn:  # noqa: ANN401  # modules
    """Be the process that was ordered; never return."""
    code = 1
    try:
        os.setsid()
        os.chdir(order["directory"])
        os.environ.clear()
        os.environ.update(order["environment"])
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number in (1, 2):
            os.dup2(log, number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        faulthandler.register(TELL_STACKS, file=1)
        trap.set_up(Path(os.environ[DIRECTORY_VARIABLE]))
        sys.argv = ["jobledger", *order["arguments"]]
        main.main()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001  # what the interpreter itself would print at its end
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(sys.stdin, sys.stdout)
