"""What every store of snapshots does: `core.ports.projections`, one rule per function."""

from msgspec.structs import replace

from jobledger.core.ports.projections import Snapshot
from jobledger.core.values.ids import StreamId
from tests.support.ledgers import Ledger
from tests.support.records import StreamWriter, a_stream

CODE, OTHER_CODE = b"the code of today", b"the code of before"


def begun(ledger: Ledger, name: str, events: int = 3) -> StreamWriter:
    """Append a job's first events."""
    writer = StreamWriter(a_stream(name))
    part = writer.next(*[None] * events)
    ledger.store.append([part])
    writer.wrote(part)
    return writer


def a_snapshot(writer: StreamWriter, content: bytes = b"the fold \x00\xff") -> Snapshot:
    """Return a snapshot at the end of what a writer has written."""
    last = writer.written[-1]
    return Snapshot(
        stream_id=writer.stream_id,
        version=last.version,
        chain=last.chain,
        folded_by=CODE,
        content=content,
        seal=b"seal",
    )


def read(ledger: Ledger, *streams: StreamId, code: bytes = CODE) -> list[Snapshot]:
    """Return what is there of these streams, in the order of their ids."""
    found = ledger.snapshots.read(streams, code)
    return sorted(found, key=lambda one: one.stream_id)


class SnapshotsContract:
    """Put, read, held against the log, swept."""

    def test_what_was_put_is_read_back_whole(self, ledger: Ledger) -> None:
        one, two = begun(ledger, "one"), begun(ledger, "two", 1)
        put = sorted([a_snapshot(one), a_snapshot(two, b"x" * 20_000)], key=lambda s: s.stream_id)
        ledger.snapshots.write(put)
        assert read(ledger, one.stream_id, two.stream_id, a_stream("none")) == put
        assert [s.stream_id for s in read(ledger, two.stream_id)] == [two.stream_id]

    def test_none_is_nothing(self, ledger: Ledger) -> None:
        ledger.snapshots.write([])
        assert read(ledger) == []
        assert read(ledger, a_stream()) == []

    def test_a_later_one_takes_the_place_of_the_one_before(self, ledger: Ledger) -> None:
        writer = begun(ledger, "train")
        ledger.snapshots.write([a_snapshot(writer, b"before")])
        part = writer.next(None)
        ledger.store.append([part])
        writer.wrote(part)
        ledger.snapshots.write([a_snapshot(writer, b"after")])
        assert [one.content for one in read(ledger, writer.stream_id)] == [b"after"]

    def test_one_stays_good_while_its_stream_goes_on(self, ledger: Ledger) -> None:
        writer = begun(ledger, "train")
        put = a_snapshot(writer)
        ledger.snapshots.write([put])
        ledger.store.append([writer.next(None, None)])
        assert read(ledger, writer.stream_id) == [put]

    def test_one_of_other_code_is_not_given(self, ledger: Ledger) -> None:
        writer = begun(ledger, "train")
        ledger.snapshots.write([replace(a_snapshot(writer), folded_by=OTHER_CODE)])
        assert read(ledger, writer.stream_id) == []
        assert len(read(ledger, writer.stream_id, code=OTHER_CODE)) == 1

    def test_one_whose_end_the_log_does_not_have_is_not_given(self, ledger: Ledger) -> None:
        writer = begun(ledger, "train")
        put, first = a_snapshot(writer), writer.written[0]
        for wrong in (
            replace(put, version=put.version + 1),
            replace(put, version=0),
            replace(put, chain=first.chain),
            replace(put, chain=b""),
            replace(put, stream_id=begun(ledger, "other").stream_id),
        ):
            ledger.snapshots.write([wrong])
            assert read(ledger, wrong.stream_id) == []
        ledger.snapshots.write([replace(put, version=1, chain=first.chain)])
        assert len(read(ledger, writer.stream_id)) == 1, "an earlier end will do"

    def test_those_of_jobs_with_nothing_left_to_do_are_swept(self, ledger: Ledger) -> None:
        goes_on, ended = begun(ledger, "goes-on"), begun(ledger, "ended")
        put = a_snapshot(goes_on)
        unknown = replace(put, stream_id=a_stream("unknown"))
        ledger.snapshots.write([put, a_snapshot(ended), unknown])
        part = ended.next(None)
        over = replace(part.rows, job=replace(part.rows.job, open=False))
        ledger.store.append([replace(part, rows=over)])
        assert ledger.snapshots.sweep() == 2
        assert ledger.snapshots.sweep() == 0
        assert read(ledger, goes_on.stream_id, ended.stream_id) == [put]
