"""Folds the events of one job into reporting facts, and returns the rows that changed.

What is folded does not depend on where a batch begins or ends: every fact follows from the events
up to a version and from nothing else.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.catalogue import JobEvent
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.failures.diagnosis import Judged
from jobledger.core.jobs.history.report_news import NOT_FOUND, FailureJudged, FailureNews, Found
from jobledger.core.jobs.history.told_end import in_whole_seconds, told_end
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.rows import AttemptRow
from jobledger.core.kinds import (
    NOTHING,
    ROLES,
    JobState,
    cluster_news,
    evolve,
    failure_news,
    is_open,
    kind_of,
)
from jobledger.core.log.envelope import EventRecord
from jobledger.core.projections.executions import attempt_row
from jobledger.core.projections.reporting import attempts as of_attempts
from jobledger.core.projections.reporting import failures as of_failures
from jobledger.core.projections.reporting import work
from jobledger.core.projections.reporting.dimensions import dimension_id, dimension_of, labels_of
from jobledger.core.projections.reporting.facts import (
    ActivityFact,
    AttemptFact,
    DecisionFact,
    Dimension,
    FailureFact,
    GapFact,
    JobFact,
    PhaseFact,
)
from jobledger.core.projections.reporting.failures import Causes, NoCauses
from jobledger.core.projections.reporting.found import (
    UNKNOWN,
    first_run,
    found_after,
    without_guesses,
)
from jobledger.core.projections.reporting.held import Held, asked_for, held_after
from jobledger.core.projections.reporting.phases import NEW, enter, leave, time_in
from jobledger.core.projections.reporting.user_labels import USER_LABELS
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import StreamId
from jobledger.core.values.instants import EPOCH, Instant

Fact: TypeAlias = (
    JobFact | AttemptFact | PhaseFact | FailureFact | DecisionFact | GapFact | ActivityFact
)

TABLES: Mapping[str, type[Fact]] = {
    "report_job": JobFact,
    "report_attempt": AttemptFact,
    "report_phase": PhaseFact,
    "report_failure": FailureFact,
    "report_decision": DecisionFact,
    "report_gap": GapFact,
    "report_activity": ActivityFact,
}
"""Table -> what its rows hold behind the stream, and the dimension."""


class Rules(Struct, frozen=True):
    """What an installation may choose."""

    user_labels: Sequence[str] = USER_LABELS
    causes: Causes = NoCauses()


class Folded(Struct, frozen=True):
    """What is held of one job."""

    version: int = 0
    state: JobState = NOTHING
    row: AttemptRow | None = None
    """The inline row of the current attempt."""
    dimension: Dimension = Dimension()
    """As the manifest said last."""
    labels: str = "{}"
    """As the manifest said last, a JSON object."""
    built_image: str = ""
    """The trainer's image in the JobSet that was applied last; empty for RayJobs."""
    first_seen_at: Instant = EPOCH
    last_event_at: Instant = EPOCH
    causation: object = None
    """Observation that brought the last event."""
    signs: tuple[object, ...] = ()
    """Signs of why the current attempt may fail."""
    where: tuple[int, str] = of_failures.NOWHERE
    """Attempt and node of the evidence that told last where something failed."""
    judged: Judged | None = None
    """What the retry rule took the failure of the current attempt for."""
    stays: tuple[PhaseFact, ...] = ()
    found: Found = NOT_FOUND
    held: Held = Held()
    attempts: tuple[AttemptFact, ...] = ()
    """As they were seen, first looks included; see `core.projections.reporting.found`."""
    failures: tuple[FailureFact, ...] = ()
    decisions: tuple[DecisionFact, ...] = ()
    gaps: tuple[GapFact, ...] = ()
    hours: tuple[ActivityFact, ...] = ()


class Rows(Struct, frozen=True):
    """The facts of one job, by table."""

    stream_id: StreamId
    dimension: Dimension
    facts: Mapping[str, tuple[Fact, ...]]

    def changed_since(self, before: "Rows | None") -> "Rows":
        """Return those facts that are not among `before`; all of them if the dimension changed."""
        if before is None or before.dimension != self.dimension:
            return self
        known = {table: frozenset(facts) for table, facts in before.facts.items()}
        return replace(
            self,
            facts={
                table: tuple(fact for fact in facts if fact not in known[table])
                for table, facts in self.facts.items()
            },
        )


def fold(before: Folded, record: EventRecord, event: JobEvent, rules: Rules) -> Folded:
    """Return what is held after one event."""
    state = evolve(before.state, event)
    assert state.identity is not None, "a stream begins with who the job is"
    if type(event) in shared.OWN_WORK and _is_as_before(before, state):
        return _with_work(before, state, record, event)
    row = attempt_row(before.row, state, event, state.identity.stream_id)
    first_seen_at = before.first_seen_at if before.version else event.at
    number = row.number if row is not None else 0
    at = _true_at(before, state, event)
    stays = enter(before.stays, state.phase.value or NEW, number, at)
    if isinstance(event, ROLES.deleted):
        stays = leave(stays, event.at)
    found = found_after(before.found, state, event)
    failure, cluster = failure_news(event), cluster_news(event)
    attempts = of_attempts.with_row(before.attempts, row, state, stays, first_seen_at, found)
    attempts = of_attempts.with_event(attempts, event, failure, cluster)
    if isinstance(event, ROLES.adopted):
        failures = of_failures.found_failed(state, event.at, attempts)
    elif failure is not None:
        failures = of_failures.with_news(before.failures, at, failure, attempts, found)
    elif isinstance(event, ROLES.attempt_started):
        failures = of_failures.followed(before.failures, attempts)
    else:
        failures = before.failures
    where = of_failures.node_after(before.where, event)
    failures = of_failures.at_node(failures, where)
    signs = _signs(before, record, event, rules)
    judged = _judged(before, event, failure, failures)
    if failures is not before.failures or len(signs) != len(before.signs):
        attempts, failures = _explained(attempts, failures, (signs, judged), rules)
    document = event.document if isinstance(event, ROLES.manifest_received) else {}
    held = asked_for(before.held, state, document) if document else before.held
    return Folded(
        version=before.version + 1,
        state=state,
        row=row,
        dimension=_dimension(before, state, document, rules),
        labels=labels_of(document) if document else before.labels,
        built_image=_built_image(state, event) or before.built_image,
        first_seen_at=first_seen_at,
        last_event_at=max(before.last_event_at, event.at),
        causation=record.causation_id,
        signs=signs,
        where=where,
        judged=judged,
        stays=stays,
        found=found,
        held=held_after(held, state, event, cluster, attempts),
        attempts=attempts,
        failures=failures,
        decisions=work.with_decision(before.decisions, event, record.recorded_at),
        gaps=work.with_gap(before.gaps, event),
        hours=_hours(before, record, event),
    )


def _true_at(before: Folded, state: JobState, event: JobEvent) -> Instant:
    """Return when what an event changed came true: an end when that was, not when found."""
    if before.version == 0 or state.phase is before.state.phase:
        return event.at
    told, known = _end_of(state), _end_of(before.state)
    is_news = known is None or (state.ended_at is not None and before.state.ended_at is None)
    if told is None or not is_news:
        return event.at
    return told_end(told, before.stays[-1].entered_at if before.stays else told, event.at)


def _end_of(state: JobState) -> Instant | None:
    """Return when the job ended at the latest, or what its attempt ran as; None: it is not known.

    The end of a job is dated in whole seconds.
    """
    if state.ended_at is not None:
        return in_whole_seconds(state.ended_at)
    return kind_of(state).log.end_told(state)


def _is_as_before(before: Folded, state: JobState) -> bool:
    """Return whether a job is in the same state, and its attempts as they were folded last."""
    known = before.state
    if state.attempt is not known.attempt or state.phase is not known.phase:
        return False
    args = before.row, state, before.stays, before.first_seen_at, before.found
    return of_attempts.with_row(before.attempts, *args) is before.attempts


def _with_work(before: Folded, state: JobState, record: EventRecord, event: JobEvent) -> Folded:
    """Return what is held after an event of the controller's own work."""
    return replace(
        before,
        version=before.version + 1,
        state=state,
        last_event_at=max(before.last_event_at, event.at),
        causation=record.causation_id,
        decisions=work.with_decision(before.decisions, event, record.recorded_at),
        hours=_hours(before, record, event),
    )


def _hours(before: Folded, record: EventRecord, event: JobEvent) -> tuple[ActivityFact, ...]:
    news = record.causation_id != before.causation
    return work.with_activity(before.hours, event, record.recorded_at, news=news)


def rows_of(folded: Folded) -> Rows:
    """Return all facts of a job, as the columns of the tables have them."""
    identity = folded.state.identity
    assert identity is not None, "a stream begins with who the job is"
    found = folded.found
    paused = _paused(folded)
    attempts = of_attempts.priced(folded.attempts, folded.last_event_at, found, folded.held, paused)
    attempts = without_guesses(attempts, folded.state, found)
    said = folded.dimension
    facts: dict[str, Sequence[Fact]] = {
        "report_job": (_job(folded, attempts),),
        "report_attempt": attempts,
        "report_phase": folded.stays,
        "report_failure": folded.failures,
        "report_decision": folded.decisions,
        "report_gap": folded.gaps,
        "report_activity": folded.hours,
    }
    return Rows(
        stream_id=identity.stream_id,
        dimension=replace(said, image=said.image or folded.built_image),
        facts=cast("Mapping[str, tuple[Fact, ...]]", facts),
    )


def _paused(folded: Folded) -> Sequence[PhaseFact]:
    """Return the stays in which attempts go on and hold nothing."""
    if not kind_of(folded.state).log.pauses_attempts:
        return ()
    return [stay for stay in folded.stays if stay.phase in of_attempts.QUEUED]


def key_of(rows: Rows) -> int:
    """Return the key of the dimension of a job's facts."""
    return dimension_id(rows.dimension)


def _dimension(before: Folded, state: JobState, document: Manifest, rules: Rules) -> Dimension:
    """Return how facts can be grouped by what the manifest says now; `document`: if it came."""
    if before.version and not document:
        return before.dimension
    assert state.identity is not None, "a stream begins with who the job is"
    return dimension_of(state.identity, kind_of(state), document, rules.user_labels)


def _built_image(state: JobState, event: JobEvent) -> str:
    if isinstance(event, shared.EffectSucceeded) and event.kind is EffectKind.APPLY_OBJECTS:
        return kind_of(state).log.built_image(event.sent)
    return ""


def _signs(
    before: Folded, record: EventRecord, event: JobEvent, rules: Rules
) -> tuple[object, ...]:
    """Return the signs of the current attempt, those of this event included."""
    kept = () if isinstance(event, ROLES.attempt_started) else before.signs
    late = isinstance(event, shared.EvidenceCaptured) and before.row is not None
    if late and event.attempt != before.row.number:  # type: ignore[union-attr] # see above
        return kept
    last = before.failures[-1] if before.failures else None
    ended = last is not None and before.row is not None and last.attempt == before.row.number
    standing = kept if ended else rules.causes.standing(kept, event)
    return *standing, *rules.causes.signs(event, record.version, ended=ended)


def _judged(
    before: Folded, event: JobEvent, news: FailureNews | None, failures: tuple[FailureFact, ...]
) -> Judged | None:
    """Return what the retry rule took the failure of the current attempt for.

    Of a job that was found, that is what its reason says.
    """
    if isinstance(event, ROLES.adopted) and failures:
        return Judged(FailureClass(failures[-1].failure_class))
    if isinstance(event, ROLES.attempt_started):
        return None
    if isinstance(news, FailureJudged):
        return Judged(news.failure, news.by_policy)
    return before.judged


def _explained(
    attempts: tuple[AttemptFact, ...],
    failures: tuple[FailureFact, ...],
    known: tuple[tuple[object, ...], Judged | None],
    rules: Rules,
) -> tuple[tuple[AttemptFact, ...], tuple[FailureFact, ...]]:
    """Return attempts and failures with the cause of the last failure, if it is the current one."""
    last = failures[-1] if failures else None
    if last is None or (attempts and attempts[-1].number != last.attempt):
        return attempts, failures
    signs, judged = known
    cause, group = rules.causes.cause(signs, ran=last.ran, judged=judged)
    failed = replace(last, cause=cause, failure_class=group.value)
    if attempts:
        said = replace(attempts[-1], cause=failed.cause, failure_class=failed.failure_class)
        attempts = *attempts[:-1], said
    return attempts, (*failures[:-1], failed)


def _job(folded: Folded, attempts: Sequence[AttemptFact]) -> JobFact:
    state, identity = folded.state, folded.state.identity
    assert identity is not None, "a stream begins with who the job is"
    stay = folded.stays[-1]
    not_wasted = ("", of_attempts.SUCCEEDED, UNKNOWN)
    return JobFact(
        name=identity.name,
        uid=identity.uid,
        phase=stay.phase,
        phase_since=stay.entered_at,
        outcome=_outcome(state, attempts),
        reason=state.reason,
        open=is_open(state),
        created_at=identity.created_at,
        first_seen_at=folded.first_seen_at,
        started_at=attempts[0].started_at if attempts else None,
        running_at=first_run(attempts, folded.found),
        ended_at=state.ended_at,
        deleted_at=state.deleted_at,
        last_event_at=folded.last_event_at,
        attempts=len(attempts),
        failed_attempts=state.failed,
        retries=max(state.retries, sum(one.retried for one in attempts)),
        events=folded.version,
        suspended_seconds=time_in(folded.stays, of_attempts.QUEUED),
        running_seconds=time_in(folded.stays, frozenset({"Running"})),
        cluster_seconds=sum(one.cluster_seconds for one in attempts),
        wasted_cluster_seconds=sum(
            one.cluster_seconds for one in attempts if one.outcome not in not_wasted
        ),
        labels=folded.labels,
    )


def _outcome(state: JobState, attempts: Sequence[AttemptFact]) -> str:
    """Return what became of the job; empty while it goes on."""
    if state.phase.value == "Failed":
        return "failed"
    if state.phase.value == "Complete":
        stopped = bool(attempts) and attempts[-1].outcome == "stopped"
        return "stopped" if stopped else of_attempts.SUCCEEDED
    return "deleted" if state.deleted_at is not None else ""
