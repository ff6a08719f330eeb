"""Nobody hides a removal behind an archive: without a record, with a forged one, with no file."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobledger.adapters.forensics import signing
from jobledger.adapters.postgres.schema.tables import metadata
from jobledger.adapters.postgres.verifying.verify import FaultKind
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.seals.sealing import SealFault
from tests.adapters.postgres.archive_site import Site, filled_site
from tests.support import rayjob_stories as stories
from tests.support.ledgers import tampering

pytestmark = pytest.mark.postgres


@pytest.fixture
def site(ledger_url: str, tmp_path: Path) -> Iterator[Site]:
    """A filled ledger."""
    with filled_site(ledger_url, tmp_path) as made:
        yield made


def test_only_archived_rows_can_be_deleted_and_only_by_the_owner(site: Site) -> None:
    site.archive()
    with psycopg.connect(site.url.replace("+psycopg", ""), autocommit=True) as owner:
        for table in ("event", "stream", "archive", "archived_stream"):
            with pytest.raises(psycopg.Error, match="append-only"):
                owner.execute(f"DELETE FROM {table}")
        owner.execute("SET ROLE jobledger_app")
        for call in ("remove_archived_v1(1, 1)", "drop_archived_partition_v1()"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                owner.execute(f"SELECT {call}")


def test_a_removal_without_a_record_is_found(site: Site) -> None:
    site.archive()
    site.tamper("DELETE FROM event WHERE stream_id = %s", site.streams["there"])
    site.tamper("DELETE FROM stream WHERE stream_id = %s", site.streams["there"])
    found = site.faults()
    assert FaultKind.POSITION in found
    assert FaultKind.LOG_HEAD in found
    assert SealFault.SEALED_EVENT in found


def forge(site: Site, *, sign: bool = False) -> None:
    """Make a record that covers up a removal, as somebody could who owns the database."""
    stream = site.streams["there"]
    events = site.ledger.store.read_stream(stream)
    (last,) = list(site.ledger.archives.records())
    first_job = dataclasses.replace(
        last.jobs[0],
        stream=stream,
        version=len(events),
        chain=events[-1].record.chain,
        name="there",
    )
    made = dataclasses.replace(
        last,
        number=2,
        previous=last.digest,
        jobs=(first_job,),
        positions=tuple((item.position, item.position) for item in events),
        signature=None,
    )
    positions = made.positions
    whole = dataclasses.replace(made, positions=((positions[0][0], positions[-1][0]),))
    if sign:
        whole = dataclasses.replace(whole, signature=signing.signer(site.key).sign(whole.digest))
    site.tamper("UPDATE job SET deleted_at = now() WHERE stream_id = %s", stream)
    assert site.ledger.archives.keep(whole)
    assert list(site.ledger.archives.remove(2))


def test_a_record_that_covers_up_a_removal_is_found_by_key_copies_and_files(site: Site) -> None:
    site.archive()
    forge(site)
    assert set(site.faults()) == {SealFault.ARCHIVE}, "not signed, not kept elsewhere"
    assert SealFault.ARCHIVE in site.faults(with_files=True), "and no file bears it out"


def test_a_signed_record_without_a_file_is_found_by_the_files(site: Site) -> None:
    site.archive()
    forge(site, sign=True)
    site.seal()
    assert site.faults() == [], "whoever has the key can say what he likes"
    assert SealFault.ARCHIVE in site.faults(with_files=True), "but not bear it out"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE archive SET document = replace(document, '\"done\"', '\"dine\"')",
        "UPDATE archive SET positions = '{[1,2]}'",
        "UPDATE archived_stream SET version = version + 1",
        "DELETE FROM archived_stream",
        "DELETE FROM archive",
    ],
)
def test_a_changed_record_is_found(site: Site, change: str) -> None:
    site.archive()
    site.fill({"next": stories.succeeded})
    site.seal()
    site.tamper(change)
    assert SealFault.ARCHIVE in site.faults()


@pytest.mark.parametrize("table", ["archive", "archived_stream"])
def test_every_column_that_was_copied_from_a_record_is_held_against_it(
    site: Site, table: str
) -> None:
    site.archive()
    place = "archive" if table == "archived_stream" else "number"
    own = {place, "stream_id", "document"}
    for column in set(metadata.tables[table].columns.keys()) - own:
        backup = f"CREATE TABLE kept AS SELECT * FROM {table}"
        with tampering(site.url) as superuser:
            superuser.execute(backup.encode())
            superuser.execute(f"UPDATE {table} SET {column} = {OTHERS[column]}".encode())
            with pytest.raises(BrokenChain, match=column if table == "archive" else table):
                list(site.ledger.archives.records())
            superuser.execute(f"DELETE FROM {table}".encode())
            superuser.execute(f"INSERT INTO {table} SELECT * FROM kept".encode())
            superuser.execute("DROP TABLE kept")
    assert len(list(site.ledger.archives.records())) == 1, "nothing is wrong any more"


OTHERS = {
    "digest": "sha256('x')",
    "chain": "sha256('x')",
    "made_at": "made_at - interval '1 day'",
    "created_at": "created_at - interval '1 day'",
    "deleted_at": "deleted_at - interval '1 day'",
    "jobs": "jobs + 1",
    "events": "events + 1",
    "version": "version + 1",
    "positions": "'{[1,2]}'",
    **dict.fromkeys(("file", "cluster", "kind", "namespace", "name", "uid"), "'another'"),
}
"""Another value for each column."""


def test_a_changed_copy_of_a_record_hides_nothing_else(site: Site) -> None:
    site.archive()
    (copy,) = site.copies.glob("archive-*")
    copy.write_text(copy.read_text().replace("1", "2"), encoding="utf-8")
    site.tamper("UPDATE event SET actor = 'nobody' WHERE stream_id = %s", site.streams["busy"])
    assert site.faults() == ["link", "archive"]
    site.tamper("UPDATE archive SET made_at = made_at - interval '1 day'")
    assert site.faults() == ["link", "archive", "archive"], "the record, and the copy"


def test_a_changed_file_is_found(site: Site) -> None:
    (record,) = site.archive().records
    path = site.directory / record.file.name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert SealFault.ARCHIVE in site.faults(with_files=True)
    path.unlink()
    assert SealFault.ARCHIVE in site.faults(with_files=True)
    assert site.faults() == [], "without the files nobody looks at them"


def test_an_event_put_back_in_the_place_of_an_archived_one_is_found(site: Site) -> None:
    (record,) = site.archive().records
    place = record.positions[0][0]
    site.tamper(
        "INSERT INTO event SELECT %s, stream_id, 99, gen_random_uuid(), type, schema_version, "
        "occurred_at, recorded_at, actor, epoch, causation_id, correlation_id, data, data_sha, "
        "chain FROM event WHERE stream_id = %s AND version = 1",
        place,
        site.streams["busy"],
    )
    found = site.faults()
    assert FaultKind.LOG_HEAD in found
    assert SealFault.SEALED_EVENT in found
