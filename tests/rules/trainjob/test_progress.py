"""What a TrainJob's Pods report of their progress, and how often it is written down."""

from datetime import timedelta

import pytest

from jobledger.core.jobs.history.progress import Metric
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.progress import WRITTEN_DOWN_EVERY, TrainerProgress, in_words, is_due
from tests.rules.trainjob.rows import Row, check, table
from tests.support.records import NOON
from tests.support.rows import WHEN
from tests.support.trainjobs import (
    completed,
    created,
    manifest,
    manifest_gone,
    progress,
    running,
    seen,
)


def reported(
    percentage: int | None = 40, *, attempt: int = 1, reports: int = 1
) -> TrainerProgressReported:
    """Return the event of a report."""
    shown = TrainerProgress(percentage=percentage)
    return TrainerProgressReported(at=WHEN, progress=shown, attempt=attempt, reports=reports)


@table(
    Row(
        rule="a report is written down with the attempt it is of",
        story=[*running(), progress()],
        then=[reported()],
        facts={"progress": TrainerProgress(percentage=40)},
        phase="Running",
    ),
    Row(
        rule="the same report again is no news",
        story=[*running(), progress(), progress(at=90)],
        then=[],
    ),
    Row(
        rule="a report that sums up others says how many",
        story=[*running(), progress(), progress(at=90, percentage=55, reports=12)],
        then=[reported(55, reports=12)],
    ),
    Row(
        rule="progress may go back, as after a restart",
        story=[*running(), progress(percentage=80), progress(at=90, percentage=5)],
        then=[reported(5)],
        facts={"progress": TrainerProgress(percentage=5)},
    ),
    Row(
        rule="before the first attempt it is of none",
        story=[*created(suspend=True), progress()],
        then=[reported(attempt=0)],
    ),
    Row(
        rule="the last report may come after the end, and changes nothing else",
        story=[*completed(), progress(at=500, percentage=100)],
        then=[reported(100)],
        phase="Complete",
    ),
    Row(
        rule="of a job that is only recorded it is written down as well",
        story=[manifest(recorded="kueue"), progress()],
        then=[reported(attempt=0)],
    ),
    Row(
        rule="of a job that is gone nothing is",
        story=[*seen(), manifest_gone(), progress(at=950)],
        then=[],
    ),
    Row(rule="of a job that was never seen nothing is", story=[progress()], then=[]),
)
def test_reports(row: Row) -> None:
    check(row)


LITTLE = WRITTEN_DOWN_EVERY - timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("before", "now", "since", "due"),
    [
        (40, 41, LITTLE, False),
        (40, 41, WRITTEN_DOWN_EVERY, True),
        (40, 100, timedelta(0), True),
        (None, 100, timedelta(0), True),
        (100, 100, LITTLE, False),
        (100, 99, LITTLE, False),
        (40, None, LITTLE, False),
    ],
)
def test_at_most_one_a_minute_and_at_once_that_all_is_done(
    before: int | None, now: int | None, since: timedelta, *, due: bool
) -> None:
    told, news = TrainerProgress(percentage=before), TrainerProgress(percentage=now)
    assert is_due(told, NOON, news, NOON + since) is due


@pytest.mark.parametrize(
    ("progress", "said"),
    [
        (TrainerProgress(), "nothing in particular"),
        (TrainerProgress(percentage=0), "0 %"),
        (
            TrainerProgress(
                percentage=45,
                remaining_seconds=3600,
                metrics=(Metric(name="loss", value="0.23"), Metric(name="acc", value="0.9")),
            ),
            "45 %, about 3600 s left, loss 0.23, acc 0.9",
        ),
        (
            TrainerProgress(
                metrics=tuple(Metric(name=f"m{number}", value="1") for number in range(6)),
                metrics_left_out=3,
            ),
            "m0 1, m1 1, m2 1, m3 1, 5 more metrics",
        ),
    ],
)
def test_a_report_in_a_line(progress: TrainerProgress, said: str) -> None:
    assert in_words(progress) == said
