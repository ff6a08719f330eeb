"""Notices on a real Postgres and a real HTTP server: each target is told at least once."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from unittest.mock import patch

import psycopg
import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine
from structlog.testing import capture_logs

from jobledger.adapters.ledger_wiring import Ledger, open_ledger
from jobledger.adapters.notifying import service
from jobledger.adapters.notifying.rules_file import Secret, Target
from jobledger.adapters.notifying.sending import NotTaken
from jobledger.adapters.notifying.service import LONGEST_PAUSE, Notifier, Reader, pause_of
from jobledger.adapters.postgres.log.notifications import PostgresNotifications
from jobledger.adapters.telemetry.metrics import NotificationMetrics
from jobledger.core.notifications.messages import Form, Notice
from jobledger.core.notifications.rules import Rule
from jobledger.core.notifications.waiting import Taken
from tests.support.canned_server import Answer, CannedServer
from tests.support.ledgers import app_engine
from tests.support.notices import a_notice
from tests.support.postgres import plain_url
from tests.support.records import NOON
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

EVERY_END = Rule(name="ends", targets=("hook",), events=("job-failed", "job-complete"))


class Killed(BaseException):
    """The end of a process."""


@pytest.fixture
def opened(reported_url: str) -> Iterator[Ledger]:
    """A log with a few jobs; nobody was told of any."""
    with app_engine(reported_url) as engine:
        yield open_ledger(reported_url, engine)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CannedServer]:
    with CannedServer() as running:
        monkeypatch.setenv("HOOK", running.url)
        yield running


def a_target(tries: int = 12) -> Target:
    return Target(form=Form.WEBHOOK, url=Secret(env="HOOK"), per_minute=6000, tries=tries)


def a_notifier(
    opened: Ledger, *rules: Rule, targets: Mapping[str, Target] | None = None
) -> tuple[Notifier, NotificationMetrics]:
    metrics = NotificationMetrics(CollectorRegistry())
    notifier = Notifier(
        Reader(opened.store, opened.evidence.get, rules or (EVERY_END,)),
        opened.notifications,
        targets or {"hook": a_target()},
        metrics,
        lambda: NOON,
    )
    return notifier, metrics


def from_the_beginning(opened: Ledger) -> None:
    """Have the log be told of from its first event on."""
    assert opened.notifications.put(None, 0, ())


def read_all(notifier: Notifier) -> None:
    while notifier.look(0):
        pass


def send_all(notifier: Notifier, name: str = "hook") -> None:
    while notifier.send_due(name):
        pass


def value(metrics: NotificationMetrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"jobledger_{name}", labels)


def ends(url: str) -> list[str]:
    """Return the ids of the events that tell of an end, by the database itself."""
    with psycopg.connect(plain_url(url)) as connection:
        rows = connection.execute(
            "SELECT event_id::text FROM event WHERE type LIKE '%JobFailed'"
            " OR type LIKE '%JobCompleted' ORDER BY position"
        ).fetchall()
    return [row[0] for row in rows]


def due_now(url: str) -> None:
    """Have the pauses, and the leases of whoever died, be over."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute("UPDATE notification SET due_at = now() WHERE NOT dead")


def told_of(server: CannedServer) -> list[str]:
    return [request.json["event"]["id"] for request in server.received]


def test_it_begins_at_the_end_of_the_log(opened: Ledger, server: CannedServer) -> None:
    notifier, _ = a_notifier(opened)
    assert opened.notifications.lag().position is None
    read_all(notifier)
    lag = opened.notifications.lag()
    assert lag.position == lag.last_position > 0
    send_all(notifier)
    assert server.received == []


def test_each_end_is_told_once_and_nothing_stays(
    opened: Ledger, server: CannedServer, reported_url: str
) -> None:
    from_the_beginning(opened)
    notifier, metrics = a_notifier(opened)
    wanted = ends(reported_url)
    assert len(wanted) > 3
    server.add(*[Answer()] * len(wanted))
    read_all(notifier)
    read_all(notifier)
    send_all(notifier)
    send_all(notifier)
    assert sorted(told_of(server)) == sorted(wanted)
    assert opened.notifications.waiting() == []
    assert value(metrics, "notifications_sent_total", target="hook") == len(wanted)
    lag = opened.notifications.lag()
    assert (lag.events, lag.seconds) == (0, 0.0)


@pytest.mark.parametrize("batch", [7, 10_000])
def test_how_the_log_is_cut_shows_nowhere(
    opened: Ledger, reported_url: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_the_beginning(opened)
    monkeypatch.setattr(Reader.after, "__defaults__", (batch,))
    read_all(a_notifier(opened)[0])
    [waits] = opened.notifications.waiting()
    assert waits.waiting == len(ends(reported_url))


@contextmanager
def killed_at(method: str, *, after: bool, call: int = 1) -> Iterator[None]:
    """End the process at a call of the ledger, before or after the commit."""
    original, calls = getattr(PostgresNotifications, method), 0

    def dies(self: PostgresNotifications, *arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call and not after:
            raise Killed
        answer = original(self, *arguments)
        if calls == call:
            raise Killed
        return answer

    with patch.object(PostgresNotifications, method, dies):
        yield


@pytest.mark.parametrize("after", [False, True])
def test_a_death_between_sending_and_saying_so_tells_again_and_loses_nothing(
    opened: Ledger, server: CannedServer, reported_url: str, after: bool
) -> None:
    from_the_beginning(opened)
    wanted = ends(reported_url)
    server.add(*[Answer()] * (len(wanted) + 1))
    first, _ = a_notifier(opened)
    read_all(first)
    with pytest.raises(Killed), killed_at("delivered", after=after, call=2):
        send_all(first)
    assert len(told_of(server)) == 2
    second, _ = a_notifier(opened)
    send_all(second)
    due_now(reported_url)  # what the dead one had taken
    send_all(second)
    told = told_of(server)
    assert set(told) == set(wanted)
    assert len(told) == len(wanted) + (0 if after else 1)
    assert told.count(told[1]) == (1 if after else 2)
    assert opened.notifications.waiting() == []


@pytest.mark.parametrize("after", [False, True])
def test_a_death_while_reading_loses_and_repeats_nothing(
    opened: Ledger, reported_url: str, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_the_beginning(opened)
    monkeypatch.setattr(Reader.after, "__defaults__", (30,))
    with pytest.raises(Killed), killed_at("put", after=after, call=3):
        read_all(a_notifier(opened)[0])
    assert opened.notifications.lag().position == (90 if after else 60)
    read_all(a_notifier(opened)[0])
    [waits] = opened.notifications.waiting()
    assert waits.waiting == len(ends(reported_url))


def test_two_readers_tell_nothing_twice(opened: Ledger, reported_url: str) -> None:
    from_the_beginning(opened)
    one, other = a_notifier(opened)[0], a_notifier(opened)[0]
    while one.look(0) + other.look(0):
        pass
    [waits] = opened.notifications.waiting()
    assert waits.waiting == len(ends(reported_url))


def test_whoever_is_behind_puts_nothing(opened: Ledger) -> None:
    from_the_beginning(opened)
    notices = opened.notifications
    assert notices.put(0, 5, ())
    assert not notices.put(0, 9, (a_notice(),))
    assert not notices.put(5, 4, (a_notice(),)), "it never goes back"
    assert not notices.put(5, 10**9, (a_notice(),)), "nor past the end of the log"
    assert notices.waiting() == []
    assert notices.lag().position == 5


def test_what_one_has_taken_another_is_not_given(opened: Ledger, reported_url: str) -> None:
    from_the_beginning(opened)
    read_all(a_notifier(opened)[0])
    notices, lease = opened.notifications, timedelta(minutes=1)
    first, second = notices.take("hook", 2, lease), notices.take("hook", 100, lease)
    assert len(first) == 2
    taken = [one.notice.id for one in (*first, *second)]
    assert len(taken) == len(set(taken)) == len(ends(reported_url))
    assert notices.take("hook", 100, lease) == []
    due_now(reported_url)
    [again, *_] = notices.take("hook", 1, lease)
    assert again.tries == 2
    late = next(one for one in (*first, *second) if one.notice.id == again.notice.id)
    notices.delivered(late)
    notices.not_taken(late, "too late", None)
    [waits] = notices.waiting()
    assert (waits.waiting, waits.dead) == (len(taken), 0), "who comes late changes nothing"


def put_one(opened: Ledger) -> Notice:
    from_the_beginning(opened)
    notice = a_notice()
    assert opened.notifications.put(0, 10, (notice,))
    return notice


def test_a_notice_is_tried_again_then_given_up_then_revived(
    opened: Ledger, server: CannedServer, reported_url: str
) -> None:
    notice = put_one(opened)
    target = {"chat": a_target(tries=3)}
    notifier, metrics = a_notifier(opened, targets=target)
    server.add(*[Answer(503)] * 3)
    with capture_logs() as lines:
        for tries in range(1, 4):
            send_all(notifier, "chat")
            assert len(server.received) == tries
            send_all(notifier, "chat")
            assert len(server.received) == tries, "a pause comes before the next try"
            due_now(reported_url)
    assert [line["event"] for line in lines] == ["notice_not_taken", "notice_given_up"]
    [dead] = opened.notifications.dead(10)
    assert (dead.notice, dead.tries, dead.trouble) == (notice, 3, "it answered 503")
    read_all(notifier)
    assert value(metrics, "notifications_dead", target="chat") == 1
    assert value(metrics, "notification_failures_total", target="chat") == 3
    assert opened.notifications.clear_dead("other", again=True) == 0
    assert opened.notifications.clear_dead("chat", again=True) == 1
    server.add(Answer())
    send_all(notifier, "chat")
    read_all(notifier)
    assert server.received[-1].json["id"] == str(notice.id)
    assert value(metrics, "notifications_dead", target="chat") == 0
    assert "chat" not in [one.target for one in opened.notifications.waiting()]


def test_what_would_be_refused_again_is_given_up_at_once(
    opened: Ledger, server: CannedServer
) -> None:
    put_one(opened)
    server.add(Answer(400))
    send_all(a_notifier(opened, targets={"chat": a_target()})[0], "chat")
    [dead] = opened.notifications.dead(10)
    assert dead.tries == 1
    assert opened.notifications.clear_dead("", again=False) == 1
    assert opened.notifications.dead(10) == []


def test_a_notice_waits_as_it_will_be_sent(opened: Ledger) -> None:
    notice = put_one(opened)
    [taken] = opened.notifications.take("chat", 5, timedelta(minutes=1))
    assert taken == Taken(notice=notice, tries=1)


def test_pauses_double_up_to_an_hour_and_hear_what_is_asked_for() -> None:
    def pause(tries: int, error: NotTaken) -> timedelta | None:
        return pause_of(a_target(tries=50), Taken(notice=a_notice(), tries=tries), error)

    plain = NotTaken("it answered 503")
    pauses = [pause(tries, plain) or LONGEST_PAUSE * 9 for tries in range(1, 50)]
    assert all(found <= 2 * before * 1.25 for before, found in pairwise(pauses))
    assert timedelta(seconds=8) <= pauses[0] <= timedelta(seconds=10)
    assert max(pauses) <= LONGEST_PAUSE
    assert pause(50, plain) is None
    assert pause(1, NotTaken("x", for_good=True)) is None
    assert pause(1, NotTaken("x", again_in=timedelta(minutes=2))) == timedelta(minutes=2)
    assert pause(1, NotTaken("x", again_in=timedelta(days=1))) == LONGEST_PAUSE


def test_nothing_is_told_before_it_was_there_for_a_while(
    opened: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    from_the_beginning(opened)
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    notifier, _ = a_notifier(opened)
    notifier.look(10)
    now += 9
    notifier.look(10)
    assert opened.notifications.waiting() == []
    now += 1
    notifier.look(10)
    assert opened.notifications.waiting() != []


def test_the_database_and_the_log_lines_know_no_address(
    opened: Ledger,
    server: CannedServer,
    reported_url: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put_one(opened)
    monkeypatch.setenv("HOOK", f"{server.url}/services/T000SECRET")
    server.add(Answer(503, body=b"T000SECRET", headers={"Location": "T000SECRET"}))
    send_all(a_notifier(opened, targets={"chat": a_target()})[0], "chat")
    with psycopg.connect(plain_url(reported_url)) as connection:
        [row] = connection.execute("SELECT notification::text FROM notification").fetchall()
    assert "it answered 503" in row[0]
    said = capsys.readouterr()
    assert "notice_not_taken" in said.out + said.err
    assert "T000SECRET" not in row[0] + said.out + said.err


def test_a_target_that_does_not_answer_holds_up_no_other(
    opened: Ledger, server: CannedServer, reported_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And it stops while that one waits: both threads are asked to."""
    from_the_beginning(opened)
    monkeypatch.setattr(service, "PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(service, "SETTLING_SECONDS", 0.0)
    monkeypatch.setattr(Notifier.look, "__defaults__", (0.0,))
    wanted = ends(reported_url)
    server.add(*[Answer()] * len(wanted))
    rule = Rule(name="ends", targets=("hook", "silent"), events=EVERY_END.events)
    with CannedServer() as silent:  # it never answers
        monkeypatch.setenv("SILENT", silent.url)
        mute = Target(form=Form.WEBHOOK, url=Secret(env="SILENT"))
        notifier, _ = a_notifier(opened, rule, targets={"hook": a_target(), "silent": mute})
        notifier.start()
        silent.wait_for_requests(1)
        server.wait_for_requests(len(wanted))
        assert notifier.is_alive()
        wait_until(
            lambda: [one.target for one in opened.notifications.waiting()] == ["silent"],
            "all was taken",
        )
        stopping = notifier
    stopping.stop()
    assert not stopping.is_alive()


def test_a_job_that_cannot_be_read_holds_up_no_other(
    opened: Ledger, engine: Engine, reported_url: str
) -> None:
    del engine
    wanted = len(ends(reported_url))
    with psycopg.connect(plain_url(reported_url), autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")  # past the triggers
        connection.execute(
            'UPDATE event SET data = \'{"attempt": "one"}\' WHERE version = 3 AND stream_id ='
            " (SELECT stream_id FROM event WHERE type LIKE '%JobCompleted' LIMIT 1)"
        )
    from_the_beginning(opened)
    read_all(a_notifier(opened)[0])
    [waits] = opened.notifications.waiting()
    assert waits.waiting == wanted - 1
