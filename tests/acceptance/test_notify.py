"""`jobledger notify`, as somebody types it: dry run, trial, service, dead letters."""

import json
import signal
from pathlib import Path

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.support.canned_server import Answer, CannedServer
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.processes import Terminal
from tests.support.reported import reported_template, reported_url
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

__all__ = ["reported_template", "reported_url"]

RULES = """
targets:
  hook: {form: webhook, url: {env: HOOK}}
rules:
  - {name: failures, events: [job-failed], targets: [hook]}
"""


@pytest.fixture
def here(terminal: Terminal, reported_url: str, tmp_path: Path) -> Terminal:
    """A terminal at a ledger with a few jobs, and rules."""
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES)
    return terminal.with_environment(DATABASE_URL=reported_url, JOBLEDGER_NOTIFY_RULES=str(rules))


def test_a_dry_run_shows_what_would_be_told_and_sends_nothing(here: Terminal) -> None:
    told = here.jobledger("notify", "test").out
    assert "failures" in told
    assert " failed at " in told
    bodies = json.loads(here.jobledger("notify", "test", "-o", "json").out)
    assert len(bodies) == len(told.splitlines()) - 1 > 0
    assert {one["form"] for one in bodies} == {"webhook"}
    assert {one["body"]["rule"] for one in bodies} == {"failures"}
    assert "has never run" in here.jobledger("notify", "status").out


def test_a_target_is_tried_with_a_made_up_job(here: Terminal) -> None:
    with CannedServer(Answer(), Answer(404)) as server:
        here = here.with_environment(HOOK=server.url)
        assert here.jobledger("notify", "test", "--send-to", "hook").out == "hook took the notice\n"
        sent = server.received[0].json
        assert sent["job"]["name"] == "made-up-by-notify-test"
        assert (sent["job"]["kind"], sent["event"]["type"]) == ("RayJob", "JobFailed")
        words = ("notify", "test", "--send-to", "hook")
        told = here.jobledger(*words, code=int(ExitCode.FOUND_WRONG)).everything
        assert "hook did not take the notice: it answered 404" in told
    unknown = here.jobledger("notify", "test", "--send-to", "chat", code=int(ExitCode.USAGE))
    assert "there is no target 'chat'; write one of: hook" in unknown.everything


def test_rules_that_mean_nothing_are_refused(here: Terminal, tmp_path: Path) -> None:
    rules = tmp_path / "wrong.yaml"
    rules.write_text(RULES.replace("job-failed", "job-fialed"))
    words = ("notify", "run", "--rules", str(rules))
    told = here.jobledger(*words, code=int(ExitCode.MISCONFIGURED)).everything
    assert "rule 'failures': there is no event 'job-fialed'" in told


def test_it_tells_from_the_log_and_what_was_given_up_is_sent_again(
    here: Terminal, reported_url: str, tmp_path: Path
) -> None:
    with app_engine(reported_url) as engine:
        last = postgres_ledger(engine).store.last_position()
    with CannedServer() as server:
        here = here.with_environment(HOOK=server.url)
        bodies = json.loads(here.jobledger("notify", "test", "-o", "json").out)
        server.add(*[Answer(400)] * len(bodies))
        _begin_at_the_first_event(reported_url)
        ready = tmp_path / "ready"
        words = ("notify", "run", "--port", "0", "--ready-file", str(ready))
        running = here.start(words, tmp_path / "notify.log")
        server.wait_for_requests(len(bodies))
        wait_until(lambda: _dead(here) == len(bodies), "all were given up")
        status = json.loads(here.jobledger("notify", "status", "-o", "json").out)[0]
        assert (status["position"], status["last_position"]) == (last, last)
        assert {one["trouble"] for one in status["dead"]} == {"it answered 400"}
        server.add(*[Answer()] * len(bodies))
        assert here.jobledger("notify", "retry").out == f"{len(bodies)} will be sent again\n"
        received = server.wait_for_requests(2 * len(bodies))
        ids = sorted(one.json["id"] for one in received[len(bodies) :])
        assert ids == sorted(one["body"]["id"] for one in bodies)
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0
    assert here.jobledger("notify", "forget").out == "0 removed\n"


def _dead(here: Terminal) -> int:
    return len(json.loads(here.jobledger("notify", "status", "-o", "json").out)[0]["dead"])


def _begin_at_the_first_event(url: str) -> None:
    with app_engine(url) as engine, engine.connect() as connection:
        connection.exec_driver_sql("SELECT put_notifications_v1(NULL, 0, '[]')")
