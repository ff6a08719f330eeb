"""Whatever an archive, record, seal or key holds: one sentence, and the memory of one job."""

import gzip
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from jobledger.adapters.forensics import archive_files, bundle_files, seal_files
from jobledger.adapters.forensics.archive_files import (
    FORMAT,
    bundles,
    is_archive,
    kept_records,
    seals_of,
)
from jobledger.adapters.forensics.archived_log import ArchivedRows
from jobledger.adapters.forensics.signing import judge, signer
from jobledger.core.errors import BrokenChain, LedgerMisconfigured
from jobledger.core.forensics.seals import archives, seals
from jobledger.core.log.chain import canonical
from tests.properties.test_foreign_bundles import CALM, GENUINE, LINES, refused, values
from tests.support.records import NOON

HEAD = json.dumps({"archive_file": FORMAT, "number": 1}, separators=(",", ":")) + "\n"
JOB = "".join(LINES)


def archive_of(place: Path, *parts: str) -> Path:
    file = place / "archive-000001.jsonl.gz"
    file.write_bytes(gzip.compress("".join((HEAD, *parts)).encode()))
    assert is_archive(file)
    return file


def all_seals(file: Path) -> object:
    return seals_of(file, lambda _: True)


def read_all(file: Path) -> int:
    return sum(1 for _ in bundles(file))


def test_the_jobs_of_an_archive_are_read_one_at_a_time(tmp_path: Path) -> None:
    def peak(jobs: int) -> int:
        """Return the least of several readings: what other threads take meanwhile counts too."""
        file = archive_of(tmp_path, *[JOB] * jobs)
        return min(once(file, jobs) for _ in range(5))

    def once(file: Path, jobs: int) -> int:
        tracemalloc.start()
        assert read_all(file) == jobs
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(1) > 0  # what is kept for good, by the first
    assert peak(60) < 2 * peak(6)


ROW = seals.SealedRow(position=1, stream=GENUINE.stream, version=1, chain=bytes(32))
SEAL = (
    canonical({"sealed": seals.document(seals.make(None, seals.pack(ROW), NOON))}).decode() + "\n"
)


@pytest.mark.parametrize(
    ("told", "read"),
    [("".join(LINES[:-1]) + LINES[1] * 2000, read_all), (SEAL * 3000, all_seals)],
    ids=["a job", "seals"],
)
def test_what_does_not_end_is_refused(
    tmp_path: Path,
    told: str,
    read: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = archive_of(tmp_path, told)
    monkeypatch.setattr(bundle_files, "BUNDLE_CHARACTERS_MAX", 1 << 20)
    with pytest.raises(BrokenChain, match="longer than 1 MB"):
        read(file)


@pytest.mark.parametrize("read", [read_all, all_seals])
def test_a_line_without_end_is_refused(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_files, "LINE_CHARACTERS_MAX", 100_000)
    file = archive_of(tmp_path, '{"sealed":' + "[" * 1_000_000)
    with pytest.raises(BrokenChain, match="a line is too long"):
        read(file)


@pytest.mark.parametrize(
    "line",
    [
        '{"sealed":',
        '{"sealed":1}',
        '{"sealed":{"seal":{"format":"\\ud800"}}}',
        '{"sealed":' + "[" * 100_000,
        '{"sealed":' + "9" * 5000 + "}",
        SEAL.strip().replace('"number":1', '"number":1e400'),
        SEAL.strip().replace('"first":1', '"first":"\\ud800"'),
    ],
    ids=range(7),
)
def test_a_seal_of_an_archive_that_is_none_is_told(tmp_path: Path, line: str) -> None:
    file = archive_of(tmp_path, line + "\n", JOB)
    assert read_all(file) == 1
    with pytest.raises(BrokenChain):
        all_seals(file)


def test_an_archive_whose_bytes_were_changed_is_told(tmp_path: Path) -> None:
    """In the middle, so that its head is read well and the rest cannot be unpacked."""
    file = archive_of(tmp_path, *[JOB] * 20)
    content = bytearray(file.read_bytes())
    for at in range(len(content) // 2, len(content) - 8):
        content[at] = 0xFF
    file.write_bytes(content)
    with pytest.raises(BrokenChain, match="not whole"):
        read_all(file)


@CALM
@given(values)
def test_any_document_is_no_record_and_no_seal(document: Any) -> None:  # noqa: ANN401 any JSON
    for read, inner in ((archives.read, "archive"), (seals.read, "seal")):
        for told in (document, {inner: document}, {inner: {"format": "x", "number": document}}):
            refused(lambda told=told, read=read: read(json.dumps(told)))  # type: ignore[misc]


@pytest.mark.parametrize("depth", [1000, 200_000])
def test_a_record_or_seal_of_endless_nesting_is_told(depth: int) -> None:
    for read in (archives.read, seals.read):
        with pytest.raises(BrokenChain, match="cannot be read"):
            read("[" * depth)


def test_copies_of_records_and_seals_are_read_within_limits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "archive-000001.json").write_text("x" * 2000)
    (tmp_path / "seal-0000000001.json").write_text("x" * 2000)
    monkeypatch.setattr(archive_files, "RECORD_BYTES_MAX", 1000)
    monkeypatch.setattr(seal_files, "SEAL_BYTES_MAX", 1000)
    for read in (kept_records, seal_files.kept):
        with pytest.raises(LedgerMisconfigured, match="more than 1000 bytes"):
            read(tmp_path)


def test_which_copy_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "archive-000007.json").write_text("{}")
    (tmp_path / "seal-0000000007.json").write_text("{}")
    for read, name in ((kept_records, "archive-000007"), (seal_files.kept, "seal-0000000007")):
        with pytest.raises(BrokenChain, match=f"{tmp_path}/{name}.json: it cannot be read"):
            read(tmp_path)


@pytest.mark.parametrize("read", [signer, judge])
def test_a_key_is_a_regular_file(read: Callable[[Path], object]) -> None:
    with pytest.raises(LedgerMisconfigured, match="is no file"):
        read(Path("/dev/zero"))


def test_rows_of_a_file_that_is_not_what_its_record_says_are_not_kept() -> None:
    def broken() -> Iterator[tuple[int, bytes]]:
        yield 2, b"two"
        raise BrokenChain("a file", "it is changed")

    with closing(ArchivedRows()) as rows:
        rows.add([(3, b"three"), (1, b"one")])
        with pytest.raises(BrokenChain):
            rows.add(broken())
        rows.add([(4, b"four")])
        assert rows.between(1, 3) == [b"one", b"three"]
        assert rows.between(4, 9) == [b"four"]
