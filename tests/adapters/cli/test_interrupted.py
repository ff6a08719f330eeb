"""Ctrl-C and SIGTERM at any instant: a command ends as shells know it, and leaves nothing."""

import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
ENDED_SECONDS = 120.0
INTERRUPTED_AT_THE_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # nohup has it ignored

class Interrupting:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
sys.argv = ["jobledger", "verify", "--data-dir", "/nonexistent"]
from jobledger.adapters.cli.program import program
program()
"""


ENDED_WHILE_IT_WRITES = """
import os, signal, sys, types
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from jobledger.adapters.cli import lazy_commands
from jobledger.adapters.cli.main import main
from jobledger.adapters.files.written_once import in_place_of

def command() -> None:
    with in_place_of(Path({file!r})) as fresh:
        fresh.write_text("half of")
        os.kill(os.getpid(), {number})
        signal.pause()

sys.modules["stand_in"] = types.ModuleType("stand_in")
sys.modules["stand_in"].command = command
lazy_commands.COMMANDS["export"] = ("stand_in", "command")
sys.argv = ["jobledger", "export"]
main()
"""


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("typer", -signal.SIGINT),
        ("jobledger.adapters.cli.output", -signal.SIGINT),
        ("jobledger.adapters.cli.ledger.verify", 128 + signal.SIGINT),
    ],
)
def test_no_line_of_a_library_is_told(module: str, code: int) -> None:
    program = [sys.executable, "-c", INTERRUPTED_AT_THE_IMPORT.format(module=module)]
    ended = subprocess.run(program, capture_output=True, timeout=ENDED_SECONDS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr.strip()) == (code, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_end_leaves_no_half_of_a_file(
    number: signal.Signals, tmp_path: Path
) -> None:
    text = ENDED_WHILE_IT_WRITES.format(file=str(tmp_path / "job.bundle"), number=int(number))
    program = [sys.executable, "-c", text]
    ended = subprocess.run(program, capture_output=True, timeout=ENDED_SECONDS, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, b"", b"")
    assert list(tmp_path.iterdir()) == []


def test_the_program_of_a_wheel_is_the_one_that_is_tested() -> None:
    scripts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["scripts"]
    assert scripts == {"jobledger": "jobledger.adapters.cli.program:program"}
