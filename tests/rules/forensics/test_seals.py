"""What a log that was changed after it was sealed is found by: one row for each kind of change."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from uuid import UUID

import pytest

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.archives import Archive
from jobledger.core.forensics.seals.kept_seals import SealHead, require_last
from jobledger.core.forensics.seals.sealing import Broken, SealFault, broken, seal_next
from jobledger.core.forensics.seals.seals import (
    FIRST,
    Seal,
    SealedRow,
    Signature,
    StreamEnd,
    pack,
    read,
)
from jobledger.core.forensics.seals.seals import written as text_of
from tests.support.records import NOON

A, B = UUID(int=0xA), UUID(int=0xB)


def link(number: int) -> bytes:
    """Return a link that no other number has."""
    return bytes([number]) * 32


ROWS = (
    SealedRow(position=1, stream=A, version=1, chain=link(1)),
    SealedRow(position=2, stream=B, version=1, chain=link(2)),
    SealedRow(position=3, stream=A, version=2, chain=link(3)),
)


@dataclass(kw_only=True)
class Log:
    """A log in memory, with the seals and archive records beside it."""

    rows: dict[int, SealedRow] = field(default_factory=lambda: {row.position: row for row in ROWS})
    kept: list[Seal] = field(default_factory=list)
    gone: tuple[tuple[int, int], ...] = ()
    ends: dict[UUID, StreamEnd] = field(default_factory=dict)
    is_late: bool = False
    doubled: int = 0
    """A position whose row is there twice."""

    def last_position(self) -> int:
        return max(self.rows, default=0)

    def sealed_rows(self, first: int, last: int) -> bytes:
        here = sorted([*self.rows, self.doubled] if self.doubled else self.rows)
        return b"".join(pack(self.rows[at]) for at in here if first <= at <= last)

    def link(self, stream: UUID, version: int) -> bytes | None:
        found = (
            row for row in self.rows.values() if (row.stream, row.version) == (stream, version)
        )
        return next((row.chain for row in found), None)

    def last_seal(self) -> Seal | None:
        return self.kept[-1] if self.kept else None

    def kept_seal(self, number: int) -> Seal | None:
        return next((seal for seal in self.kept if seal.number == number), None)

    def fault_of_seals(self) -> str | None:
        return None

    def seals(self) -> Iterable[Seal]:
        return self.kept

    def add_seal(self, made: Seal) -> bool:
        if not self.is_late:
            self.kept.append(made)
        return not self.is_late

    def archives(self) -> Iterable[Archive]:
        return ()

    def last_archive(self) -> tuple[int, bytes] | None:
        return (7, link(70)) if self.gone else None

    def archived(self, first: int, last: int) -> Sequence[tuple[int, int]]:
        return [span for span in self.gone if span[0] <= last and span[1] >= first]

    def archived_end(self, stream: UUID) -> StreamEnd | None:
        return self.ends.get(stream)


class Key:
    """A key that signs with its own name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def sign(self, digest: bytes) -> Signature:
        return Signature(algorithm="none", key=self._name, value=self._name.encode() + digest)

    def vouches(self, digest: bytes, signature: Signature) -> bool:
        return signature == self.sign(digest)


def sealed(log: Log, signer: Key | None = None) -> Log:
    assert seal_next(log, NOON, signer) is not None
    return log


def changed(position: int, **fields: object) -> Callable[[Log], None]:
    def change(log: Log) -> None:
        log.rows[position] = replace(log.rows[position], **fields)  # type: ignore[arg-type]

    return change


def lost(*positions: int) -> Callable[[Log], None]:
    def lose(log: Log) -> None:
        for position in positions:
            del log.rows[position]

    return lose


def archived(stream: UUID, version: int, chain: bytes, *positions: int) -> Callable[[Log], None]:
    def archive(log: Log) -> None:
        lost(*positions)(log)
        log.gone = tuple((at, at) for at in positions)
        log.ends[stream] = StreamEnd(stream=stream, version=version, chain=chain)

    return archive


def recorded_as_gone(*positions: int) -> Callable[[Log], None]:
    def forget(log: Log) -> None:
        lost(*positions)(log)
        log.gone = tuple((at, at) for at in positions)

    return forget


def unchanged(log: Log) -> None:
    del log


def nobody(seal: Seal) -> None:
    del seal


def event(position: int, stream: UUID | None, version: int, what: str) -> Broken:
    kind = SealFault.SEALED_EVENT
    return Broken(kind=kind, position=position, stream=stream, version=version, what=what)


def end(stream: UUID, version: int, what: str) -> Broken:
    kind = SealFault.SEALED_STREAM
    return Broken(kind=kind, position=0, stream=stream, version=version, what=what)


OTHER = "this event is not the one that seal 1 covers at this position"
ABSENT = "seal 1 covers an event at this position, and there is none"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(unchanged, [], id="nothing"),
        pytest.param(
            changed(2, chain=link(9)),
            [
                event(2, B, 1, OTHER),
                end(B, 1, "version 1 has another link than seal 1 says"),
            ],
            id="a link in the middle",
        ),
        pytest.param(
            changed(1, chain=link(9)), [event(1, A, 1, OTHER)], id="a link that is no stream's end"
        ),
        pytest.param(
            lost(3),
            [
                event(3, None, 0, ABSENT),
                end(A, 2, "the stream reached version 2 in seal 1, now it does not"),
            ],
            id="the end of a stream is gone",
        ),
        pytest.param(
            lost(1, 3),
            [
                event(1, None, 0, ABSENT),
                end(A, 2, "the whole job is gone; it had 2 events in seal 1"),
            ],
            id="a job is gone",
        ),
        pytest.param(archived(A, 2, link(3), 1, 3), [], id="a job is archived"),
        pytest.param(archived(A, 3, link(8), 1, 3), [], id="a job is archived that went on"),
        pytest.param(
            archived(A, 1, link(1), 1, 3),
            [
                end(
                    A,
                    2,
                    "the stream reached version 2 in seal 1, and by its archive record it "
                    "ended with 1",
                )
            ],
            id="a job is archived without its end",
        ),
        pytest.param(
            archived(A, 2, link(8), 1, 3),
            [end(A, 2, "version 2 has another link in its archive record than in its seal")],
            id="a job is archived with another end",
        ),
        pytest.param(
            recorded_as_gone(1, 3),
            [end(A, 2, "version 2 is gone, and no archive record speaks of this job")],
            id="positions are said to be archived, and no record names the job",
        ),
        pytest.param(
            lambda log: (archived(A, 2, link(3), 1, 3)(log), lost(2)(log))[0],
            [
                event(2, None, 0, ABSENT),
                end(B, 1, "the whole job is gone; it had 1 event in seal 1"),
            ],
            id="a job is archived and another is gone",
        ),
    ],
)
def test_what_was_changed_after_it_was_sealed_is_named(
    change: Callable[[Log], None], expected: list[Broken]
) -> None:
    log = sealed(Log())
    change(log)
    seen: list[int] = []
    found = list(broken(log, log.kept, None, lambda seal: seen.append(seal.number)))
    assert (found, seen) == (expected, [1])


def test_a_row_that_was_put_in_is_found() -> None:
    log = sealed(Log())
    log.doubled = 1
    found = list(broken(log, log.kept, None, nobody))
    assert found == [event(1, None, 0, "more events stand between 1 and 3 than were sealed")]


@pytest.mark.parametrize(
    ("signer", "judge", "expected"),
    [
        pytest.param(None, None, [], id="nobody asks"),
        pytest.param(Key("ours"), Key("ours"), [], id="the right key"),
        pytest.param(None, Key("ours"), ["seal 1 is not signed"], id="no signature"),
        pytest.param(
            Key("theirs"),
            Key("ours"),
            ["seal 1 is not signed by the key that was given"],
            id="another key",
        ),
    ],
)
def test_a_signature_is_held_against_the_key(
    signer: Key | None, judge: Key | None, expected: list[str]
) -> None:
    log = sealed(Log(), signer)
    found = list(broken(log, log.kept, judge, nobody))
    assert found == [
        Broken(kind=SealFault.SIGNATURE, position=1, stream=None, version=0, what=what)
        for what in expected
    ]


def two_seals() -> tuple[Seal, Seal]:
    log = sealed(Log())
    log.rows[4] = SealedRow(position=4, stream=B, version=2, chain=link(4))
    first, second = sealed(log).kept
    return first, second


@pytest.mark.parametrize(
    ("written", "now"),
    [
        ('"first":1', '"first": 1'),
        ('"first":1', '"first":9,"first":1'),
        ('"first":1', '"note":"checked","first":1'),
        ('"signature":', '"note":"checked","signature":'),
    ],
)
def test_a_seal_whose_text_is_another_is_none(written: str, now: str) -> None:
    """The digest is of what is read: whoever reads it otherwise would find another."""
    first, _ = two_seals()
    text = text_of(first)
    assert read(text.strip()) == first, "put back by hand"
    with pytest.raises(BrokenChain, match="its text is not the one that was written"):
        read(text.replace(written, now))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, None, id="it continues"),
        pytest.param({"number": 3}, "seal 3 stands where seal 2 should be", id="a gap"),
        pytest.param({"previous": link(9)}, "seal 2 does not continue seal 1", id="another past"),
        pytest.param({"first": 3}, "seal 2 begins at position 3 and should at 4", id="it overlaps"),
        pytest.param(
            {"last": 3}, "seal 2 ends at position 3, before it begins (4)", id="it is empty"
        ),
        pytest.param(
            {"marks": b"short"}, "seal 2 has not one fingerprint for each event", id="no marks"
        ),
    ],
)
def test_a_seal_continues_the_one_before(fields: dict[str, object], expected: str | None) -> None:
    first, second = two_seals()
    log = Log(rows={})
    found = list(broken(log, [first, replace(second, **fields)], None, nobody))  # type: ignore[arg-type]
    faults = [item.what for item in found if item.kind is SealFault.SEAL]
    assert faults == ([] if expected is None else [expected])


def test_each_seal_covers_what_follows_and_nothing_is_sealed_twice() -> None:
    log = Log()
    first = seal_next(log, NOON, Key("ours"))
    assert first is not None
    assert (first.number, first.first, first.last, first.archive) == (1, 1, 3, None)
    assert first.streams == (
        StreamEnd(stream=A, version=2, chain=link(3)),
        StreamEnd(stream=B, version=1, chain=link(2)),
    )
    assert seal_next(log, NOON, None) is None
    log.rows[4] = SealedRow(position=4, stream=B, version=2, chain=link(4))
    archived(A, 2, link(3), 1, 3)(log)
    second = seal_next(log, NOON + timedelta(hours=1), None)
    assert second is not None
    assert (second.number, second.first, second.last, second.archive) == (2, 4, 4, (7, link(70)))
    assert second.previous == first.digest
    assert [read(text_of(seal)) for seal in log.kept] == [first, second]


def test_a_seal_that_another_kept_meanwhile_is_not_told_as_ours() -> None:
    assert seal_next(Log(is_late=True), NOON, None) is None


def test_a_gap_is_not_sealed_over() -> None:
    log = Log()
    lost(2)(log)
    with pytest.raises(BrokenChain, match="position 3 is where 2 should be"):
        seal_next(log, NOON, None)


@pytest.mark.parametrize(
    ("head", "there", "expected"),
    [
        pytest.param((2, None), 2, None, id="the one that was kept last"),
        pytest.param((0, FIRST), 0, None, id="none yet"),
        pytest.param(
            (2, None), 1, "seal 2: it was kept last, and is gone: seal 1 is the newest", id="gone"
        ),
        pytest.param(
            (1, None), 0, "seal 1: it was kept last, and is gone: none is the newest", id="all gone"
        ),
        pytest.param((1, None), 2, "seal 2: it was put in: seal 1 was kept last", id="put in"),
        pytest.param((0, FIRST), 1, "seal 1: it was put in: none was kept last", id="the first"),
        pytest.param(
            (2, FIRST),
            2,
            "seal 2: it is not the one that was kept last",
            id="another of its number",
        ),
    ],
)
def test_the_newest_seal_is_the_one_that_was_kept_last(
    head: tuple[int, bytes | None], there: int, expected: str | None
) -> None:
    """The message says which of the two the ledger is wrong about; any of them ends the sealing."""
    seals = two_seals()
    number, digest = head
    noted = SealHead(number=number, digest=digest or seals[number - 1].digest)
    found = None
    try:
        require_last(noted, seals[there - 1] if there else None)
    except BrokenChain as error:
        found = str(error)
    assert found == expected
