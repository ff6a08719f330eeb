"""Runs the demonstration's controller as a process of its own, so that it can be killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

STOP_SECONDS_MAX = 20.0
READY_FILE = "controller.url"


class ControllerProcess:
    """`jobledger run`, started as a user would."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self._directory = directory
        self._environment = {**os.environ, **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (directory / "controller.log").open("ab")

    @property
    def log_path(self) -> Path:
        """Return where its lines are."""
        return self._directory / "controller.log"

    @property
    def url(self) -> str:
        """Return where its pages are; empty while it serves none."""
        ready = self._directory / READY_FILE
        return ready.read_text(encoding="utf-8") if ready.exists() else ""

    def start(self) -> int:
        """Start it and return its process id."""
        ready = self._directory / READY_FILE
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "jobledger.adapters.cli.main", "run", "--port", "0"]
        self._process = subprocess.Popen(
            [*command, "--replica", "demo", "--ready-file", str(ready)],
            env=self._environment,
            stdout=self._log,
            stderr=self._log,
        )
        return self._process.pid

    def has_died(self) -> bool:
        """Return whether it ended without having been told to."""
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """End it with SIGKILL: it can do nothing about it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        """Ask it to end, and wait."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(STOP_SECONDS_MAX)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()
