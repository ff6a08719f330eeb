"""Words for the events that every kind of job has."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from jobledger.core.jobs import events as shared
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.evidence.pod_failures import attempt_of
from jobledger.core.jobs.evidence.pods import BEING_MADE, quiet_wait
from jobledger.core.jobs.evidence.scene import WAITING
from jobledger.core.jobs.evidence.untouched import said_untouched
from jobledger.core.jobs.pending.decisions import DECISION_WORDS
from jobledger.core.values.counted import counted
from jobledger.core.values.instants import rfc3339


def shared_words(event: shared.SharedEvent) -> str:  # noqa: C901, PLR0911, PLR0912 one case per event
    """Return what an event says."""
    match event:
        case shared.EffectRequested():
            return f"{_effect(event.kind, event.name)} is asked for"
        case shared.EffectSucceeded():
            found = ", found done" if event.already else ""
            return f"{_effect(event.kind, event.name)}: done{found}"
        case shared.EffectFaltered():
            return f"{_effect(event.kind, event.name)}: {event.trouble}; trying again"
        case shared.EffectFailed():
            return f"{_effect(event.kind, event.name)} was refused: {event.trouble}"
        case shared.EffectSuperseded():
            return f"{_effect(event.kind, event.name)} is dropped: {event.cause}"
        case shared.DecisionScheduled():
            return f"{DECISION_WORDS[event.kind]} is due at {rfc3339(event.due_at)}: {event.cause}"
        case shared.DecisionFired():
            late = (event.at - event.due_at).total_seconds()
            return f"{DECISION_WORDS[event.kind]} fired, {late:.3f} s after it was due"
        case shared.DecisionCancelled():
            return f"{DECISION_WORDS[event.kind]} is cancelled: {event.cause}"
        case shared.ObservationGapFound():
            since, until = rfc3339(event.since), rfc3339(event.until)
            return f"changes of {event.source} from {since} to {until} may be missing"
        case shared.ObservationsConfirmed():
            sums = (f"{item.source} {item.count}x" for item in event.sources)
            return f"seen unchanged: {', '.join(sums)}"
        case shared.EvidenceCaptured():
            return _evidence_captured(event)
        case shared.StatusPublished():
            return f"status {event.phase or 'New'} is published"
        case shared.StatusWriteFailed():
            since = rfc3339(event.since)
            return f"the status could not be written since {since}: {event.trouble}; trying on"
        case shared.ControlReleased():
            return f"the job is only recorded from here on: {event.why}"
        case shared.ControlTaken():
            since = rfc3339(event.recorded_since)
            return f"the job is controlled here from here on; it was only recorded since {since}"
        case shared.AnnotationsRejected():
            return "; ".join(event.problems)
        case shared.LedgerBehindFound():
            signs = "; ".join(event.signs)
            return f"the job is held, for the ledger is older than the cluster: {signs}"
        case shared.RecoveredFromCluster():
            since = rfc3339(event.behind_since)
            asked = " because an operator asked for it" if event.asked else ""
            lost = f"it was held since {since}, and what is missing in between is lost"
            return f"the job is taken over as the cluster shows it{asked}; {lost}"
        case _:
            assert_never(event)


def _in_trouble(pods: Sequence[PodEvidence]) -> Iterator[str]:
    """Yield what each Pod says of why it waits or has failed."""
    for pod in pods:
        if pod.reason:
            yield f"Pod {pod.name}: {pod.reason}: {pod.message}".rstrip(": ")
            continue
        for one in pod.containers:
            if one.state != "running" and one.reason not in (*BEING_MADE, "Completed"):
                code = f", exit code {one.exit_code}" if one.exit_code else ""
                yield f"Pod {pod.name}: {one.reason}{code}: {one.message}".rstrip(": ")


def _evidence_captured(event: shared.EvidenceCaptured) -> str:
    if event.occasion.startswith(f"{WAITING}/"):
        told = dict.fromkeys(_in_trouble(event.pods))
        if told:
            return f"Pods of attempt {event.attempt} are in trouble: {'; '.join(told)}"
        warned = next((one for one in event.kubernetes_events if one.kind == "Warning"), None)
        if untouched := said_untouched(event.missing):
            return f"Pods of attempt {event.attempt} are not created: {untouched}"
        if warned is None:
            return f"Pods of attempt {event.attempt} do not begin"
        kind, _, name = warned.object.partition("/")
        said = f"{warned.reason}: {warned.message}"
        if kind == "Pod":
            return f"Pod {name} of attempt {event.attempt} {quiet_wait(event.pods, name)}: {said}"
        return f"Pods of attempt {event.attempt} are not created: {said}"
    if of_pod := attempt_of(event.occasion):
        told = dict.fromkeys(_in_trouble(event.pods))
        lost = f"; not to be had: {', '.join(item.what for item in event.missing)}"
        names = ", ".join(pod.name for pod in event.pods)
        said = f"has failed: {'; '.join(told)}" if told else f"is being deleted: Pod {names}"
        return f"a Pod of attempt {of_pod} {said}{lost if event.missing else ''}"
    parts = [
        counted(len(event.logs), "log"),
        counted(len(event.pods), "Pod"),
        counted(len(event.kubernetes_events), "Kubernetes Event"),
    ]
    missing = f"; not to be had: {', '.join(item.what for item in event.missing)}"
    why = event.occasion.partition("/")[0].replace("_", " ")
    return f"evidence is kept ({why}): {', '.join(parts)}{missing if event.missing else ''}"


def _effect(kind: str, name: str) -> str:
    return f"{kind.replace('_', ' ')} {name}"
