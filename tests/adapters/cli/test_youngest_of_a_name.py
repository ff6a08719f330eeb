"""Which job a name means where several had it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import cast

import pytest
from msgspec.structs import replace

from jobledger.adapters.cli.finding import called, find_job
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.values.ids import stream_id
from tests.support.rayjob_stories import succeeded
from tests.support.rows import play


class Listed:
    """A history that lists these jobs, in the order of their streams."""

    def __init__(self, rows: Sequence[JobRow]) -> None:
        self._rows = sorted(rows, key=lambda row: row.stream_id, reverse=True)

    def jobs(self, wanted: JobFilter, limit: int) -> Sequence[JobRow]:
        assert wanted.name
        return self._rows[:limit]


@pytest.mark.parametrize("number", range(4))
def test_of_two_jobs_made_within_a_second_a_name_means_the_one_that_came_later(number: int) -> None:
    """Their streams sort by a hash then."""
    _, rows = advance(View(), play(RAYJOB, succeeded()).history)
    assert rows.job is not None
    one, other = (
        replace(
            rows.job,
            uid=uid,
            stream_id=stream_id(rows.job.cluster, uid, rows.job.created_at),
            first_seen_at=rows.job.first_seen_at + timedelta(milliseconds=later),
        )
        for uid, later in ((f"first-{number}", 0), (f"second-{number}", 700))
    )
    history = cast("History", Listed([one, other]))
    assert find_job(history, one.name).uid == other.uid
    assert called(history, other) == f"{other.namespace}/{other.name}"
    assert called(history, one) == one.uid
