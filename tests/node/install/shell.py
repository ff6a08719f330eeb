"""The shell into which somebody types the page's commands: its variables stay."""

import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.waiting import wait_until

COMMAND_SECONDS = 1200.0
"""Limit of one command; the page's own limits are shorter."""
SETS = re.compile(r"^([A-Z]+)=")


class CommandFailed(AssertionError):
    """A command ended with another code than 0, or not in time; the message has what it said."""


@dataclass(slots=True)
class Shell:
    """A shell in a folder."""

    environment: dict[str, str]
    """In addition to that of this process; variables that commands set are put there."""
    folder: Path
    """A checkout."""
    said: list[str] = field(default_factory=list)
    """What commands printed, in their order."""

    def run(self, command: str, meanwhile: Callable[[], None] = lambda: None) -> str:
        """Run a command and return what it printed.

        Args:
            command: may be several, joined by pipes.
            meanwhile: is called once it has begun.

        Raises:
            CommandFailed: it ended with another code than 0, or not in time.
        """
        variable = SETS.match(command)
        script = f'{command} && echo "${variable[1]}"' if variable else command
        process = subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", script],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            meanwhile()
            out, err = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired as problem:
            raise CommandFailed(f"$ {command}\nhas not ended") from problem
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise CommandFailed(f"$ {command}\n{out}{err}\nended with {process.returncode}")
        if variable:
            self.environment[variable[1]] = out.strip()
        self.said.append(out)
        return out

    def run_until(self, command: str, condition: Callable[[str], bool], what: str) -> str:
        """Run a command again and again until what it prints will do; return that.

        Raises:
            AssertionError: it does not in time.
        """
        last = ""

        def will_do() -> bool:
            nonlocal last
            last = self.run(command)
            return condition(last)

        wait_until(will_do, what, COMMAND_SECONDS)
        return last
