"""What no chain shows, a seal does: whole jobs removed, positions swapped, links computed anew."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from msgspec.structs import replace

from jobledger.adapters.forensics import signing
from jobledger.adapters.forensics.seal_files import kept, path_of
from jobledger.adapters.forensics.sealed import SealOptions, check_seals, seal_new
from jobledger.adapters.postgres.verifying.verify import Extent, verify
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals import seals as seals_module
from jobledger.core.forensics.seals.sealing import SealFault
from jobledger.core.forensics.seals.seals import Seal, read, written
from jobledger.core.log.chain import link
from tests.adapters.postgres.notary import ONE, TWO, Notary
from tests.support.ledgers import tampering
from tests.support.records import NOON, a_stream

pytestmark = pytest.mark.postgres

EVENTS = 12


def test_a_sealed_log_is_as_it_was_sealed(notary: Notary) -> None:
    report = notary.check()
    assert (report.seals, report.sealed_to, report.faults) == (2, EVENTS, ())
    assert report.signed_by == signing.signer(notary.key).name


def test_seals_go_on_where_the_last_one_ended(notary: Notary) -> None:
    assert notary.seal() == []
    notary.append()
    (made,) = notary.seal()
    assert (made.number, made.first, made.last) == (3, EVENTS + 1, EVENTS + 6)
    assert notary.check().faults == ()


def test_a_long_range_becomes_several_seals(
    notary: Notary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("jobledger.core.forensics.seals.sealing", "jobledger.adapters.forensics.sealed"):
        monkeypatch.setattr(f"{name}.EVENTS_MAX", 4)
    notary.append()
    assert [seal.last - seal.first + 1 for seal in notary.seal()] == [4, 2]
    assert notary.check().faults == ()


def test_what_is_wrong_is_not_sealed(notary: Notary) -> None:
    notary.append()
    notary.tamper("UPDATE event SET actor = 'x' WHERE position = 14")

    def check(first: int, last: int) -> str | None:
        fault = verify(notary.engine, lambda *_: None, Extent(first=first, last=last)).fault
        return None if fault is None else fault.what

    with pytest.raises(BrokenChain, match="positions 13 to 18 are not sealed"):
        seal_new(notary.log, lambda: NOON, check, SealOptions())


def rechain(notary: Notary, stream: UUID, from_version: int, **changed: object) -> None:
    """Change an event, and compute all links behind it anew: what no walk of chains can see."""
    records = [item.record for item in notary.ledger.store.read_stream(a_stream("two"))]
    assert records[0].stream_id == stream
    previous = records[from_version - 2].chain if from_version > 1 else bytes(32)
    with tampering(notary.url) as superuser:
        for record in records[from_version - 1 :]:
            new = replace(record, **changed) if record.version == from_version else record
            previous = link(previous, new)
            superuser.execute(
                "UPDATE event SET actor = %s, chain = %s WHERE stream_id = %s AND version = %s",
                (new.actor, previous, stream, record.version),
            )
        superuser.execute("UPDATE stream SET chain = %s WHERE stream_id = %s", (previous, stream))


def test_a_stream_chained_anew_after_a_seal_is_found(notary: Notary) -> None:
    rechain(notary, TWO, 2, actor="somebody else")
    assert verify(notary.engine, lambda *_: None).faults == (), "its chain is whole again"
    first = notary.check().faults[0]
    (place,) = notary.ledger.store.read_stream(TWO)[1:2]
    assert (first.kind, first.position) == (SealFault.SEALED_EVENT, place.position)
    assert (first.stream, first.version) == (TWO, 2)
    assert SealFault.SEALED_STREAM in notary.kinds()


def renumber(connection: psycopg.Connection) -> None:
    """Close the gaps between positions, and correct where the log ends."""
    connection.execute("UPDATE event SET position = position + 1000000")
    connection.execute(
        "UPDATE event e SET position = n.number FROM (SELECT stream_id, version, "
        "row_number() OVER (ORDER BY position) AS number FROM event) n "
        "WHERE n.stream_id = e.stream_id AND n.version = e.version"
    )
    connection.execute("UPDATE log_head SET position = (SELECT count(*) FROM event)")


def test_a_whole_job_removed_with_every_counter_corrected_is_found(notary: Notary) -> None:
    with tampering(notary.url) as superuser:
        superuser.execute("DELETE FROM event WHERE stream_id = %s", (TWO,))
        superuser.execute("DELETE FROM stream WHERE stream_id = %s", (TWO,))
        renumber(superuser)
    assert verify(notary.engine, lambda *_: None).faults == (), "no walk of chains can see it"
    faults = notary.check().faults
    assert faults[0].kind is SealFault.SEALED_EVENT
    assert faults[0].position == 3, "the first event of the removed job"
    gone = next(fault for fault in faults if fault.kind is SealFault.SEALED_STREAM)
    assert gone.stream == TWO
    assert gone.what == "the whole job is gone; it had 2 events in seal 1"


def test_two_events_of_different_jobs_that_swapped_positions_are_seen_by_seals_only(
    notary: Notary,
) -> None:
    notary.tamper(
        "UPDATE event SET position = CASE position WHEN 8 THEN 9 WHEN 9 THEN 8 END "
        "WHERE position IN (8, 9)"
    )
    assert verify(notary.engine, lambda *_: None).faults == (), "each stream is in order"
    (found,) = notary.check().faults
    assert (found.kind, found.position) == (SealFault.SEALED_EVENT, 8)


def test_a_log_cut_off_with_its_heads_corrected_is_found(notary: Notary) -> None:
    with tampering(notary.url) as superuser:
        superuser.execute("DELETE FROM event WHERE position > 9")
        superuser.execute(
            "UPDATE stream s SET version = e.version, chain = e.chain FROM (SELECT DISTINCT ON "
            "(stream_id) * FROM event ORDER BY stream_id, version DESC) e "
            "WHERE e.stream_id = s.stream_id"
        )
        superuser.execute("UPDATE log_head SET position = 9")
    assert verify(notary.engine, lambda *_: None).faults == ()
    first = notary.check().faults[0]
    assert (first.kind, first.position) == (SealFault.SEALED_EVENT, 10)
    assert first.what == "seal 2 covers an event at this position, and there is none"


def test_an_inserted_event_is_found(notary: Notary) -> None:
    with tampering(notary.url) as superuser:
        superuser.execute("UPDATE event SET position = position + 1 WHERE position >= 8")
        superuser.execute(
            "INSERT INTO event SELECT 8, stream_id, 9, gen_random_uuid(), type, schema_version, "
            "occurred_at, recorded_at, actor, epoch, causation_id, correlation_id, data, data_sha, "
            "chain FROM event WHERE stream_id = %s AND version = 4",
            (ONE,),
        )
    first = notary.check().faults[0]
    assert (first.kind, first.position) == (SealFault.SEALED_EVENT, 8)


@pytest.mark.parametrize(
    "change",
    [
        "position = 99",
        "stream_id = gen_random_uuid()",
        "version = 9",
        "chain = sha256('x')",
        "chain = ''",
    ],
)
def test_every_column_that_a_seal_covers_itself_is_found(notary: Notary, change: str) -> None:
    """All others are covered by the link: `test_verify` changes each of them."""
    notary.tamper(f"UPDATE event SET {change} WHERE position = 5")
    first = notary.check().faults[0]
    assert (first.kind, first.position) == (SealFault.SEALED_EVENT, 5)


def test_a_seal_removed_from_the_database_is_found_by_the_directory(notary: Notary) -> None:
    notary.tamper("DELETE FROM seal WHERE number = 2")
    (found,) = notary.check().faults
    assert (found.kind, found.what) == (SealFault.SEAL, "seal 2 is gone from the database")


def forged(notary: Notary, seal: Seal) -> None:
    """Put a seal in place of another, in the database and in the directory."""
    notary.tamper("UPDATE seal SET document = %s WHERE number = %s", written(seal), seal.number)
    path_of(notary.directory, seal.number).write_text(written(seal))


def test_a_seal_made_anew_without_the_key_is_found(notary: Notary) -> None:
    """Somebody who owns the database and the directory, and has everything but the key."""
    last = kept(notary.directory)[1]
    forged(notary, dataclasses.replace(last, events=bytes(32)))
    assert SealFault.SIGNATURE in notary.kinds()
    forged(notary, dataclasses.replace(last, signature=None))
    assert SealFault.SIGNATURE in notary.kinds()


def test_a_seal_by_another_key_is_found(notary: Notary, tmp_path: Path) -> None:
    signing.make_keys(tmp_path / "other.pem")
    last = kept(notary.directory)[1]
    other = signing.signer(tmp_path / "other.pem")
    forged(notary, dataclasses.replace(last, signature=other.sign(last.digest)))
    assert notary.kinds() == {SealFault.SIGNATURE}


@pytest.mark.parametrize(
    "change",
    [
        lambda seal: dataclasses.replace(seal, number=3),
        lambda seal: dataclasses.replace(seal, previous=bytes(32)),
        lambda seal: dataclasses.replace(seal, first=8, marks=seal.marks[8:]),
        lambda seal: dataclasses.replace(seal, marks=seal.marks[8:]),
        lambda seal: dataclasses.replace(seal, last=11),
    ],
    ids=["number", "previous", "first", "marks", "last"],
)
def test_a_seal_that_does_not_continue_the_one_before_is_found(
    notary: Notary, change: Callable[[Seal], Seal]
) -> None:
    last = kept(notary.directory)[1]
    changed = change(last)
    notary.tamper("UPDATE seal SET document = %s WHERE number = 2", written(changed))
    report = check_seals(notary.log, None, None, lambda _: None)
    assert SealFault.SEAL in {fault.kind for fault in report.faults}


def test_a_changed_seal_is_no_seal(notary: Notary) -> None:
    path = path_of(notary.directory, 1)
    document = json.loads(path.read_text())
    for field in document["seal"]:
        changed = {**document, "seal": {**document["seal"], field: None}}
        with pytest.raises(BrokenChain):
            read(json.dumps(changed))
    document["seal"]["last"] = 5
    path.write_text(json.dumps(document))
    assert notary.kinds() == {SealFault.SEAL}


def test_a_seal_is_read_as_it_was_written(notary: Notary) -> None:
    for seal in notary.log.seals():
        assert read(written(seal)) == seal
        assert path_of(notary.directory, seal.number).read_text() == written(seal)


def test_a_directory_that_was_away_gets_what_it_missed(notary: Notary) -> None:
    for path in notary.directory.iterdir():
        path.unlink()
    assert notary.seal() == []
    assert notary.check().faults == ()


def test_two_sealers_at_once_make_one_seal(notary: Notary) -> None:
    notary.append()
    before = notary.log.last_seal()
    assert before is not None
    made = seals_module.make(before, notary.log.sealed_rows(13, 18), NOON)
    assert notary.log.add_seal(made)
    assert not notary.log.add_seal(made)


def test_the_service_cannot_change_a_seal(notary: Notary) -> None:
    for statement in ("DELETE FROM seal", "UPDATE seal SET document = ''", "TRUNCATE seal"):
        with notary.engine.connect() as connection, pytest.raises(Exception, match="denied"):
            connection.exec_driver_sql(statement)
