"""`jobledger sandbox` in folders of any name: what it prints can be typed as it stands."""

import subprocess
from pathlib import Path

import pytest

from tests.support.processes import COMMAND_SECONDS, Terminal, jobledger_command

DIRECTORY = "it's 100% [red]ünï $(touch oops) & co"


@pytest.mark.parametrize("below", ["", "relative"], ids=["absolute", "relative"])
def test_the_environment_can_be_sourced_from_anywhere(
    terminal: Terminal, tmp_path: Path, below: str
) -> None:
    place = tmp_path / DIRECTORY
    place.mkdir()
    named = "of mine" if below else str(place / "of mine")
    sandbox = subprocess.Popen(
        [*jobledger_command(), "sandbox", "--dir", named],
        cwd=place,
        env=dict(terminal.environment),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert sandbox.stdout is not None
        told = next(line for line in sandbox.stdout if "set -a" in line)
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        said = subprocess.run(
            ["/bin/sh", "-c", f'{told}\nprintf %s "$KUBECONFIG"'],
            cwd=elsewhere,
            capture_output=True,
            text=True,
            check=True,
            timeout=COMMAND_SECONDS,
        )
    finally:
        sandbox.terminate()
        sandbox.communicate(timeout=COMMAND_SECONDS)
    assert Path(said.stdout).is_relative_to(place / "of mine")
    assert (said.stderr, Path(said.stdout).is_file()) == ("", True)
    assert not (elsewhere / "oops").exists()
    assert sandbox.returncode == 0
