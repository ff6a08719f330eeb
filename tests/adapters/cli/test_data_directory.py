"""Where the private ledger lies by default, on machines with and without a home."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.settings import OF_THE_SYSTEM, default_data_dir
from jobledger.core.errors import LedgerMisconfigured
from jobledger.sandbox.postgres.data_directory import DataDirectory


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize(
    ("user", "given", "expected"),
    [
        (0, "/data", Path("/var/lib/jobledger")),
        (1000, "/data", Path("/data/jobledger")),
        (1000, "relative", Path("/home/me/.local/share/jobledger")),
        (1000, "", Path("/home/me/.local/share/jobledger")),
    ],
)
def test_the_default_follows_the_user_and_the_environment(
    monkeypatch: pytest.MonkeyPatch, user: int, given: str, expected: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_DATA_HOME", given)
    assert default_data_dir() == expected


def test_a_user_without_a_home_is_told_of_a_directory_and_not_of_a_bug(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with `runAsUser: 12345` in a container: no HOME, no entry in passwd."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert default_data_dir() == OF_THE_SYSTEM


def test_a_command_in_a_directory_that_is_gone_says_so(tmp_path: Path) -> None:
    """Whatever it is given beside it cannot be found there."""
    program = "from jobledger.adapters.cli.program import program; program()"
    gone = tmp_path / "gone"
    gone.mkdir()
    command = f'rmdir "{gone}"; exec "{sys.executable}" -c "{program}" get --data-dir here'
    ended = subprocess.run(
        ["sh", "-c", command], cwd=gone, capture_output=True, text=True, check=False
    )
    told = "the directory that it was started in is there no more; change to another one"
    assert ended.stderr == f"jobledger: {told}\n"
    assert ended.returncode == ExitCode.MISCONFIGURED


def test_a_place_that_this_user_may_not_look_into_is_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "is_mount", closed)
    with pytest.raises(LedgerMisconfigured, match="Permission denied; choose another one"):
        DataDirectory(tmp_path / "postgres").prepare_parent()
