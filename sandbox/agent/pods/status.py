"""The status of a Pod, from what its containers are doing."""

from collections.abc import Mapping, Sequence

from jobledger.core.values.documents import Json, Manifest, child, items, text
from jobledger.core.values.instants import Instant, rfc3339
from jobledger.sandbox.agent.pods.containers import ContainerRun, Role, Running, Terminated, Waiting
from jobledger.sandbox.agent.pods.run import PodRun


def pod_status(run: PodRun, known: Manifest, at: Instant) -> dict[str, Json]:
    """Return the whole status; conditions that have not changed keep their time from `known`."""
    phase = run.phase
    init = [one for one in run.containers if one.role is not Role.MAIN]
    status: dict[str, Json] = {
        "phase": phase,
        "hostIP": "127.0.0.1",
        "podIP": run.around.ip,
        "podIPs": [{"ip": run.around.ip}],
        "startTime": rfc3339(run.started_at),
        "conditions": _conditions(run, phase, known, at),
        "containerStatuses": [_container_status(one, run.uid) for one in run.mains],
        "reason": run.failure[0] if run.failure else None,
        "message": run.failure[1] if run.failure else None,
    }
    if init:
        status["initContainerStatuses"] = [_container_status(one, run.uid) for one in init]
    return {name: value for name, value in status.items() if value is not None}


def _conditions(run: PodRun, phase: str, known: Manifest, at: Instant) -> list[Json]:
    is_over = phase in ("Succeeded", "Failed")
    unready = [one.name for one in run.mains if not one.is_ready]
    why = ("PodCompleted" if phase == "Succeeded" else "PodFailed") if is_over else ""
    said = f"containers with unready status: [{' '.join(unready)}]" if unready else ""
    ready = not unready and not is_over
    reason = "" if ready else (why or "ContainersNotReady")
    wanted = (
        ("PodScheduled", True, "", ""),
        (
            "Initialized",
            run.is_initialized,
            "" if run.is_initialized else "ContainersNotInitialized",
            "",
        ),
        ("ContainersReady", ready, reason, "" if ready else said),
        ("Ready", ready, reason, "" if ready else said),
    )
    before = {text(entry, "type"): entry for entry in items(known, "conditions")}
    found: list[Json] = []
    for kind, is_true, condition_reason, message in wanted:
        value = "True" if is_true else "False"
        old = before.get(kind)
        kept = text(old, "lastTransitionTime") if text(old, "status") == value else ""
        entry = {"type": kind, "status": value, "lastTransitionTime": kept or rfc3339(at)}
        if condition_reason:
            entry["reason"] = condition_reason
        if message:
            entry["message"] = message
        found.append(entry)
    return found


def _container_status(one: ContainerRun, uid: str) -> Json:
    status: dict[str, Json] = {
        "name": one.name,
        "image": text(one.spec, "image"),
        "imageID": "",
        "ready": one.is_ready or (one.role is Role.INIT and _has_completed(one)),
        "started": isinstance(one.state, Running),
        "restartCount": one.restarts,
        "state": _state(one.state),
        "lastState": _state(one.last) if one.last is not None else {},
    }
    if one.starts:
        status["containerID"] = f"sandbox://{uid}/{one.name}/{one.starts}"
    return status


def _has_completed(one: ContainerRun) -> bool:
    return isinstance(one.state, Terminated) and one.state.exit_code == 0


def _state(state: Waiting | Running | Terminated) -> Json:
    if isinstance(state, Running):
        return {"running": {"startedAt": rfc3339(state.started_at)}}
    if isinstance(state, Waiting):
        waiting: dict[str, Json] = {"reason": state.reason}
        if state.message:
            waiting["message"] = state.message
        return {"waiting": waiting}
    ended: dict[str, Json] = {
        "exitCode": state.exit_code,
        "reason": state.reason,
        "finishedAt": rfc3339(state.finished_at),
    }
    if state.started_at is not None:
        ended["startedAt"] = rfc3339(state.started_at)
    if state.signal:
        ended["signal"] = state.signal
    if state.message:
        ended["message"] = state.message
    return {"terminated": ended}


def is_ready(pod: Manifest) -> bool:
    """Tell whether a Pod's Ready condition is True."""
    return any(
        text(entry, "type") == "Ready" and text(entry, "status") == "True"
        for entry in items(pod, "status", "conditions")
    )


def holds(known: Manifest, wanted: Manifest) -> bool:
    """Tell whether `known` already says everything that `wanted` says.

    A real API server adds null where a time is not known.
    """
    return all(_told(known.get(name)) == _told(value) for name, value in wanted.items()) and not (
        child(known, "initContainerStatuses") and "initContainerStatuses" not in wanted
    )


def _told(value: Json) -> Json:
    """Return what a value says: all but its nulls."""
    if isinstance(value, Mapping):
        return {name: _told(one) for name, one in value.items() if one is not None}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_told(one) for one in value]
    return value
