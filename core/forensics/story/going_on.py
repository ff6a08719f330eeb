"""Tells how a job that has not ended stands: its phase and since when, and what it waits for."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from jobledger.core.forensics.bundles.dossier import ReadEvent
from jobledger.core.forensics.story.account import Sentence
from jobledger.core.forensics.story.quotes import QUOTE_MAX, LogEnd, Quote, how_it_ends, in_short
from jobledger.core.forensics.story.timeline import in_words
from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.evidence.pod_failures import attempt_of
from jobledger.core.jobs.evidence.pods import is_stuck, quiet_wait, trouble
from jobledger.core.jobs.evidence.scene import waiting_beside
from jobledger.core.jobs.pending.decisions import DecisionKind
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.jobs.reported_errors import is_new_trouble
from jobledger.core.kinds import NOTHING, ROLES, JobState, evolve, part_of, shows_ready_pods
from jobledger.core.values.instants import rfc3339

REFUSAL_MAX = 700
"""Characters of what keeps a job waiting: at its end stands what to do about it."""

SUSPENDED = "Suspended"
"""The phase, of every kind of job, in which nothing runs until its manifest is changed."""

THEN = {
    DecisionKind.RETRY: "the next attempt begins",
    DecisionKind.ACTIVE_DEADLINE: "the job fails and is not retried",
    DecisionKind.JOB_DEADLINE: "the job fails and is not retried",
    DecisionKind.PRE_RUNNING_DEADLINE: "the attempt fails, and is retried if a retry is left",
    DecisionKind.TRANSITION_GRACE: "the attempt ends without its submitter",
    DecisionKind.SUBMITTER_FINISHED: "the attempt ends by how the submitter ended",
    DecisionKind.STATUS_CHECK: "the job fails, for its head does not answer",
    DecisionKind.TTL_SHUTDOWN: "its cluster, or the job with all that it owns, is deleted",
    DecisionKind.EVIDENCE: "the failure is judged without more evidence",
    DecisionKind.DELETION_RULE: "the rule's deletion is done",
    DecisionKind.EFFECT_RETRY: "it is tried again",
}
"""What happens when a decision falls due and nothing has changed by then."""


def standing_now(name: str, events: Sequence[ReadEvent]) -> Sentence:
    """Return the phase of a job and the attempt it is in, with the events that brought both."""
    state, text, versions = _standing(events)
    last = events[-1]
    goes_on = _how_it_goes_on(name, state, is_suspended=text.startswith(SUSPENDED))
    told = f"{name} is {text}; {goes_on}, and its last event is of"
    return Sentence(
        text=f"{told} {rfc3339(last.occurred_at)}.",
        versions=tuple(sorted({*versions, last.version})),
    )


def _how_it_goes_on(name: str, state: JobState, *, is_suspended: bool) -> str:
    """Return what a job that has not ended waits for, of what its users or others have to do."""
    if state.recorded is not None and state.recorded.behind:
        job = name.rpartition(" ")[2]
        return f"it is held, and goes on once it is taken over, as by: jobledger recover {job}"
    manifest = state.manifest
    if manifest is not None and not manifest.spec.is_ours and state.recorded is None:
        by = manifest.spec.managed_by
        return f"nothing is done for it while its spec.managedBy is {by!a}"
    if manifest is not None and manifest.deleting_at is not None:
        asked = rfc3339(manifest.deleting_at)
        return f"its deletion was asked for at {asked}: it goes once nobody's finalizer keeps it"
    return "it goes on once spec.suspend is false" if is_suspended else "it has not ended"


def stood_when_deleted(name: str, events: Sequence[ReadEvent], gone: ReadEvent) -> Sentence:
    """Return when a job was deleted that had not ended, and how it stood."""
    _, text, versions = _standing([read for read in events if read.version < gone.version])
    told = f"{name} was deleted at {rfc3339(gone.occurred_at)}, before it had ended: it was {text}."
    return Sentence(text=told, versions=tuple(sorted({*versions, gone.version})))


def rejection(what: str, rejected: ReadEvent) -> Sentence:
    """Return that `what` is, or was, not valid: since when, and why."""
    assert isinstance(rejected.event, ROLES.manifest_rejected)
    why = in_short(rejected.event.message)
    text = f"{what} since {rfc3339(rejected.occurred_at)}: {why}."
    return Sentence(text=text, versions=(rejected.version,))


def _standing(events: Sequence[ReadEvent]) -> tuple[JobState, str, set[int]]:
    """Return how a job stands, that in words with since when, and the events that brought it."""
    state, phase, attempt = NOTHING, "", 0
    since = began = events[0]
    for read in events:
        state = evolve(state, read.event)
        if state.phase.value != phase:
            phase, since = state.phase.value, read
        number = state.attempt.number if state.attempt is not None else 0
        if number != attempt:
            attempt, began = number, read
    text = f"{phase or 'New'} since {rfc3339(since.occurred_at)}"
    if attempt:
        text += f", in attempt {attempt}"
        at = rfc3339(began.occurred_at)
        text += f" since {at}" if at != rfc3339(since.occurred_at) else ""
    return state, text, {since.version, began.version}


def waited_for_and_seen(
    events: Sequence[ReadEvent], begun: Collection[int]
) -> tuple[tuple[Sentence, ...], tuple[Sentence, ...]]:
    """Return what a job waits for, and what was seen last of each object of its current attempt.

    `begun` are the versions from which on an attempt is told of.
    """
    parts = _parts(events, begun)
    return tuple(_waits_for(events, parts)), tuple(_last_seen(parts))


def _last_seen(parts: Mapping[str, ReadEvent]) -> Iterator[Sentence]:
    """Yield what was seen last of each object of the current attempt, the latest first."""
    for read in sorted(parts.values(), key=lambda one: -one.version):
        said = in_words(read.event, QUOTE_MAX).rstrip(".")
        text = f"Seen last at {rfc3339(read.occurred_at)}: {said}."
        yield Sentence(text=text, versions=(read.version,))


def _parts(events: Sequence[ReadEvent], begun: Collection[int]) -> dict[str, ReadEvent]:
    """Return the latest event of each object of the current attempt, by what it is to the job."""
    parts: dict[str, ReadEvent] = {}
    for read in events:
        if read.version in begun:
            parts = {}
        if part := part_of(read.event):
            parts[part] = read
    return parts


def pods_waiting(events: Sequence[ReadEvent], attempt: int) -> tuple[int, set[int]]:
    """Return the event that tells why Pods of an attempt wait, and those that told so before.

    The first is 0 if none wait any more, as seen.
    """
    kept, beside, looks = 0, "", set[int]()
    for read in events:
        event = read.event
        if isinstance(event, shared.EvidenceCaptured):
            of = waiting_beside(event.occasion, attempt)
            if of is not None:
                kept, beside = read.version, of
                looks.add(kept)
        elif shows_ready_pods(event, beside):
            kept = 0
    return kept, looks - {kept}


def refusals_got_over(events: Sequence[ReadEvent]) -> set[int]:
    """Return what told of refusals of effects that were done since, or fail otherwise now."""
    over, standing = set[int](), dict[EffectKind, tuple[str, set[int]]]()
    last: EffectKind | None = None
    for read in events:
        event = read.event
        if isinstance(event, shared.EffectSucceeded):
            over |= standing.pop(event.kind, ("", set[int]()))[1]
        elif isinstance(event, shared.EffectFailed | shared.EffectFaltered):
            last = event.kind
            said, versions = standing.get(last, (event.trouble, set[int]()))
            if is_new_trouble(event.trouble, said, 1):
                over, versions = over | versions, set[int]()
            standing[last] = event.trouble, versions | {read.version}
        elif isinstance(event, (*ROLES.built, *ROLES.build_failed)) and last in standing:
            standing[last][1].add(read.version)
    return over


def left_undone(events: Sequence[ReadEvent]) -> Iterator[Sentence]:
    """Yield what is still tried of a job that has ended, and was refused or not answered."""
    for told in _waits_for(events, {}):
        event = events[told.versions[-1] - 1].event
        retries = (
            isinstance(event, shared.DecisionScheduled) and event.kind is DecisionKind.EFFECT_RETRY
        )
        if retries or isinstance(event, shared.EffectFaltered):
            yield told


def unshown(events: Sequence[ReadEvent]) -> Iterator[Sentence]:
    """Yield that users see an earlier status of a job, and why, as was seen last."""
    about = (shared.StatusWriteFailed, shared.StatusPublished, shared.ControlReleased)
    found = (read for read in reversed(events) if isinstance(read.event, (*about, *ROLES.deleted)))
    last = next(found, None)
    if last is not None and isinstance(last.event, shared.StatusWriteFailed):
        event = last.event
        since, at = rfc3339(event.since), rfc3339(event.at)
        why = event.trouble.rstrip(".")
        text = f"Its status cannot be written since {since}, as of {at}: {why}."
        yield Sentence(text=text, versions=(last.version,))


def waited_for(read: ReadEvent, quote: Quote | None, verb: str) -> Sentence | None:
    """Return which Pod is waited for, since when and why; None if what is quoted is another.

    Where none is in trouble, some were not created, do not begin, or are not ready.

    Args:
        read: the event that tells of Pods in trouble.
        quote: what is quoted of it.
        verb: waits, or waited.
    """
    assert isinstance(read.event, shared.EvidenceCaptured)
    pods = [pod for pod in read.event.pods if trouble(pod)]
    if quote is None or quote.version != read.version:
        return None
    if not pods:
        return _absent(read, read.event.pods, quote, verb)
    pod = next((one for one in pods if one.name in quote.where), pods[0])
    if not _waits(pod):
        return None
    is_named = quote.where.startswith(("Pod ", "container "))
    what = quote.where if is_named else f"Pod {pod.name}"
    seen = f", as seen at {rfc3339(read.occurred_at)}"
    since = f" since {rfc3339(pod.waits_since)}" if pod.waits_since is not None else seen
    others = sum(_waits(one) for one in pods) - 1
    does = ("does", "do") if verb == "waits" else ("did", "did")
    more = f" So {does[others > 1]} {others} more." if others else ""
    text = f"It {verb} for {what}{since}: {quote.text.rstrip('.')}.{more}"
    return Sentence(text=text, versions=(read.version,))


def _absent(read: ReadEvent, pods: Sequence[PodEvidence], quote: Quote, verb: str) -> Sentence:
    """Return which Pod does not begin or is not ready, or that some are not created, and why."""
    name = quote.where.partition(" of Pod/")[2]
    what = f"Pod {name}, which {quiet_wait(pods, name)}" if name else "Pods that are not created"
    seen = f"as seen at {rfc3339(read.occurred_at)}"
    text = f"It {verb} for {what}, {seen}: {quote.text.rstrip('.')}."
    return Sentence(text=text, versions=(read.version,))


def _waits(pod: PodEvidence) -> bool:
    return pod.phase == "Pending" and (bool(pod.reason) or any(map(is_stuck, pod.containers)))


def pods_failed(
    events: Sequence[ReadEvent], attempt: int, ends: Sequence[LogEnd]
) -> Iterator[Sentence]:
    """Yield which Pod of an attempt that goes on was seen to fail last, and how its log ends."""
    failed = [
        (read, read.event)
        for read in events
        if isinstance(read.event, shared.EvidenceCaptured)
        and attempt_of(read.event.occasion) == attempt
        and any(trouble(pod) for pod in read.event.pods)
    ]
    for read, event in failed[-1:]:
        said = in_words(event, QUOTE_MAX).rstrip(".")
        text = f"At {rfc3339(read.occurred_at)} {said}."
        yield Sentence(text=text, versions=(read.version,))
        digests = {log.digest_of_content for log in event.logs}
        yield from how_it_ends(next((end for end in ends if end.digest in digests), None))


def _waits_for(events: Sequence[ReadEvent], parts: Mapping[str, ReadEvent]) -> Iterator[Sentence]:
    """Yield what is under way or due: effects and decisions that have not ended, and what goes."""
    for effect, read in _open(events, shared.EffectRequested, _EFFECT_ENDS, "effect_id").items():
        troubles = [
            one
            for one in events
            if isinstance(one.event, shared.EffectFaltered) and one.event.effect_id == effect
        ]
        versions = (read.version, *(trouble.version for trouble in troubles[-1:]))
        said = in_words((troubles or [read])[-1].event, REFUSAL_MAX)
        yield Sentence(text=f"It waits for an effect: {said}.", versions=versions)
    pending = _open(events, shared.DecisionScheduled, _DECISION_ENDS, "decision_id")
    for read in pending.values():
        assert isinstance(read.event, shared.DecisionScheduled)
        text = f"It waits: {in_words(read.event, REFUSAL_MAX)}; then {THEN[read.event.kind]}."
        yield Sentence(text=text, versions=(read.version,))
    yield from _waits_to_go(parts)
    yield from _waits_for_a_change(events)


_EFFECT_ENDS = (shared.EffectSucceeded, shared.EffectFailed, shared.EffectSuperseded)
_DECISION_ENDS = (shared.DecisionFired, shared.DecisionCancelled)


def _open(
    events: Sequence[ReadEvent], begins: type, ends: tuple[type, ...], key: str
) -> dict[object, ReadEvent]:
    """Return what has begun and has not ended, by the field that names it."""
    found: dict[object, ReadEvent] = {}
    for read in events:
        if isinstance(read.event, begins):
            found[getattr(read.event, key)] = read
        elif isinstance(read.event, ends):
            found.pop(getattr(read.event, key), None)
    return found


def _waits_to_go(parts: Mapping[str, ReadEvent]) -> Iterator[Sentence]:
    """Yield what of the current attempt is being deleted: nothing is made beside it.

    A Pod that goes is not waited for: what it ran for is.
    """
    for part, read in parts.items():
        name = getattr(read.event, "name", "")
        if part == "Pod" or not name or not getattr(read.event, "deleting", False):
            continue
        what = part.removeprefix("attempt's ")
        text = (
            f"It waits until {what} {name} is gone, which was being deleted at "
            f"{rfc3339(read.occurred_at)}; what stays so is kept by its metadata.finalizers."
        )
        yield Sentence(text=text, versions=(read.version,))


def _waits_for_a_change(events: Sequence[ReadEvent]) -> Iterator[Sentence]:
    """Yield why the objects of a job cannot be built, until somebody changes something."""
    built = [read for read in events if isinstance(read.event, (*ROLES.built, *ROLES.build_failed))]
    for read in built[-1:]:
        if isinstance(read.event, ROLES.build_failed) and not read.event.may_pass:
            said = in_words(read.event, REFUSAL_MAX)
            text = f"It waits for a change of its manifest or its runtime: {said}."
            yield Sentence(text=text, versions=(read.version,))
