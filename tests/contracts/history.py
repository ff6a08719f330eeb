"""What every history does: `core.ports.history`, one rule per function."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from jobledger.core.catalogue import NAMES, SCHEMA_VERSION, JobEvent, read_event
from jobledger.core.jobs.rows import JobRow
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.ports.event_store import StreamAppend
from jobledger.core.ports.history import FinishedJob, JobFilter
from jobledger.core.projections.view import View, advance
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.spec.spec import DeletionPolicy, DeletionRule
from jobledger.core.trainjob.events import TrainerProgressReported
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.values.ids import SHARDS, StreamId, observation_id, shard_of
from tests.support import trainjobs
from tests.support.ledgers import Ledger
from tests.support.rayjob_builders import cluster_gone, manifest_gone, poll, submitter
from tests.support.rayjob_stories import working
from tests.support.records import (
    NOON,
    StreamWriter,
    a_decision_row,
    a_job_row,
    a_stream,
    a_stream_in,
    an_attempt_row,
    an_effect_row,
)
from tests.support.rows import STREAM, Step, play

EVERYTHING = JobFilter()


def a_job(ledger: Ledger, stream: StreamId, **fields: object) -> JobRow:
    """Append an event that leaves a job's row with `fields`."""
    row = replace(a_job_row(stream), **fields)
    part = StreamWriter(stream).next()
    ledger.store.append([replace(part, rows=replace(part.rows, job=row))])
    return row


class HistoryContract:
    """Jobs, and what belongs to each."""

    def test_an_empty_ledger_has_no_history(self, ledger: Ledger) -> None:
        assert ledger.history.jobs(EVERYTHING, 10) == []
        assert ledger.history.streams() == []
        assert ledger.history.open_streams(range(SHARDS)) == []
        assert ledger.history.finished(range(SHARDS)) == []
        assert ledger.history.attempts(a_stream()) == []
        assert ledger.history.decisions(a_stream()) == []
        assert ledger.history.effects(a_stream()) == []

    def test_a_job_is_read_back_whole(self, ledger: Ledger) -> None:
        row = a_job(
            ledger,
            a_stream(),
            message='ünïcode "quoted" \\ and\nlines\t\x1b',
            generation=2**40,
            ended_at=NOON + timedelta(microseconds=1),
            deleted_at=NOON,
        )
        assert ledger.history.jobs(EVERYTHING, 10) == [row]

    def test_jobs_are_read_page_by_page(self, ledger: Ledger) -> None:
        rows = [
            a_job(ledger, a_stream(f"job {age}", NOON - timedelta(hours=age))) for age in range(4)
        ]
        first = ledger.history.jobs(EVERYTHING, 2)
        second = ledger.history.jobs(JobFilter(older_than=first[-1].stream_id), 2)
        assert [*first, *second] == rows
        assert ledger.history.jobs(JobFilter(older_than=second[-1].stream_id), 2) == []

    def test_jobs_of_a_period_are_found(self, ledger: Ledger) -> None:
        rows = [
            a_job(ledger, a_stream(f"job {age}", NOON - timedelta(hours=age))) for age in range(4)
        ]
        since, until = NOON - timedelta(hours=2), NOON
        assert ledger.history.jobs(JobFilter(created_from=since), 9) == rows[:3]
        assert ledger.history.jobs(JobFilter(created_until=until), 9) == rows[1:]
        both = JobFilter(created_from=since, created_until=until)
        assert ledger.history.jobs(both, 9) == rows[1:3]

    def test_jobs_are_found_by_their_streams(self, ledger: Ledger) -> None:
        rows = [
            a_job(ledger, a_stream(f"job {age}", NOON - timedelta(hours=age))) for age in range(3)
        ]
        streams = (rows[2].stream_id, rows[0].stream_id, a_stream("unknown"))
        assert ledger.history.jobs(JobFilter(streams=streams), 9) == [rows[0], rows[2]]

    def test_jobs_with_a_reason_are_found(self, ledger: Ledger) -> None:
        a_job(ledger, a_stream("one"))
        row = a_job(ledger, a_stream("two"), reason="AppFailed")
        assert ledger.history.jobs(JobFilter(reason="AppFailed"), 9) == [row]

    def test_jobs_come_the_youngest_first_up_to_the_limit(self, ledger: Ledger) -> None:
        rows = [
            a_job(ledger, a_stream(f"job {age}", NOON - timedelta(hours=age)))
            for age in (2, 0, 700, 1)
        ]
        assert ledger.history.jobs(EVERYTHING, 3) == [rows[1], rows[3], rows[0]]

    @pytest.mark.parametrize("field", ["cluster", "namespace", "name", "kind", "uid", "phase"])
    def test_jobs_are_found_by_what_they_are(self, ledger: Ledger, field: str) -> None:
        a_job(ledger, a_stream("one"), **{field: "other"})
        wanted = a_job(ledger, a_stream("two"), **{field: "this"})
        assert ledger.history.jobs(JobFilter(**{field: "this"}), 10) == [wanted]  # type: ignore[arg-type]  # mypy sees the bool among the texts
        assert ledger.history.jobs(JobFilter(**{field: "none"}), 10) == []  # type: ignore[arg-type]  # as above

    @pytest.mark.parametrize("part", ["trai", "TRAIN-1", "100%", "ML", "uid-7"])
    def test_jobs_are_found_by_a_part_of_what_they_are_called(
        self, ledger: Ledger, part: str
    ) -> None:
        a_job(ledger, a_stream("one"), namespace="other", name="eval", uid="uid-1")
        wanted = a_job(ledger, a_stream("two"), namespace="ml", name="train-100%", uid="uid-7")
        assert ledger.history.jobs(JobFilter(text=part), 10) == [wanted]
        assert ledger.history.jobs(JobFilter(text="train_100"), 10) == [], "a sign is itself"

    def test_jobs_are_counted_by_phase(self, ledger: Ledger) -> None:
        assert ledger.history.counts(EVERYTHING) == {}
        for name, phase in (("one", "Failed"), ("two", "Running"), ("three", "Failed")):
            a_job(ledger, a_stream(name), name=name, phase=phase)
        assert ledger.history.counts(EVERYTHING) == {"Failed": 2, "Running": 1}
        assert ledger.history.counts(JobFilter(text="t")) == {"Failed": 1, "Running": 1}

    def test_restrictions_add_up(self, ledger: Ledger) -> None:
        a_job(ledger, a_stream("one"), namespace="ml", name="a")
        wanted = a_job(ledger, a_stream("two"), namespace="ml", name="b", phase="Failed")
        assert ledger.history.jobs(JobFilter(namespace="ml", phase="Failed"), 10) == [wanted]
        assert ledger.history.jobs(JobFilter(name="a", phase="Failed"), 10) == []

    def test_closed_jobs_are_left_out_on_demand(self, ledger: Ledger) -> None:
        a_job(ledger, a_stream("closed"), open=False)
        wanted = a_job(ledger, a_stream("open"))
        assert ledger.history.jobs(JobFilter(open_only=True), 10) == [wanted]

    def test_jobs_in_no_phase_yet_are_found_on_demand(self, ledger: Ledger) -> None:
        a_job(ledger, a_stream("one"), phase="Failed")
        wanted = a_job(ledger, a_stream("two"), phase="")
        assert ledger.history.jobs(JobFilter(new_only=True), 10) == [wanted]

    def test_open_streams_are_those_of_our_shards_the_oldest_first(self, ledger: Ledger) -> None:
        young = a_job(ledger, a_stream_in(1, "young")).stream_id
        old = a_job(ledger, a_stream_in(2, "old", NOON - timedelta(days=40))).stream_id
        a_job(ledger, a_stream_in(3, "elsewhere"))
        a_job(ledger, a_stream_in(1, "closed"), open=False)
        assert ledger.history.open_streams([1, 2]) == [old, young]
        assert ledger.history.open_streams([]) == []
        assert [shard_of(stream) for stream in (old, young)] == [2, 1]

    def test_finished_jobs_are_those_of_our_shards_that_are_done_and_still_there(
        self, ledger: Ledger
    ) -> None:
        kept = a_job(ledger, a_stream_in(1, "kept"), open=False, generation=3)
        a_job(ledger, a_stream_in(2, "gone"), open=False, deleted_at=NOON)
        a_job(ledger, a_stream_in(1, "open"))
        a_job(ledger, a_stream_in(3, "elsewhere"), open=False)
        assert ledger.history.finished([1, 2]) == [
            FinishedJob(stream_id=kept.stream_id, generation=3, version=kept.version)
        ]
        assert ledger.history.finished([]) == []

    def test_the_last_event_of_a_type_is_read_of_each_job_that_has_one(
        self, ledger: Ledger
    ) -> None:
        story = (*trainjobs.running(), trainjobs.progress(30, 10), trainjobs.progress(90, 20))
        append_history(ledger, trainjobs.play(story).history)
        other = a_job(ledger, a_stream("without")).stream_id
        found = ledger.history.last_events([trainjobs.STREAM, other], "TrainerProgressReported")
        assert {stream: read_event(item.record) for stream, item in found.items()} == {
            trainjobs.STREAM: TrainerProgressReported(
                at=trainjobs.after(90), progress=TrainerProgress(percentage=20), attempt=1
            )
        }
        assert ledger.history.last_events([], "TrainerProgressReported") == {}
        assert ledger.history.last_events([trainjobs.STREAM], "JobFailed") == {}

    def test_streams_are_those_of_the_whole_log_the_oldest_first(self, ledger: Ledger) -> None:
        young = a_job(ledger, a_stream("young")).stream_id
        old = a_job(ledger, a_stream("old", NOON - timedelta(days=40)), open=False).stream_id
        assert ledger.history.streams() == [old, young]

    def test_a_job_is_found_by_its_stream(self, ledger: Ledger) -> None:
        a_job(ledger, a_stream("one"))
        wanted = a_job(ledger, a_stream("two"))
        assert ledger.history.jobs(JobFilter(stream_id=wanted.stream_id), 10) == [wanted]
        assert ledger.history.jobs(JobFilter(stream_id=a_stream("none")), 10) == []

    def test_attempts_come_by_number(self, ledger: Ledger) -> None:
        stream = a_stream()
        rows = [an_attempt_row(stream, number) for number in (2, 10, 1)]
        ledger.store.append([StreamWriter(stream).next(attempts=rows)])
        assert [row.number for row in ledger.history.attempts(stream)] == [1, 2, 10]

    def test_decisions_and_effects_come_by_instant_then_id(self, ledger: Ledger) -> None:
        stream = a_stream()
        later = timedelta(seconds=1)
        decisions = [a_decision_row(stream, name) for name in "abc"]
        decisions[0] = replace(decisions[0], scheduled_at=NOON + later)
        effects = [an_effect_row(stream, name) for name in "abc"]
        effects[0] = replace(effects[0], requested_at=NOON + later)
        ledger.store.append([StreamWriter(stream).next(decisions=decisions, effects=effects)])
        assert ledger.history.decisions(stream) == [
            *sorted(decisions[1:], key=lambda row: row.decision_id),
            decisions[0],
        ]
        assert ledger.history.effects(stream) == [
            *sorted(effects[1:], key=lambda row: row.effect_id),
            effects[0],
        ]

    def test_other_jobs_are_not_mixed_in(self, ledger: Ledger) -> None:
        one, two = a_stream("one"), a_stream("two")
        ledger.store.append(
            [
                StreamWriter(stream).next(
                    attempts=[an_attempt_row(stream)],
                    decisions=[a_decision_row(stream)],
                    effects=[an_effect_row(stream)],
                )
                for stream in (one, two)
            ]
        )
        assert ledger.history.attempts(one) == [an_attempt_row(one)]
        assert ledger.history.decisions(one) == [a_decision_row(one)]
        assert ledger.history.effects(one) == [an_effect_row(one)]

    @pytest.mark.parametrize(
        ("later", "found"), [((), 1), ((cluster_gone(60),), 0), ((manifest_gone(),), 0)]
    )
    def test_an_ended_job_whose_raycluster_nothing_covers_is_found(
        self, ledger: Ledger, later: tuple[Step, ...], found: int
    ) -> None:
        append_story(ledger, (*KEPT_STORY, *later))
        rows = ledger.history.jobs(JobFilter(kept_only=True), 10)
        assert [row.name for row in rows] == ["train"] * found


KEPT_STORY: tuple[Step, ...] = (
    *working(
        has_deletion_strategy=True,
        deletion_rules=(DeletionRule(policy=DeletionPolicy.CLUSTER, job_status="FAILED"),),
    ),
    poll("STOPPED", 40),
    submitter("Complete", 42),
)


def append_story(ledger: Ledger, story: tuple[Step, ...]) -> None:
    """Append everything that happens in a story of a RayJob, and its rows."""
    append_history(ledger, play(RAYJOB, story).history)


def append_history(ledger: Ledger, history: Sequence[JobEvent]) -> None:
    """Append the events of a whole story, and its rows."""
    named = [
        NamedEvent(name=NAMES[type(item)], schema_version=SCHEMA_VERSION, at=item.at, event=item)
        for item in history
    ]
    tail = Tail(stream_id=STREAM, version=0, chain=GENESIS)
    writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
    records, _ = record(tail, writer, observation_id(STREAM, "a story"), named)
    part = StreamAppend(
        stream_id=STREAM,
        expected_version=0,
        events=tuple(records),
        rows=advance(View(), history)[1],
    )
    ledger.store.append([part])
