"""A disk that is full ends a command in a sentence, and leaves no half of a file behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.files.written_once import in_place_of, write_once
from jobledger.adapters.forensics import signing
from jobledger.core.errors import LedgerMisconfigured

pytestmark = pytest.mark.faults

FULL = Path("/dev/full")
"""A device of Linux: whatever is written to it fails, as on a full disk."""

NO_SPACE = "No space left on device"


def test_an_output_that_cannot_be_written_is_no_finding() -> None:
    program = [sys.executable, "-m", "jobledger.adapters.cli.main", "report", "-o", "json"]
    with FULL.open("w", encoding="utf-8") as full:
        ended = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.stderr == f"jobledger: what is told cannot be written: {NO_SPACE}\n"
    assert ended.returncode == ExitCode.MISCONFIGURED


PROGRAM = f'"{sys.executable}" -m jobledger.adapters.cli.main'
NO_LEDGER = "get --database-url postgresql://127.0.0.1:1/none"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (f"{NO_LEDGER} 2>/dev/full", ExitCode.UNAVAILABLE),
        (f"{NO_LEDGER} 2>&-", ExitCode.UNAVAILABLE),
        (f"{NO_LEDGER} >&- 2>&- <&-", ExitCode.UNAVAILABLE),
        ("report -o json >&-", ExitCode.OK),
        ("report >&-", ExitCode.OK),
        ("report --bogus 2>/dev/full", ExitCode.MISCONFIGURED),
    ],
)
def test_who_can_be_told_nothing_has_the_exit_code(words: str, code: ExitCode) -> None:
    """A traceback has 1, which `verify` and others say of what they found wrong."""
    ended = subprocess.run(["sh", "-c", f"{PROGRAM} {words}"], capture_output=True, check=False)
    assert b"Traceback" not in ended.stderr
    assert ended.returncode == code


def test_what_is_written_in_place_of_a_file_leaves_it_as_it_was_if_it_fails(
    tmp_path: Path,
) -> None:
    kept = tmp_path / "job.bundle"
    kept.write_text("the last one")

    def written() -> None:
        with in_place_of(kept) as fresh:
            fresh.write_text("half of")
            FULL.write_text("the rest")

    with pytest.raises(OSError, match=NO_SPACE):
        written()
    assert kept.read_text() == "the last one"
    assert list(tmp_path.iterdir()) == [kept]


def test_what_is_written_in_place_of_a_file_takes_it(tmp_path: Path) -> None:
    kept, link = tmp_path / "job.bundle", tmp_path / "link"
    link.symlink_to(kept)
    for told in ("the first", "the second"):
        with in_place_of(link) as fresh:
            fresh.write_text(told)
        assert kept.read_text() == told
    assert link.is_symlink(), "a link goes on leading there"
    assert sorted(tmp_path.iterdir()) == [kept, link]


def test_a_pipe_is_written_itself(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with in_place_of(pipe) as given:
        assert given == pipe


def test_a_file_that_is_written_once_leaves_nothing_if_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, NO_SPACE)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=NO_SPACE):
        write_once(tmp_path / "seal.json", "content")
    assert list(tmp_path.iterdir()) == []


def test_half_a_pair_of_keys_is_none(tmp_path: Path) -> None:
    (tmp_path / "seal.pem.pub").write_text("somebody else's")
    with pytest.raises(LedgerMisconfigured, match=r"seal\.pem\.pub cannot be made: File exists"):
        signing.make_keys(tmp_path / "seal.pem")
    assert [file.name for file in tmp_path.iterdir()] == ["seal.pem.pub"]
