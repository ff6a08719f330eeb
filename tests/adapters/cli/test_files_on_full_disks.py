"""What a command writes into a file is whole or not there, whatever the disk and the target are."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from jobledger.adapters.cli.files import known_ledgers, parquet
from jobledger.adapters.cli.reporting.options import ReportForm
from jobledger.adapters.cli.reporting.told import tell
from jobledger.adapters.cli.running.ready_file import tell_ready
from jobledger.adapters.files.written_once import in_place_of, write_once
from jobledger.adapters.forensics.archive_files import ArchiveWriter
from jobledger.adapters.settings import Settings
from jobledger.core.errors import LedgerMisconfigured
from tests.adapters.cli.answers import answer
from tests.support.full_disks import room_for

pytestmark = pytest.mark.faults

HALF = 8
"""Bytes: less than any of these files has."""


def report(to: Path) -> None:
    tell(answer("failures", []), ReportForm(to.suffix[1:]), to, charted=None)


def ready(to: Path) -> None:
    tell_ready(to, "http://127.0.0.1:8080")


@pytest.mark.parametrize("write", [report, ready], ids=["report", "ready file"])
@pytest.mark.parametrize("name", ["told.csv", "told.json", "told.parquet"])
def test_a_file_is_as_it_was_if_its_successor_does_not_fit(
    write: Callable[[Path], None], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / name
    kept.write_text("of yesterday")
    with room_for(HALF), pytest.raises(typer.Exit):
        write(kept)
    assert kept.read_text() == "of yesterday"
    assert list(tmp_path.iterdir()) == [kept]
    assert f"{kept} cannot be written: File too large" in capsys.readouterr().err
    write(kept)
    assert kept.read_bytes() != b"of yesterday"


def test_a_user_s_ledgers_are_remembered_though_another_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    known_ledgers.remember(Settings(data_dir=tmp_path / "first"))
    (kept,) = (tmp_path / "jobledger").iterdir()
    before = kept.read_text()
    with room_for(HALF):
        known_ledgers.remember(Settings(data_dir=tmp_path / "second"))
    assert kept.read_text() == before


def test_an_archive_that_does_not_fit_says_where_and_leaves_nothing(tmp_path: Path) -> None:
    with (
        room_for(HALF),
        pytest.raises(LedgerMisconfigured, match=f"{tmp_path} cannot keep archives"),
        ArchiveWriter(tmp_path, 1) as writer,
    ):
        writer.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_month_that_does_not_fit_leaves_the_one_before(tmp_path: Path) -> None:
    kept = tmp_path / "part-0.parquet"
    kept.write_text("of yesterday")
    with room_for(HALF), pytest.raises(OSError, match="File too large"):
        parquet.write(kept, {"rows": "integer"}, {}, [b"1\n", b"2\n"])
    assert kept.read_text() == "of yesterday"
    assert list(tmp_path.iterdir()) == [kept]
    assert parquet.write(kept, {"rows": "integer"}, {}, [b"1\n", b"2\n"]) == 2
    assert parquet.write(kept, {"rows": "integer"}, {}, []) == 0
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_leads_to_itself_is_no_place(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="Too many levels of symbolic links"), in_place_of(loop):
        pass
    assert list(tmp_path.iterdir()) == [loop]


def test_a_file_that_may_not_be_written_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "kept.csv"
    kept.write_text("read only")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    with pytest.raises(PermissionError, match=r"kept\.csv"), in_place_of(kept) as fresh:
        fresh.write_text("other")
    assert kept.read_text() == "read only"


def test_who_may_read_a_file_is_as_before(tmp_path: Path) -> None:
    kept = tmp_path / "job.bundle"
    kept.touch(0o600)
    with in_place_of(kept) as fresh:
        fresh.write_text("what jobs said")
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_nobodys_link_beside_the_place_is_followed(tmp_path: Path) -> None:
    """In a directory that others may write, the name that a file has at first can be guessed."""
    victim, place = tmp_path / "victim", tmp_path / "seal.json"
    victim.write_text("theirs")
    trap = tmp_path / f".seal.json.{os.getpid()}"
    trap.symlink_to(victim)
    write_once(place, "content")
    trap.symlink_to(victim)
    with in_place_of(place) as fresh:
        fresh.write_text("newer")
    assert (victim.read_text(), place.read_text()) == ("theirs", "newer")


@pytest.mark.parametrize("other", ["file", "link"])
def test_what_is_no_directory_is_told_as_that(other: str, tmp_path: Path) -> None:
    place = tmp_path / other
    place.symlink_to(tmp_path / "nowhere") if other == "link" else place.touch()
    with pytest.raises(LedgerMisconfigured, match="Not a directory"), ArchiveWriter(place, 1):
        pass
    with pytest.raises(NotADirectoryError):
        write_once(place / "seal.json", "content")
