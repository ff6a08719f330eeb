"""What the report `nodes` expects of a node, where failures come to nodes by mere chance."""

from collections.abc import Mapping
from datetime import timedelta

import pytest
from sqlalchemy import Engine

from jobledger.adapters.postgres.reports.asking.asking import ask
from jobledger.adapters.postgres.reports.asking.catalogue import REPORTS
from jobledger.adapters.postgres.reports.asking.report import Question, Row
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.observations import EvidenceSeen
from tests.support import rayjob_builders as ray
from tests.support import rayjob_stories as stories
from tests.support.ledgers import postgres_ledger
from tests.support.recorded import append_records, job_called, recorded
from tests.support.reported import project_all

pytestmark = pytest.mark.postgres


def failed_on(node: str) -> stories.Story:
    """Return the life of a job that failed on a node."""
    pod = PodEvidence(name="w", uid="w", role="worker", phase="Failed", node=node)
    seen = EvidenceSeen(
        id=ray.UNNAMED, at=ray.after(43), attempt=1, occasion="failure/1", pods=(pod,)
    )
    return (*stories.working(), *stories.failing(), ray.named(seen))


def reported(engine: Engine, counts: Mapping[str, int]) -> Mapping[str, Row]:
    """Return the report's rows by node, once so many jobs have failed on each."""
    ledger = postgres_ledger(engine)
    ledger.take_all_shards()
    for node, count in counts.items():
        for number in range(count):
            with job_called(f"on-{node}-{number}"):
                append_records(ledger, recorded(failed_on(node)))
    project_all(engine)
    day = timedelta(days=1)
    question = Question(since=ray.after(0) - day, until=ray.after(0) + day, by=("node",), limit=99)
    return {str(row["node"]): row for row in ask(engine, REPORTS["nodes"], question).rows}


def test_nodes_that_are_not_seen_make_it_neither_high_nor_low(engine: Engine) -> None:
    """Of eleven nodes with one failure each on average, four have none, by Poisson's frequencies.

    The mean of the seven others is 11/7: more than half as many again as a node has.
    """
    counts = {"a": 1, "b": 1, "c": 1, "d": 1, "e": 2, "f": 2, "g": 3}
    rows = reported(engine, counts)
    expected = [float(str(rows[node]["expected"])) for node in counts]
    assert sum(expected) / len(expected) == pytest.approx(1)
    assert rows["g"]["expected"] == pytest.approx((2 + 2) / 6)
    assert rows["g"]["times"] == pytest.approx(3 / (4 / 6))


def test_where_many_fail_everywhere_it_is_the_mean_of_the_others(engine: Engine) -> None:
    rows = reported(engine, {"a": 9, "b": 2, "c": 4})
    assert (rows["a"]["expected"], rows["a"]["times"]) == (3, 3)


def test_single_failures_tell_of_no_rate(engine: Engine) -> None:
    rows = reported(engine, {"a": 3, "b": 1, "c": 1})
    assert (rows["a"]["expected"], rows["a"]["times"]) == (0, None)


def test_one_node_alone_is_compared_with_nothing(engine: Engine) -> None:
    rows = reported(engine, {"a": 2})
    assert (rows["a"]["expected"], rows["a"]["times"]) == (None, None)
