"""Runs commands in forks of an interpreter that has imported everything once.

Each command is a process with its own arguments, environment, directory and outputs, as when it is
typed; only the second that the imports take is saved. Run as a program this file is that
interpreter: it reads orders from standard input and answers with exit codes.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TextIO

from tests.support.processes import COMMAND_SECONDS, Finished

_KILLED = 137
"""What an interpreter is taken to have ended with that did not answer."""


class PreparedInterpreter:
    """The interpreter, as its user sees it; a context manager. One command at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
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
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory() as outputs:
            out, err = Path(outputs, "out"), Path(outputs, "err")
            order = {
                "arguments": list(arguments),
                "environment": dict(environment),
                "directory": str(directory),
                "out": str(out),
                "err": str(err),
            }
            limit = threading.Timer(COMMAND_SECONDS, self._process.kill)
            limit.start()
            try:
                self._process.stdin.write(json.dumps(order) + "\n")
                self._process.stdin.flush()
                code = int(self._process.stdout.readline() or _KILLED)
            finally:
                limit.cancel()
                limit.join()
            return Finished(code, _text_of(out), _text_of(err))


def _text_of(file: Path) -> str:
    return file.read_text(errors="replace") if file.exists() else ""


def serve(orders: TextIO, answers: TextIO) -> None:
    """Carry out orders until there are none: fork, run, answer with the exit code."""
    from jobledger.adapters.cli import lazy_commands, main  # noqa: PLC0415  # the imports this is about

    lazy_commands.load_all()
    for line in orders:
        child = os.fork()
        if child == 0:
            _become(main, json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


def _become(main: Any, order: Mapping[str, Any]) -> NoReturn:  # noqa: ANN401  # a module
    """Be the process of one command; never return."""
    code = 1
    try:
        os.chdir(order["directory"])
        os.environ.clear()
        os.environ.update(order["environment"])
        for number, name in ((1, "out"), (2, "err")):
            file = os.open(order[name], os.O_WRONLY | os.O_CREAT)
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
