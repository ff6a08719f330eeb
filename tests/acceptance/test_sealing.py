"""Seals from the command line: kept elsewhere, signed, and asked for by `verify`."""

import json
import zlib
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from tests.acceptance.jobs import rayjob
from tests.acceptance.site import Site
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.processes import Terminal
from tests.support.recorded import append_lives
from tests.support.records import NOON, StreamWriter, a_stream

pytestmark = pytest.mark.postgres


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with two jobs of three events each."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        for name in ("one", "two"):
            ledger.store.append([StreamWriter(a_stream(name)).next({}, {}, {})])
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_a_log_is_sealed_and_verified_with_a_key_and_a_directory(
    filled: Terminal, ledger_url: str, tmp_path: Path
) -> None:
    assert "no seals" in filled.jobledger("verify").out
    filled.jobledger("seal", "key", "seal.pem")
    told = filled.jobledger(
        "seal", "add", "--seals", "elsewhere", "--key", "seal.pem", "--output", "json"
    )
    (made,) = json.loads(told.out)
    assert (made["number"], made["first"], made["last"], made["streams"]) == (1, 1, 6, 2)
    assert len(list((tmp_path / "elsewhere").iterdir())) == 1
    asked = ("verify", "--seals", "elsewhere", "--key", "seal.pem.pub")
    held = filled.jobledger(*asked).out
    assert f"held against 1 seal up to position 6, signed by {made['signed_by']}" in held
    assert made["digest"] in filled.jobledger("seal", "list", "--output", "json").out
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM event WHERE stream_id = %s", (a_stream("two"),))
        superuser.execute("DELETE FROM stream WHERE stream_id = %s", (a_stream("two"),))
        superuser.execute("UPDATE log_head SET position = 3")
    told = filled.jobledger(*asked, code=ExitCode.FOUND_WRONG)
    assert "sealed event at position 4" in told.out
    assert "the whole job is gone; it had 3 events in seal 1" in told.out


def test_a_running_service_seals_what_is_new_and_verify_asks_for_its_seals(site: Site) -> None:
    site.terminal.jobledger("seal", "key", "seal.pem")
    elsewhere, key = site.directory / "elsewhere", site.directory / "seal.pem"
    how = {"JOBLEDGER_SEALS_DIR": str(elsewhere), "JOBLEDGER_SEAL_KEY_FILE": str(key)}
    last = "SELECT coalesce(max(document::json #>> '{seal,last}')::bigint, 0) FROM seal"
    with site.controller(JOBLEDGER_SEAL_EVERY_SECONDS="1", **how) as controller:
        for name in ("one", "two"):
            site.submit(rayjob(name, "true", suspend=True))
            known = f"SELECT count(*) = 1 FROM job WHERE name = '{name}'"
            site.wait_for_true(f"{name} is in the log", known)
            position = site.value("SELECT position FROM log_head")
            site.wait_for_true(f"{name} is sealed", f"SELECT ({last}) >= %s", position)
        assert controller.terminate() == 0
        assert '"sealed"' in controller.log
        assert "not_sealed" not in controller.log
        assert "seals_broken" not in controller.log
    seals = site.value("SELECT count(*) FROM seal")
    assert len(list(elsewhere.iterdir())) == seals >= 2
    asked = ("verify", "--seals", str(elsewhere), "--key", f"{key}.pub")
    assert f"held against {seals} seals up to position" in site.terminal.jobledger(*asked).out
    swapped = "position = CASE position WHEN 1 THEN {0} ELSE 1 END WHERE position IN (1, {0})"
    other = site.value("SELECT min(position) FROM event WHERE stream_id <> %s", _first(site))
    with tampering(site.database_url) as superuser:
        superuser.execute(f"UPDATE event SET {swapped.format(other)}")
    told = site.terminal.jobledger(*asked, code=ExitCode.FOUND_WRONG)
    assert "sealed event at position 1" in told.out


def _first(site: Site) -> object:
    """Return the stream of the first event."""
    return site.value("SELECT stream_id FROM event WHERE position = 1")


def test_a_part_of_the_log_is_verified(filled: Terminal, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("UPDATE event SET actor = 'x' WHERE position = 5")
    filled.jobledger("verify", "--to", "4")
    told = filled.jobledger("verify", "--from", "4", code=ExitCode.FOUND_WRONG)
    assert "link at position 5" in told.out


def test_a_part_that_the_log_does_not_have_is_not_verified(filled: Terminal) -> None:
    beyond = filled.jobledger("verify", "--from", "7000", code=ExitCode.FOUND_WRONG).out
    assert "and should reach 6999 at least" in beyond
    assert "verified" not in beyond
    assert "stream" not in beyond, "it is a fault of none"
    refused = filled.jobledger("verify", "--from", "3", "--to", "2", code=ExitCode.USAGE)
    assert "--from 3 is after --to 2" in refused.err


def test_nothing_but_the_answer_is_said(filled: Terminal, ledger_url: str) -> None:
    filled.jobledger("seal", "add")
    sound = filled.jobledger("verify")
    assert (sound.err, "held against" in sound.out) == ("", True)
    with tampering(ledger_url) as superuser:
        superuser.execute("UPDATE seal SET document = '{}' WHERE number = 1")
    broken = filled.jobledger("verify", code=ExitCode.FOUND_WRONG)
    assert "seal: seal 1: it cannot be read" in broken.out
    assert "no seals" not in broken.out


BOMB = zlib.compress(b"0" * 2**25)
"""32 kB that would be 32 MiB."""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE evidence SET packed = '\\x00'", "it cannot be unpacked"),
        ("UPDATE evidence SET packed = substr(packed, 1, length(packed) - 9)", "it breaks off"),
        (f"UPDATE evidence SET packed = '\\x{BOMB.hex()}'", "it is more than 16777216 bytes"),
        ("UPDATE evidence SET digest = sha256('x')", "an event names it, and it is gone"),
        ("UPDATE evidence SET digest = sha256('x')", "not have the content it was named by"),
        ("DELETE FROM evidence", "an event names it, and it is gone"),
    ],
)
def test_changed_evidence_is_found(
    terminal: Terminal, ledger_url: str, change: str, said: str
) -> None:
    (case,) = (case for case in PROGRAMS if case.name == "a full disk")
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, [("full", case.story)])
        for content in case.capture.contents.values():
            PostgresEvidence(engine).put(content, NOON)
    at_ledger = terminal.with_environment(DATABASE_URL=ledger_url)
    at_ledger.jobledger("verify")
    with tampering(ledger_url) as superuser:
        superuser.execute(change)
    assert said in at_ledger.jobledger("verify", code=ExitCode.FOUND_WRONG).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("seal", "add", "--key", "nowhere.pem"), "nowhere.pem cannot be read"),
        (("seal", "add", "--key", "empty.pem"), "holds no private key in PEM form"),
        (("verify", "--key", "empty.pem"), "holds no public key in PEM form"),
        (("verify", "--seals", "nowhere"), "nowhere is no directory of seals"),
        (("seal", "key", "empty.pem"), "empty.pem cannot be made"),
    ],
)
def test_a_wrong_key_or_directory_is_told_in_one_line(
    filled: Terminal, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    (tmp_path / "empty.pem").write_text("")
    ended = filled.jobledger(*arguments, code=ExitCode.MISCONFIGURED)
    assert said in ended.err
    assert "Traceback" not in ended.everything
