"""What controls a cluster never loads the sandbox, which is for trying and for tests."""

import subprocess
import sys

import pytest

LOADED = "import sys, {}; print(*(name for name in sys.modules if '.sandbox' in name))"
CONTROLLING = ["jobledger.adapters.wiring", "jobledger.adapters.cli.running.run"]
TRYING = ["jobledger.sandbox.wiring"]


def loaded_by(module: str) -> str:
    command = [sys.executable, "-c", LOADED.format(module)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("module", CONTROLLING)
def test_the_service_loads_nothing_of_the_sandbox(module: str) -> None:
    assert not loaded_by(module)


@pytest.mark.parametrize("module", TRYING)
def test_the_question_finds_what_is_loaded(module: str) -> None:
    assert "jobledger.sandbox.api_server" in loaded_by(module)
