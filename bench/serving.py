"""`jobledger serve` on a database of the run."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from bench.throwaway import open_directory
from tests.support.processes import jobledger_command, plain_environment

START_SECONDS = 60.0


@contextmanager
def serving(database_url: str) -> Iterator[tuple[str, int]]:
    """Run it as a user does; yield its address and its process."""
    with open_directory() as directory:
        ready = directory / "ready"
        words = [*jobledger_command(), "serve", "--port", "0", "--ready-file", str(ready)]
        environment = plain_environment(directory, directory / "bytecode")
        environment["DATABASE_URL"] = database_url
        with subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL) as process:
            try:
                until = time.monotonic() + START_SECONDS
                while not (ready.exists() and ready.read_text()):
                    assert process.poll() is None, "it serves until it is told to end"
                    assert time.monotonic() < until, "it begins in time"
                    time.sleep(0.05)
                yield ready.read_text(), process.pid
            finally:
                process.terminate()
