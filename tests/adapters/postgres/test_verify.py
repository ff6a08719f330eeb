"""Whatever somebody does to the log behind our back, `verify` finds it."""

from contextlib import nullcontext

import psycopg
import pytest
from psycopg.errors import DivisionByZero
from sqlalchemy import Engine

from jobledger.adapters.postgres.verifying import rows as verify_rows
from jobledger.adapters.postgres.verifying import verify as verify_module
from jobledger.adapters.postgres.verifying.verify import Extent, FaultKind, VerifyReport, verify
from jobledger.core.values.documents import Manifest
from tests.support.ledgers import postgres_ledger, tampering
from tests.support.postgres import plain_url
from tests.support.records import StreamWriter, a_stream

pytestmark = pytest.mark.postgres

ONE, TWO, THREE = (a_stream(name) for name in ("one", "two", "three"))
EVENTS = 12


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """Three streams of four events each, appended in turn."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    writers = [StreamWriter(stream) for stream in (ONE, TWO, THREE)]
    for turn in range(2):
        parts = [writer.next({"turn": turn}, {"turn": [turn]}) for writer in writers]
        ledger.store.append(parts)
        for writer, part in zip(writers, parts, strict=True):
            writer.wrote(part)
    return engine


def checked(engine: Engine) -> VerifyReport:
    """Verify, and see that the progress adds up."""
    told: list[tuple[int, int]] = []
    report = verify(engine, lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    if report.events:
        assert told[-1] == (report.events, report.events)
    return report


def kinds(engine: Engine) -> set[FaultKind]:
    return {fault.kind for fault in checked(engine).faults}


def tamper(url: str, statement: str, *values: object) -> None:
    with tampering(url) as superuser:
        changed = superuser.execute(statement, values)
        assert changed.rowcount != 0, "the test changed nothing"


def test_an_untouched_log_is_whole(filled: Engine) -> None:
    report = checked(filled)
    assert (report.events, report.streams, report.fault) == (EVENTS, 3, None)


def test_an_empty_log_is_whole(engine: Engine) -> None:
    report = checked(engine)
    assert (report.events, report.streams, report.faults) == (0, 0, ())


@pytest.mark.parametrize(
    ("number", "rows"), [("i", 5_000), ("i / 0 ", 0), ("i / (3000 - i)", 2_999)]
)
def test_rows_come_whole_and_then_an_error_if_there_is_one(
    ledger_url: str, number: str, rows: int
) -> None:
    query = f"COPY (SELECT {number}, repeat('x', 99) FROM generate_series(1, 5000) i) TO STDOUT"
    found: list[bytes] = []
    with psycopg.connect(plain_url(ledger_url), autocommit=True) as connection:
        with (
            pytest.raises(DivisionByZero) if rows < 5_000 else nullcontext(),
            connection.cursor() as cursor,
            cursor.copy(f"{query} (FORMAT BINARY)".encode()) as copy,
        ):
            found.extend(verify_rows.copied(connection, copy))
        assert len(found) == rows
        assert {len(row) for row in found} <= {2 + 4 + 4 + 4 + 99}
        assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_log_of_many_chunks_is_walked_whole(
    filled: Engine, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_rows, "TELL_EVENTS", 3)
    assert checked(filled).fault is None
    tamper(ledger_url, "UPDATE event SET actor = 'x' WHERE stream_id = %s AND version = 4", TWO)
    fault = checked(filled).fault
    assert fault is not None
    assert (fault.kind, fault.stream_id, fault.version) == (FaultKind.LINK, TWO, 4)


def test_processes_that_share_a_log_find_what_one_finds(
    filled: Engine, ledger_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify_module, "PROCESS_EVENTS", 4)
    tamper(ledger_url, "UPDATE event SET actor = 'x' WHERE version = 4")
    tamper(ledger_url, "UPDATE event SET version = 9 WHERE version = 3 AND stream_id = %s", TWO)
    alone = verify(filled, lambda *_: None)
    shared = verify(filled, lambda *_: None, Extent(processes=3))
    assert shared == alone
    assert shared.events == EVENTS


@pytest.mark.parametrize(("first", "last"), [(5, 9), (1, 12), (7, 7)])
def test_a_part_of_the_log_can_be_walked(filled: Engine, first: int, last: int) -> None:
    report = verify(filled, lambda *_: None, Extent(first=first, last=last))
    assert (report.events, report.faults) == (last - first + 1, ())


@pytest.mark.parametrize(
    ("extent", "wanted"),
    [(Extent(first=14), 13), (Extent(last=13), 13), (Extent(first=5, last=20), 20)],
)
def test_a_part_that_the_log_does_not_reach_is_no_sound_part(
    filled: Engine, extent: Extent, wanted: int
) -> None:
    """It may have been there, and cut off together with the head of the log."""
    (fault,) = verify(filled, lambda *_: None, extent).faults
    assert (fault.kind, fault.position) == (FaultKind.LOG_HEAD, EVENTS + 1)
    assert fault.what == f"the log ends with position 12 and should reach {wanted} at least"


def test_nothing_may_have_been_appended_since_the_last_position(filled: Engine) -> None:
    assert verify(filled, lambda *_: None, Extent(first=EVENTS + 1)).faults == ()


def test_a_fault_outside_the_part_is_not_looked_for(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "UPDATE event SET actor = 'x' WHERE position = 7")
    assert verify(filled, lambda *_: None, Extent(first=8)).fault is None
    fault = verify(filled, lambda *_: None, Extent(first=7, last=7)).fault
    assert fault is not None
    assert (fault.kind, fault.position) == (FaultKind.LINK, 7)


def test_an_event_gone_from_the_part_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "DELETE FROM event WHERE position = 12")
    fault = verify(filled, lambda *_: None, Extent(first=7, last=12)).fault
    assert fault is not None
    assert (fault.kind, fault.position) == (FaultKind.LOG_HEAD, 12)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("position = 99", FaultKind.POSITION),
        ("position = 5", FaultKind.POSITION),
        ("stream_id = gen_random_uuid()", FaultKind.HEAD),
        ("version = 9", FaultKind.VERSION),
        ("event_id = gen_random_uuid()", FaultKind.LINK),
        ("type = 'JobFailed'", FaultKind.LINK),
        ("schema_version = 2", FaultKind.LINK),
        ("occurred_at = occurred_at + interval '1 microsecond'", FaultKind.LINK),
        ("recorded_at = recorded_at - interval '1 microsecond'", FaultKind.LINK),
        ("actor = 'somebody'", FaultKind.LINK),
        ("epoch = 2", FaultKind.LINK),
        ("causation_id = gen_random_uuid()", FaultKind.LINK),
        ("correlation_id = gen_random_uuid()", FaultKind.LINK),
        ("data = data::jsonb || '{\"x\": 1}'", FaultKind.PAYLOAD),
        ("data_sha = sha256('x')", FaultKind.PAYLOAD),
        ("chain = sha256('x')", FaultKind.LINK),
    ],
)
def test_a_change_of_any_column_is_found(
    filled: Engine, ledger_url: str, change: str, found: FaultKind
) -> None:
    statement = "UPDATE event SET " + change + " WHERE stream_id = %s AND version = 2"
    tamper(ledger_url, statement, TWO)
    assert found in kinds(filled)


@pytest.mark.parametrize(
    "change",
    [
        "occurred_at = 'infinity'",
        "recorded_at = '-infinity'",
        "occurred_at = '0044-03-15 BC'",
        "recorded_at = '294000-01-01'",
    ],
)
def test_a_value_that_no_event_can_have_hides_no_other_fault(
    filled: Engine, ledger_url: str, change: str
) -> None:
    tamper(ledger_url, "UPDATE event SET " + change + " WHERE stream_id = %s AND version = 2", ONE)
    tamper(ledger_url, "UPDATE event SET actor = 'x' WHERE stream_id = %s AND version = 3", ONE)
    unread, other = checked(filled).faults
    assert (unread.kind, unread.stream_id, unread.version) == (FaultKind.UNREADABLE, ONE, 2)
    assert "a value is none that was written: " in unread.what
    assert (other.kind, other.stream_id, other.version) == (FaultKind.LINK, ONE, 3)


def test_a_payload_of_endless_nesting_hides_no_other_fault(filled: Engine, ledger_url: str) -> None:
    """Newer versions of Python read it, and find that it is none of an event."""
    nested = "UPDATE event SET data = (repeat('[', 3000) || repeat(']', 3000))::json"
    tamper(ledger_url, f"{nested} WHERE stream_id = %s AND version = 2", ONE)
    tamper(ledger_url, "UPDATE event SET actor = 'x' WHERE stream_id = %s AND version = 3", ONE)
    nested_one, other = checked(filled).faults
    assert nested_one.kind in (FaultKind.UNREADABLE, FaultKind.PAYLOAD)
    assert (nested_one.stream_id, nested_one.version) == (ONE, 2)
    assert (other.kind, other.stream_id, other.version) == (FaultKind.LINK, ONE, 3)


def test_hashes_that_are_too_short_are_found(filled: Engine, ledger_url: str) -> None:
    tamper(
        ledger_url,
        "UPDATE event SET data_sha = '', chain = '', data = '1', actor = 'x', type = 'x' "
        "WHERE stream_id = %s AND version = 2",
        ONE,
    )
    assert {FaultKind.LINK, FaultKind.PAYLOAD} <= kinds(filled)


@pytest.mark.parametrize("version", [-1, -(2**31)])
def test_a_version_below_none_is_named_as_it_is(
    filled: Engine, ledger_url: str, version: int
) -> None:
    tamper(
        ledger_url,
        "UPDATE event SET version = %s WHERE stream_id = %s AND version = 2",
        version,
        ONE,
    )
    fault = checked(filled).fault
    assert fault is not None
    assert (fault.kind, fault.version) == (FaultKind.VERSION, version)


def test_every_column_is_among_those_changes(filled: Engine) -> None:
    marks = test_a_change_of_any_column_is_found.pytestmark  # type: ignore[attr-defined]  # pytest puts it there
    changed = {change.split()[0] for change, _ in marks[0].args[1]}
    with filled.connect() as connection:
        columns = connection.exec_driver_sql("SELECT * FROM event LIMIT 0").keys()
    assert changed == set(columns)


@pytest.mark.parametrize(
    "form",
    [
        "data::text || ' '",
        "replace(data::text, ':', ' :')",
        "replace(data::text, '{', '{\"turn\": 9, ')",
        "replace(data::jsonb::text, '{', '{ ')",
    ],
)
def test_a_payload_that_says_the_same_in_another_text_is_found(
    filled: Engine, ledger_url: str, form: str
) -> None:
    tamper(
        ledger_url,
        f"UPDATE event SET data = ({form})::json WHERE stream_id = %s AND version = 3",
        ONE,
    )
    (fault,) = checked(filled).faults
    assert (fault.kind, fault.stream_id, fault.version) == (FaultKind.PAYLOAD, ONE, 3)
    assert fault.what == "the payload says what was recorded, but not in the text that was written"


def test_payloads_that_were_kept_as_jsonb_are_whole(engine: Engine, ledger_url: str) -> None:
    ledger, writer = postgres_ledger(engine), StreamWriter(ONE)
    ledger.take_all_shards()
    nested: Manifest = {"turn": 1, "a": [1, {"b": None}]}
    numbers: Manifest = {"small": 1.5e-10, "big": 10**300}
    for payload in (nested, numbers, {}):
        part = writer.next(payload)
        ledger.store.append([part])
        writer.wrote(part)
    tamper(ledger_url, "UPDATE event SET data = data::jsonb")
    assert checked(engine).faults == ()


def test_a_payload_changed_together_with_its_hash_breaks_the_chain(
    filled: Engine, ledger_url: str
) -> None:
    tamper(
        ledger_url,
        "UPDATE event SET data = %s, data_sha = sha256(%s) WHERE stream_id = %s AND version = 3",
        '{"turn":7}',
        b'{"turn":7}',
        ONE,
    )
    assert kinds(filled) == {FaultKind.LINK}


def test_a_row_removed_from_the_middle_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "DELETE FROM event WHERE stream_id = %s AND version = 2", ONE)
    report = checked(filled)
    assert {fault.kind for fault in report.faults} == {
        FaultKind.VERSION,
        FaultKind.POSITION,
        FaultKind.LOG_HEAD,
    }
    assert report.fault is not None
    assert report.fault.what == "version 3 follows version 1"


def test_a_row_removed_from_the_end_of_a_stream_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "DELETE FROM event WHERE stream_id = %s AND version = 4", THREE)
    report = checked(filled)
    assert {fault.kind for fault in report.faults} == {FaultKind.HEAD, FaultKind.LOG_HEAD}
    assert report.fault is not None
    assert report.fault.what == "the stream should end with version 4 and ends with 3"


def test_a_removed_stream_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "DELETE FROM event WHERE stream_id = %s", TWO)
    assert kinds(filled) == {FaultKind.HEAD, FaultKind.POSITION, FaultKind.LOG_HEAD}
    tamper(ledger_url, "DELETE FROM stream WHERE stream_id = %s", TWO)
    assert kinds(filled) == {FaultKind.POSITION, FaultKind.LOG_HEAD}


def test_a_removed_head_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(ledger_url, "DELETE FROM stream WHERE stream_id = %s", TWO)
    assert kinds(filled) == {FaultKind.HEAD}


@pytest.mark.parametrize(
    "change", ["version = 3", "chain = sha256('x')", "shard = (shard + 1) & 15"]
)
def test_a_changed_head_is_found(filled: Engine, ledger_url: str, change: str) -> None:
    tamper(ledger_url, "UPDATE stream SET " + change + " WHERE stream_id = %s", TWO)
    assert kinds(filled) == {FaultKind.HEAD}


@pytest.mark.parametrize("position", [11, 13, 2**63 - 1])
def test_a_changed_end_of_the_log_is_found(filled: Engine, ledger_url: str, position: int) -> None:
    tamper(ledger_url, "UPDATE log_head SET position = %s", position)
    assert kinds(filled) == {FaultKind.LOG_HEAD}


@pytest.mark.parametrize("change", ["DELETE FROM", "INSERT INTO"])
def test_a_log_without_its_one_end_is_found(filled: Engine, ledger_url: str, change: str) -> None:
    rest = " VALUES (false, 777)" if change == "INSERT INTO" else ""
    tamper(ledger_url, f"{change} log_head{rest}")
    assert kinds(filled) == {FaultKind.LOG_HEAD}


def swap(url: str, columns: str) -> None:
    """Swap columns between versions 2 and 3 of a stream."""
    tamper(
        url,
        f"UPDATE event e SET ({columns}) = (SELECT {columns} FROM event o "
        "WHERE o.stream_id = e.stream_id AND o.version = 5 - e.version) "
        "WHERE stream_id = %s AND version IN (2, 3)",
        ONE,
    )


def test_swapped_payloads_are_found(filled: Engine, ledger_url: str) -> None:
    swap(ledger_url, "data, data_sha")
    assert kinds(filled) == {FaultKind.LINK}


def test_swapped_positions_within_a_stream_are_found(filled: Engine, ledger_url: str) -> None:
    swap(ledger_url, "position")
    assert kinds(filled) == {FaultKind.ORDER}


def test_swapped_rows_are_found(filled: Engine, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser, superuser.transaction():
        for old, new in ((2, 99), (3, 2), (99, 3)):
            superuser.execute(
                "UPDATE event SET version = %s WHERE stream_id = %s AND version = %s",
                (new, ONE, old),
            )
    assert FaultKind.LINK in kinds(filled)


def test_an_inserted_row_is_found(filled: Engine, ledger_url: str) -> None:
    tamper(
        ledger_url,
        "INSERT INTO event SELECT 13, stream_id, 5, gen_random_uuid(), type, schema_version, "
        "occurred_at, recorded_at, actor, epoch, causation_id, correlation_id, data, data_sha, "
        "chain FROM event WHERE stream_id = %s AND version = 4",
        ONE,
    )
    assert kinds(filled) == {FaultKind.LINK, FaultKind.HEAD, FaultKind.LOG_HEAD}


def test_tampering_needs_more_than_the_service_has(filled: Engine) -> None:
    with filled.connect() as connection, pytest.raises(Exception, match="permission denied") as no:
        connection.exec_driver_sql("SET session_replication_role = replica")
    assert isinstance(no.value.__cause__, psycopg.errors.InsufficientPrivilege)
