"""What else failed so in the month before: counted by node and image, and only what is alike."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

import pytest

from jobledger.core.forensics.story.similar import FailureSeen, Worked, similar
from jobledger.core.jobs.failures.rules import RULES
from tests.support.records import NOON, a_stream

OWN = FailureSeen(
    stream_id=a_stream("own"),
    namespace="ml",
    name="train-9",
    failed_at=NOON,
    cause="gpu-fault",
    node="gpu-12",
    image="train:4.2",
)


NOTHING_WORKED = Worked()


def other(name: str, days: int = 1, **said: object) -> FailureSeen:
    """Return the failure of another job, so many days before."""
    at = NOON - timedelta(days=days)
    alike = replace(OWN, stream_id=a_stream(name), name=name, failed_at=at)
    return replace(alike, **said)  # type: ignore[arg-type] # fields by name


@dataclass(frozen=True, kw_only=True)
class Row:
    """A rule: beside these failures, exactly this is told."""

    rule: str
    own: FailureSeen = OWN
    others: tuple[FailureSeen, ...] = ()
    worked: Worked = NOTHING_WORKED
    told_as: str = ""
    """The cause that `explain` tells; empty: the same."""
    told: tuple[str, ...] = field(default=())


LAST = "last in ml/a at 2026-11-20T12:00:00Z."
ONCE = f"In the 30 days before, gpu-fault came once, in 1 job; {LAST}"

ROWS = (
    Row(rule="a failure that nothing else is like is told without any"),
    Row(
        rule="the same node is counted, the failure itself included",
        others=tuple(other(name, place + 1) for place, name in enumerate("abcdef")),
        told=(
            f"In the 30 days before, gpu-fault came 6 times, in 6 jobs; {LAST}",
            "It is the 7th time on node gpu-12, of 7 whose node is known.",
        ),
    ),
    Row(
        rule="another node is no such time, and one that is not known counts nowhere",
        others=(other("a", node="gpu-1"), other("b", 2, node="gpu-12"), other("c", 3, node="")),
        told=(
            f"In the 30 days before, gpu-fault came 3 times, in 3 jobs; {LAST}",
            "It is the 2nd time on node gpu-12, of 3 whose node is known.",
        ),
    ),
    Row(
        rule="a failure whose own node is not known is told of no node",
        own=replace(OWN, node=""),
        others=(other("a", node=""),),
        told=(ONCE,),
    ),
    Row(
        rule="it began with an image if no other failed so and jobs had worked with others",
        others=(other("a", node="gpu-1"), other("b", 3, node="gpu-2")),
        worked=Worked(40),
        told=(
            f"In the 30 days before, gpu-fault came twice, in 2 jobs; {LAST}",
            (
                "In this namespace it began with image train:4.2 at 2026-11-18T12:00:00Z; 40 jobs "
                "had worked with others until then."
            ),
        ),
    ),
    Row(
        rule="it did not begin with an image if another failed so too",
        others=(other("a", node="gpu-1", image="train:4.1"),),
        worked=Worked(40),
        told=(ONCE,),
    ),
    Row(
        rule="nor if jobs had worked with that image before it began",
        others=(other("a", node="gpu-1"),),
        worked=Worked(40, with_it=1),
        told=(ONCE,),
    ),
    Row(
        rule="nor is that said where nothing had worked with another",
        others=(other("a", node="gpu-1"),),
        told=(ONCE,),
    ),
    Row(
        rule="an image of another namespace says nothing of this one",
        others=(other("a", node="gpu-1", namespace="etl", image="etl:1"), other("b", 2, node="")),
        worked=Worked(1),
        told=(
            (
                "In the 30 days before, gpu-fault came twice, in 2 jobs; last in etl/a at "
                "2026-11-20T12:00:00Z."
            ),
            (
                "In this namespace it began with image train:4.2 at 2026-11-19T12:00:00Z; 1 job "
                "had worked with others until then."
            ),
        ),
    ),
    Row(
        rule="that programs failed makes only those of one family alike",
        own=replace(OWN, cause="application"),
        others=(
            other("train-8", cause="application", node=""),
            other("other", cause="application", node=""),
        ),
        told=(
            (
                "In the 30 days before, application came once in runs of it, in 1 job; last in "
                "ml/train-8 at 2026-11-20T12:00:00Z."
            ),
        ),
    ),
    Row(
        rule="what the logs tell otherwise than the facts is like nothing that these know",
        others=(other("a"),),
        told_as="communication",
    ),
    Row(
        rule="but for other runs of which no more is known either",
        own=replace(OWN, cause="application", node=""),
        others=(other("train-8", cause="application", node=""),),
        told_as="gpu-fault",
        told=(
            (
                "In the 30 days before, application (as reports have it, without the kept logs) "
                "came once in runs of it, in 1 job; last in ml/train-8 at 2026-11-20T12:00:00Z."
            ),
        ),
    ),
    Row(
        rule="an earlier attempt of the same job is told with it, and is none of these",
        others=(replace(OWN, failed_at=NOON - timedelta(hours=1)),),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.rule for row in ROWS])
def test_what_is_alike(row: Row) -> None:
    found = similar(row.own, (row.own, *row.others), row.worked, row.told_as or row.own.cause)
    assert found.sentences == row.told


@pytest.mark.parametrize(
    ("count", "said"),
    [(2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")],
)
def test_times_are_counted_as_people_do(count: int, said: str) -> None:
    others = [other(f"job-{place}", 1) for place in range(count - 1)]
    found = similar(OWN, others, NOTHING_WORKED, OWN.cause)
    assert f"It is the {said} time on node" in found.sentences[1]


def test_the_cause_of_these_rows_is_specific() -> None:
    assert {rule.name for rule in RULES if not rule.general} >= {"gpu-fault"}
