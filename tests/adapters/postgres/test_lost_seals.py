"""Seals that are gone, moved, replaced or put in are said, without a copy as far as that goes."""

import re
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

from jobledger.adapters.forensic_wiring import SealingDuty
from jobledger.adapters.forensics.seal_files import kept, path_of
from jobledger.adapters.forensics.sealed import SealOptions, check_seals, seal_new
from jobledger.adapters.postgres.checks.housekeeping import seals as seals_check
from jobledger.adapters.postgres.verifying.condition import condition
from jobledger.adapters.settings import Settings
from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.findings import Severity
from jobledger.core.forensics.seals import seals as seals_module
from jobledger.core.forensics.seals.sealing import SealFault
from tests.adapters.postgres.notary import Notary, nothing_wrong
from tests.support.postgres import plain_url
from tests.support.records import NOON

pytestmark = pytest.mark.postgres


@pytest.fixture
def three(notary: Notary) -> Notary:
    """A log with three seals, and events that are not sealed yet."""
    notary.append()
    notary.seal()
    notary.append()
    return notary


def without_directory(notary: Notary) -> set[SealFault]:
    """Return what is found by what is in the database alone."""
    report = check_seals(notary.log, None, None, lambda _: None)
    return {fault.kind for fault in report.faults}


TAMPERED_SEALS = {
    "the first one removed": "DELETE FROM seal WHERE number = 1",
    "one in the middle removed": "DELETE FROM seal WHERE number = 2",
    "the last one removed": "DELETE FROM seal WHERE number = 3",
    "all removed": "DELETE FROM seal",
    "the last position further": "UPDATE seal SET last_position = 19 WHERE number = 3",
    "the last position far beyond the log": "UPDATE seal SET last_position = 99 WHERE number = 3",
    "the last position back": "UPDATE seal SET last_position = 17 WHERE number = 3",
    "the first position": "UPDATE seal SET first_position = 14 WHERE number = 3",
    "positions of an earlier one": "UPDATE seal SET last_position = 11 WHERE number = 2",
    "the last one numbered anew": "UPDATE seal SET number = 4 WHERE number = 3",
    "one moved before the first": "UPDATE seal SET number = 0 WHERE number = 1",
    "the last one unreadable": "UPDATE seal SET document = '{}' WHERE number = 3",
    "an earlier one in place of the last": (
        "UPDATE seal SET document = (SELECT document FROM seal WHERE number = 1) WHERE number = 3"
    ),
    "one put in": ("INSERT INTO seal SELECT 4, 19, 24, document FROM seal WHERE number = 3"),
    "the note of the newest turned back": "UPDATE seal_head SET number = 2",
    "the note of the newest changed": "UPDATE seal_head SET digest = sha256('x')",
    "the note of the newest removed": "DELETE FROM seal_head",
}


@pytest.mark.parametrize("change", TAMPERED_SEALS.values(), ids=TAMPERED_SEALS)
def test_a_changed_table_of_seals_is_said_by_everybody(three: Notary, change: str) -> None:
    """By `verify`, by `seal add` and the service, by `doctor`; no copy elsewhere is asked."""
    three.tamper(change)
    assert SealFault.SEAL in without_directory(three)
    with pytest.raises(BrokenChain):
        seal_new(three.log, lambda: NOON, nothing_wrong, SealOptions())
    assert Severity.ERROR in {item.severity for item in seals_check(condition(three.engine))}


def test_an_unreadable_seal_in_the_middle_is_named_by_verify(three: Notary) -> None:
    three.tamper("UPDATE seal SET document = '{}' WHERE number = 2")
    report = check_seals(three.log, None, None, lambda _: None)
    (found,) = report.faults
    assert found.what.startswith("seal 2: it cannot be read")


def test_what_is_new_is_sealed_though_an_earlier_seal_is_gone(three: Notary) -> None:
    three.tamper("DELETE FROM seal WHERE number = 2")
    with pytest.raises(BrokenChain, match="seal 2 is gone: seal 3 is the next"):
        three.seal()
    last = three.log.last_seal()
    assert last is not None
    assert (last.number, last.last) == (4, 24)


def test_the_newest_seal_removed_with_the_note_of_it_is_known_to_the_directory(
    three: Notary,
) -> None:
    digest = kept(three.directory)[1].digest
    three.tamper("DELETE FROM seal WHERE number = 3")
    three.tamper("UPDATE seal_head SET number = 2, digest = %s", digest)
    assert without_directory(three) == set(), "nothing in the database speaks of it any more"
    assert three.kinds() == {SealFault.SEAL}
    with pytest.raises(BrokenChain, match="keeps it, and it is gone from the database"):
        three.seal()


def test_the_newest_seal_removed_with_the_note_of_it_is_known_to_the_running_service(
    three: Notary, tmp_path: Path
) -> None:
    settings = Settings(data_dir=tmp_path)
    told: list[int] = []
    duty = SealingDuty(settings, three.engine, told.append)
    duty.seal()
    newest = three.log.last_seal()
    assert newest is not None
    before = three.log.kept_seal(newest.number - 1)
    assert before is not None
    three.tamper("DELETE FROM seal WHERE number = %s", newest.number)
    three.tamper("UPDATE seal_head SET number = %s, digest = %s", before.number, before.digest)
    duty.seal()
    assert told == [1, 0]


def test_the_running_service_dates_seals_by_the_clock_of_its_events(
    three: Notary, tmp_path: Path
) -> None:
    """A machine's clock that was set by hours dated seals before, or after, all they cover."""
    three.append()
    told: list[int] = []
    SealingDuty(Settings(data_dir=tmp_path), three.engine, told.append, lambda: NOON).seal()
    assert told == [1]
    newest = three.log.last_seal()
    assert newest is not None
    assert newest.sealed_at == NOON


def test_a_copy_that_is_gone_from_the_directory_is_said(three: Notary) -> None:
    path_of(three.directory, 3).unlink()
    (found,) = three.check().faults
    assert found.what.startswith("seal 3 is in the database, and ")
    three.append()
    three.seal()
    assert three.check().faults == (), "the next seal makes the copy anew"


def test_a_seal_is_put_back_from_its_copy_as_the_howto_says(three: Notary) -> None:
    howto = Path("docs/howto/prove-the-log.md").read_text(encoding="utf-8")
    (statements,) = re.findall(r"```sql\n(BEGIN;.*?INSERT INTO seal.*?)```", howto, re.DOTALL)
    copy = path_of(three.directory, 3).read_text()
    three.tamper("DELETE FROM seal WHERE number = 3")
    with psycopg.connect(plain_url(three.url), autocommit=True) as owner:
        owner.execute(statements.replace("'…'", sql.Literal(copy).as_string(owner)).encode())
    assert three.check().faults == ()
    assert len(three.seal()) == 1


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE seal_head SET number = 1",
        "UPDATE seal_head SET number = 9",
        "DELETE FROM seal_head",
        "TRUNCATE seal_head",
    ],
)
def test_the_note_of_the_newest_seal_only_moves_on(three: Notary, change: str) -> None:
    with (
        psycopg.connect(plain_url(three.url), autocommit=True) as owner,
        pytest.raises(psycopg.Error, match="append-only"),
    ):
        owner.execute(change.encode())


def test_what_is_no_seal_is_not_kept(three: Notary) -> None:
    before = three.log.last_seal()
    assert before is not None
    made = seals_module.make(before, three.log.sealed_rows(19, 24), NOON)
    for wrong in (replace(made, previous=bytes(32)), replace(made, number=5)):
        with pytest.raises(BrokenChain, match="it is not the seal that follows seal 3"):
            three.log.add_seal(replace(wrong))
