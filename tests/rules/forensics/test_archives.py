"""Archive records: what they cover, what continues what, and what seals say of them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archive_checks import Copies, broken_archives
from jobledger.core.forensics.seals.archives import (
    Archive,
    ArchivedJob,
    ArchiveFile,
    fault_after,
    ranges,
    read,
    written,
)
from jobledger.core.forensics.seals.seals import FIRST, Seal, SealedRow, Signature, make, pack
from jobledger.core.forensics.seals.seals import read as read_seal
from jobledger.core.forensics.seals.seals import written as seal_written
from tests.support.records import NOON

STREAM = UUID(int=7)

JOB = ArchivedJob(
    stream=STREAM,
    version=3,
    chain=b"c" * 32,
    first=2,
    last=5,
    cluster="kind",
    kind="RayJob",
    namespace="ml",
    name="train",
    uid="uid",
    phase="Complete",
    created_at=NOON,
    deleted_at=NOON + timedelta(hours=1),
)

ONE = Archive(
    number=1,
    previous=FIRST,
    made_at=NOON,
    schema="0107",
    file=ArchiveFile(name="archive-000001-0.jsonl.gz", size=9, digest=b"d" * 32),
    jobs=(JOB,),
    positions=((2, 3), (5, 5)),
    seals=((1, b"s" * 32),),
    evidence=("e" * 64,),
)
TWO = replace(ONE, number=2, previous=ONE.digest, positions=((7, 9),))


@pytest.mark.parametrize(
    ("positions", "expected"),
    [
        ([], ()),
        ([1], ((1, 1),)),
        ([3, 1, 2], ((1, 3),)),
        ([1, 2, 4, 6, 7], ((1, 2), (4, 4), (6, 7))),
    ],
)
def test_positions_make_up_ranges(
    positions: list[int], expected: tuple[tuple[int, int], ...]
) -> None:
    assert ranges(positions) == expected


def test_a_record_is_read_as_it_was_written() -> None:
    signed = replace(ONE, signature=Signature(algorithm="ed25519", key="k", value=b"v"))
    for record in (ONE, TWO, signed):
        assert read(written(record)) == record
    assert signed.digest == ONE.digest, "the signature is of the digest, not in it"


@pytest.mark.parametrize(
    "change",
    [
        ('"ml"', '"prod"'),
        ('"version":3', '"version":4'),
        ("[[2,3],[5,5]]", "[[2,5]]"),
        ('"jobledger archive 1"', '"jobledger archive 9"'),
        ('"made_at"', '"made_on"'),
        ("[5,5]", "[5,4]"),
        ('"first":2', '"first":"2"'),
        ('"made_at"', '"note":"checked","made_at"'),
        ('"number":1', '"number":2,"number":1'),
        ('"number":1', '"number": 1'),
    ],
)
def test_a_changed_record_is_none(change: tuple[str, str]) -> None:
    text = written(ONE)
    assert change[0] in text
    with pytest.raises(BrokenChain):
        read(text.replace(*change))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (replace(TWO, number=3), "stands where record 2 should be"),
        (replace(TWO, previous=FIRST), "does not continue record 1"),
        (replace(TWO, positions=((7, 8),)), "names 2 positions for 3 events"),
    ],
)
def test_what_does_not_continue_the_record_before_is_told(record: Archive, said: str) -> None:
    assert fault_after(ONE, TWO) is None
    assert said in (fault_after(ONE, record) or "")


def a_seal(archive: tuple[int, bytes] | None) -> Seal:
    row = pack(SealedRow(position=1, stream=STREAM, version=1, chain=b"c" * 32))
    return replace(make(None, row, NOON), archive=archive)


def test_a_seal_names_the_newest_record_and_is_as_before_where_there_is_none() -> None:
    for seal in (a_seal(None), a_seal((1, ONE.digest))):
        assert read_seal(seal_written(seal)) == seal
    assert "archive" not in a_seal(None).body
    assert a_seal(None).digest != a_seal((1, ONE.digest)).digest


def kept(before: dict[int, bytes], *, upto: int = 1, now: dict[int, bytes] | None = None) -> Copies:
    return Copies(before=before, upto=upto, now=lambda: before if now is None else now)


class Vouches:
    """A judge who knows one key."""

    def vouches(self, digest: bytes, signature: Signature) -> bool:
        return signature.value == digest


SIGNED = replace(ONE, signature=Signature(algorithm="ed25519", key="k", value=ONE.digest))


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: broken_archives([TWO], [], None, None), "stands where record 1 should be"),
        (
            lambda: broken_archives([ONE], [a_seal((2, TWO.digest))], None, None),
            "archive record 2 is gone; it is the one that seal 1 names",
        ),
        (
            lambda: broken_archives([ONE], [a_seal((1, TWO.digest))], None, None),
            "archive record 1 is not the one that seal 1 names",
        ),
        (lambda: broken_archives([ONE], [], Vouches(), None), "is not signed by the key"),
        (
            lambda: broken_archives([ONE], [], None, kept({})),
            "is not kept with the seals elsewhere",
        ),
        (lambda: broken_archives([], [], None, kept({1: ONE.digest})), "is gone from the database"),
        (
            lambda: broken_archives([ONE], [], None, kept({1: TWO.digest})),
            "is not the one that is kept elsewhere",
        ),
    ],
)
def test_what_is_wrong_with_records_is_told(check: Callable[[], object], said: str) -> None:
    found = [fault.what for fault in check()]  # type: ignore[attr-defined]  # an iterator of faults
    assert len(found) == 1
    assert said in found[0]


def test_records_that_are_in_order_give_no_fault() -> None:
    seals = [a_seal((1, ONE.digest))]
    copies = kept({1: ONE.digest})
    assert list(broken_archives([SIGNED], seals, Vouches(), copies)) == []


@pytest.mark.parametrize(
    "copies",
    [
        kept({1: ONE.digest}),
        kept({1: ONE.digest}, now={1: ONE.digest, 2: TWO.digest}),
        kept({1: ONE.digest}, upto=2, now={1: ONE.digest, 2: TWO.digest}),
        kept({1: ONE.digest, 2: TWO.digest}),
    ],
)
def test_a_record_that_is_made_meanwhile_lacks_no_copy(copies: Copies) -> None:
    assert list(broken_archives([ONE, TWO], [], None, copies)) == []


def test_a_record_that_was_there_before_lacks_its_copy() -> None:
    copies = kept({1: ONE.digest}, upto=2)
    (found,) = broken_archives([ONE, TWO], [], None, copies)
    assert found.what == "archive record 2 is not kept with the seals elsewhere"
