"""Where the private ledger lies by default, on machines with and without a home."""

import os
from pathlib import Path

import pytest

from jobledger.adapters.settings import OF_THE_SYSTEM, default_data_dir


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
