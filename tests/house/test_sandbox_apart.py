"""What controls a cluster never loads the sandbox, which is for trying and for tests."""

import subprocess
import sys

LOADED = "import sys, {}; print(*(name for name in sys.modules if '.sandbox' in name))"
CONTROLLING = "jobledger.adapters.wiring, jobledger.adapters.cli.running.run"
TRYING = "jobledger.sandbox.wiring"


def loaded_by(modules: str) -> str:
    command = [sys.executable, "-c", LOADED.format(modules)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_service_loads_nothing_of_the_sandbox() -> None:
    assert not loaded_by(CONTROLLING)


def test_the_question_finds_what_is_loaded() -> None:
    assert "jobledger.sandbox.api_server" in loaded_by(TRYING)
