"""Reports from the command line: found wrong, computed anew, found right."""

import json

import psycopg
import pytest
from sqlalchemy import make_url

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.postgres.connection.engine import APP_ROLE
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.postgres import plain_url
from tests.support.processes import Terminal
from tests.support.recorded import append_lives

pytestmark = pytest.mark.postgres


def test_reports_are_checked_and_rebuilt(terminal: Terminal, ledger_url: str) -> None:
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, {"done": stories.succeeded, "there": stories.working}.items())
    at = terminal.with_environment(DATABASE_URL=ledger_url)
    assert "2 jobs: all rows and columns are the fold" in at.jobledger("rebuild", "--reports").out
    assert "equal the fold" in at.jobledger("rebuild", "--reports", "--check").out
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        append_lives(ledger, {"late": stories.succeeded}.items())
    # The tables are as far as their checkpoint says, and right up to there.
    assert "3 jobs" in at.jobledger("rebuild", "--reports", "--check").out
    assert "equal the fold" in at.jobledger("rebuild", "--check").out


def test_a_difference_is_told_with_its_column(terminal: Terminal, ledger_url: str) -> None:
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, {"done": stories.succeeded}.items())
    at = terminal.with_environment(DATABASE_URL=ledger_url)
    at.jobledger("rebuild", "--reports")
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("UPDATE report_job SET outcome = 'failed'")
    asked = ("rebuild", "--reports", "--check", "--output", "json")
    (found,) = json.loads(at.jobledger(*asked, code=ExitCode.FOUND_WRONG).out)
    told = (found["table"], found["column"], found["found"], found["expected"])
    assert told == ("report_job", "outcome", "failed", "succeeded")
    with psycopg.connect(plain_url(ledger_url)) as connection:
        connection.execute("UPDATE report_dimension SET queue = 'x'")
    assert len(json.loads(at.jobledger(*asked, code=ExitCode.FOUND_WRONG).out)) == 2
    as_service = make_url(ledger_url).update_query_dict({"options": f"-c role={APP_ROLE}"})
    service = at.with_environment(DATABASE_URL=as_service.render_as_string(hide_password=False))
    left = service.jobledger("rebuild", "--reports", code=ExitCode.FOUND_WRONG)
    assert "report_dimension" in left.out
    assert "run this as the user of `jobledger db upgrade`" in left.err
    assert at.jobledger("rebuild", "--reports").err == ""
    at.jobledger(*asked)
