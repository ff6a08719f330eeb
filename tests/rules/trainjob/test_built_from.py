"""Which generation of the TrainJob an attempt runs: the one its JobSet was built from."""

from tests.rules.trainjob.rows import Row, check, table
from tests.support import trainjob_events as told
from tests.support.trainjobs import applied, counts, jobset, manifest, running, seen


@table(
    Row(
        rule="a running JobSet that an edit leaves alone restarts as what it was built from",
        story=[
            *running(),
            manifest(30, generation=2),
            applied(31),
            jobset(40, counts(active=1), restarts=1),
        ],
        then=[
            told.observed(counts(active=1), restarts=1),
            told.ended(
                "failed",
                reason="JobSetRestarted",
                message="the JobSet was restarted (1 times so far)",
            ),
            told.started(2, cause="restarted", restarts=1),
        ],
    ),
    Row(
        rule="a JobSet that shows an apply before its outcome runs what that apply built",
        story=[
            *seen(suspend=True),
            applied(1, suspend=True),
            manifest(30, generation=2),
            manifest(31, generation=3),
            jobset(32, counts(active=1), generation=2),
        ],
        then=[
            told.observed(counts(active=1), generation=2),
            told.started(generation=2),
        ],
    ),
)
def test_the_generation_of_an_attempt_is_that_of_its_jobset(row: Row) -> None:
    check(row)
