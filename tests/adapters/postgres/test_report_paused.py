"""Nothing stands of a Job that is suspended, though its attempt goes on."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine, text

from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question
from tests.rules.projections.test_paused_attempts import PAUSED, RESUMED
from tests.support.batch_lives import recorded_job
from tests.support.batchjobs import Step
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_records
from tests.support.records import NOON
from tests.support.reported import project_all

pytestmark = pytest.mark.postgres

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("story", "stands", "held"), [(PAUSED, False, 100), (RESUMED[:-1], True, DAY.total_seconds())]
)
def test_a_suspended_job_holds_no_more_until_it_is_resumed(
    engine: Engine, story: tuple[Step, ...], *, stands: bool, held: float
) -> None:
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    append_records(ledger, recorded_job(story))
    project_all(engine)
    with engine.connect() as connection:
        for view in ("jobs", "attempts"):
            since = connection.execute(text(f"SELECT standing_since FROM report_v1.{view}"))
            assert (since.scalar_one() is not None) is stands
    question = Question(since=NOON - DAY, until=NOON + DAY)
    total = ask(engine, REPORTS["busiest"], question).total
    assert total is not None
    paused = 4_900 if stands else 0
    assert total["cluster_seconds"] == pytest.approx(held - paused)
