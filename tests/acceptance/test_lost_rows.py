"""Rows of no job of the log: found by whoever folds all of it, and removed by who may."""

import json

import pytest
from sqlalchemy import make_url

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.connection.engine import APP_ROLE
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger, tampering
from tests.support.lost_rows import NOBODY, PROJECTIONS, leave_rows
from tests.support.processes import Finished, Terminal
from tests.support.recorded import append_lives

pytestmark = [pytest.mark.faults, pytest.mark.postgres]


@pytest.fixture
def at(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal of the owner of a ledger with a job, and with rows of one that it has not."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, {"there": lambda: stories.failed_attempts(1, backoff_limit=2)}.items())
    with tampering(ledger_url) as superuser:
        for table in PROJECTIONS:
            leave_rows(superuser, table)
    return terminal.with_environment(DATABASE_URL=ledger_url)


def told(finished: Finished) -> list[tuple[str, str, str]]:
    rows = json.loads(finished.out)
    assert all(str(NOBODY) in row["key"] for row in rows)
    return sorted((row["table"], row["found"], row["expected"]) for row in rows)


LOST = sorted((table, "present", "absent") for table in PROJECTIONS)
CHECK = ("rebuild", "--check", "--output", "json")


def test_rows_of_no_job_are_found_and_removed(at: Terminal) -> None:
    assert told(at.jobledger(*CHECK, code=ExitCode.FOUND_WRONG)) == LOST
    doctor = ("doctor", "--only", "database", "--full")
    said = " ".join(at.jobledger(*doctor, code=ExitCode.FOUND_WRONG).out.split())
    assert f"4 rows belong to no job of the log: job {NOBODY}" in said
    mended = at.jobledger("rebuild", "--output", "json")
    assert told(mended) == LOST
    assert mended.err == "", "there is no terminal to show progress in"
    assert "rebuilt 1 job: all rows" in at.jobledger("rebuild", "--check").out
    assert "belong to no job" not in at.jobledger(*doctor, code=None).out


def test_who_may_not_remove_them_is_told_who_may(at: Terminal, ledger_url: str) -> None:
    url = make_url(ledger_url)
    as_service = url.update_query_dict({"options": f"-c role={APP_ROLE}"})
    service = at.with_environment(DATABASE_URL=as_service.render_as_string(hide_password=False))
    refused = service.jobledger("rebuild", "--output", "json", code=ExitCode.FOUND_WRONG)
    assert told(refused) == LOST
    assert "run this as the user of `jobledger db upgrade`" in refused.err
    assert told(at.jobledger(*CHECK, code=ExitCode.FOUND_WRONG)) == LOST


def test_rows_of_a_job_whose_stream_was_lost_stay(at: Terminal, ledger_url: str) -> None:
    with tampering(ledger_url) as superuser:
        superuser.execute("DELETE FROM stream")
        at.jobledger("rebuild", code=ExitCode.FOUND_WRONG)
        left = superuser.execute("SELECT name, stream_id = %s FROM job", (NOBODY,))
        assert left.fetchall() == [("there", False)]
