"""How far a TrainJob is by its last report, and from when on it counts as silent."""

from datetime import timedelta
from uuid import uuid4

import pytest
from msgspec.structs import replace

from jobledger.core.jobs.history.progress import (
    SILENT_AFTER,
    Metric,
    progress_in_short,
    progress_in_words,
)
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.history.progress_words import TRAINJOB_PROGRESS
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.values.ids import StreamId
from tests.support.records import NOON, a_job_row

STREAM = StreamId(uuid4())
LATE = SILENT_AFTER.total_seconds() + 1
LOSS = (Metric(name="loss", value="0.25"),)


@pytest.mark.parametrize(
    ("progress", "seconds", "running", "words", "short"),
    [
        (
            TrainerProgress(percentage=24, remaining_seconds=3600, metrics=LOSS),
            40,
            True,
            (
                "24 %, about 3600 s left, loss 0.25, estimated end 2026-11-21T13:00:00Z; "
                "last report 40 s ago"
            ),
            "24 %",
        ),
        (
            TrainerProgress(percentage=24),
            SILENT_AFTER.total_seconds(),
            True,
            "24 %; last report 5 min ago",
            "24 %",
        ),
        (
            TrainerProgress(percentage=24),
            LATE,
            True,
            "24 %; silent: no report for 5 min",
            "24 %, silent 5 min",
        ),
        (TrainerProgress(percentage=24), LATE, False, "24 %; last report 5 min ago", "24 %"),
        (TrainerProgress(percentage=100), LATE, True, "100 %; last report 5 min ago", "100 %"),
        (
            TrainerProgress(metrics=LOSS),
            7200,
            True,
            "loss 0.25; silent: no report for 2 h",
            "reports, silent 2 h",
        ),
        (TrainerProgress(percentage=1), -90, True, "1 %; last report 0 s ago", "1 %"),
        (
            TrainerProgress(percentage=1, remaining_seconds=0),
            119,
            True,
            "1 %, about 0 s left, estimated end 2026-11-21T12:00:00Z; last report 119 s ago",
            "1 %",
        ),
    ],
    ids=[
        "on its way",
        "just not silent",
        "silent",
        "runs no more",
        "done",
        "no percentage",
        "a clock that is behind",
        "no time left",
    ],
)
def test_what_is_said(
    progress: TrainerProgress, seconds: float, running: bool, words: str, short: str
) -> None:
    report = TrainerProgressReported(at=NOON, progress=progress)
    row = replace(a_job_row(STREAM), phase="Running" if running else "Complete")
    found = TRAINJOB_PROGRESS.standing(row, report, NOON + timedelta(seconds=seconds))
    assert progress_in_words(TRAINJOB_PROGRESS.words(report), found) == words
    assert progress_in_short(found) == short
