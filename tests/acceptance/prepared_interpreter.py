"""Runs commands and controllers in forks of an interpreter that has imported everything once.

Each is a process with its own arguments, environment, directory and outputs, as when it is typed;
only the two seconds of CPU that the imports take are saved. Run as a program this file is that
interpreter: it reads orders from standard input and answers with process ids and exit codes.
"""

import gc
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TextIO

from tests.support.processes import COMMAND_SECONDS, Finished

_KILLED = 137
"""The exit code of a command that took too long and was killed."""


class PreparedInterpreter:
    """The interpreter, as its user sees it; a context manager. Any thread may ask it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._one_at_a_time = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.acceptance.prepared_interpreter"],
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

    def run(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> Finished:
        """Run `jobledger` with these arguments to its end."""
        with tempfile.TemporaryDirectory() as outputs:
            out, err = Path(outputs, "out"), Path(outputs, "err")
            fork = self._start(arguments, directory, environment, out, err)
            try:
                code = fork.wait(COMMAND_SECONDS)
            except subprocess.TimeoutExpired:
                fork.kill()
                fork.wait()
                code = _KILLED
            return Finished(code, _text_of(out), _text_of(err))

    def start(
        self, arguments: Sequence[str], directory: Path, environment: Mapping[str, str], log: Path
    ) -> "Fork":
        """Start `jobledger` with these arguments; both its outputs are added to `log`."""
        return self._start(arguments, directory, environment, log, log)

    def _start(
        self,
        arguments: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        out: Path,
        err: Path,
    ) -> "Fork":
        order = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "directory": str(directory),
            "out": str(out),
            "err": str(err),
        }
        pid = self._ask(order)
        return Fork(pid, os.pidfd_open(pid), lambda: self._ask({"code": pid}))

    def _ask(self, order: Mapping[str, object]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._one_at_a_time:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


@dataclass
class Fork:
    """A running process that is a child of the interpreter; used as `subprocess.Popen` is."""

    pid: int
    handle: int
    """File descriptor that gets readable once it has ended."""
    ask_for_code: Callable[[], int]
    """Fetches the exit code, once; until then nobody else gets the process id."""
    code: int | None = None
    _one_fetches: threading.Lock = field(default_factory=threading.Lock)

    def poll(self) -> int | None:
        """Return its exit code, negative the signal that killed it; None while it runs."""
        return self._fetched() if self._has_ended(0) else None

    def wait(self, timeout: float | None = None) -> int:
        """Return its exit code once it has ended.

        Raises:
            subprocess.TimeoutExpired: it runs on after so many seconds.
        """
        if not self._has_ended(timeout):
            assert timeout is not None
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._fetched()

    def send_signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it is there."""
        if self.poll() is None:
            signal.pidfd_send_signal(self.handle, number)

    def kill(self) -> None:
        """End it with SIGKILL, if it runs."""
        self.send_signal(signal.SIGKILL)

    def _has_ended(self, seconds: float | None) -> bool:
        if self.code is not None:
            return True
        watched = select.poll()
        watched.register(self.handle, select.POLLIN)
        return bool(watched.poll(None if seconds is None else seconds * 1000))

    def _fetched(self) -> int:
        with self._one_fetches:
            if self.code is None:
                self.code = self.ask_for_code()
                os.close(self.handle)
            return self.code


def _text_of(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def serve(orders: TextIO, answers: TextIO) -> None:
    """Carry out orders until there are none; no fork outlives this process."""
    from jobledger.adapters.cli import lazy_commands, main  # noqa: PLC0415  # the imports this is about
    from jobledger.adapters.postgres.schema import version  # noqa: PLC0415

    lazy_commands.load_all()
    import_module("typer.rich_utils")  # which `--help` would load
    import_module("alembic.command")  # which `db upgrade` would
    version.head()  # the names of all migrations
    gc.collect()
    gc.freeze()  # so that the forks do not copy what they only look at
    forks: set[int] = set()
    for line in orders:
        order = json.loads(line)
        if "code" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["code"], 0)[1])
            forks.discard(order["code"])
        else:
            answer = os.fork()
            if answer == 0:
                _become(main, order)
            forks.add(answer)
        answers.write(f"{answer}\n")
        answers.flush()
    for left in forks:
        os.kill(left, signal.SIGKILL)


def _become(main: Any, order: Mapping[str, Any]) -> NoReturn:  # noqa: ANN401  # a module
    """Be the process that was ordered; never return."""
    code = 1
    try:
        os.chdir(order["directory"])
        os.environ.clear()
        os.environ.update(order["environment"])
        for number, name in ((1, "out"), (2, "err")):
            file = os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(file, number)
            os.close(file)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
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
