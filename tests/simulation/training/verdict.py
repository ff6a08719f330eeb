"""What must hold of real users' TrainJobs in the end, besides what holds of all TrainJobs."""

from datetime import timedelta

from jobledger.adapters.kinds.trainjob.snapshot_text import read_snapshot
from jobledger.core.log.chain import canonical
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    CONFIGMAPS,
    JOBSETS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
)
from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import BuildFailed, BuiltObject
from jobledger.core.trainjob.building.runtimes import check_snapshot, trainjob_owner
from jobledger.core.trainjob.names import SNAPSHOT_KEY, snapshot_name
from jobledger.core.trainjob.phases import FINAL, Phase
from jobledger.core.trainjob.plugins import all_plugins
from jobledger.core.trainjob.spec import read_runtime_ref
from jobledger.core.trainjob.state import TrainJobState
from jobledger.core.values.documents import Json, Manifest, child, items, number, text
from jobledger.core.values.instants import parse_rfc3339
from tests.simulation.follower import require
from tests.simulation.jobsets import ended
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.oddities import is_elsewhere
from tests.simulation.training.jobsets import MADE
from tests.simulation.witness import Witness


def check_real_trains(api: SimulatedApi, witness: Witness) -> None:
    """Hold the TrainJobs of real users against what they were promised."""
    jobs = {text(job, "metadata", "uid"): job for job in api.all(TRAINJOBS)}
    for resource in MADE:
        for item in api.all(resource):
            owner, what = trainjob_owner(item), f"{resource.kind} {text(item, 'metadata', 'name')}"
            require(not owner or owner in jobs, f"{what} is left behind")
            known = not owner or not is_elsewhere(jobs[owner])
            require(known, f"{what} is made for a job of another controller")
    for uid, job in jobs.items():
        if is_elsewhere(job):
            require(uid not in witness.trains.streams, "a job of another controller is in the log")
        else:
            story = witness.trains.stories[witness.trains.streams[uid]]
            if story.state.recorded is None:
                _check_job(api, story.state, job)


def _check_job(api: SimulatedApi, state: TrainJobState, job: Manifest) -> None:
    name = text(job, "metadata", "name")
    if state.phase in FINAL or text(job, "metadata", "deletionTimestamp"):
        return
    jobset = api.get(JOBSETS, text(job, "metadata", "namespace"), name)
    if state.phase is Phase.BUILD_FAILED:
        built = _built(api, job, created_once=state.created_once)
        require(built is None, f"{name} waits for a build that would succeed: {state.message}")
        return
    if jobset is None:
        return
    wants = child(job, "spec").get("suspend") is True
    require(_is_suspended(jobset) is wants, f"{name} wants suspend {wants}, its JobSet does not")
    if wants and not ended(jobset):
        _check_as_asked(api, job, jobset, name)


def unwritten_progress(state: TrainJobState, job: Manifest) -> str:
    """Return that what the Pods have reported last is not in the log: it is within a minute.

    What they report once the job has ended need not be.
    """
    told = parse_rfc3339(text(job, "status", "trainerStatus", "lastUpdatedTime"))
    if state.ended_at and told and told + timedelta(seconds=1) > state.ended_at:
        return ""
    shown = number(job, "status", "trainerStatus", "progressPercentage")
    known = state.progress.percentage if state.progress is not None else None
    return "" if shown == known else f"it shows a progress of {shown} %, the log has {known}"


def _is_suspended(jobset: Manifest) -> bool:
    return child(jobset, "spec").get("suspend") is True


def _check_as_asked(api: SimulatedApi, job: Manifest, jobset: Manifest, name: str) -> None:
    """A suspended JobSet is what the TrainJob says now, and will be what is resumed.

    That its snapshot is broken is found when it is built the next time.
    """
    built = _built(api, job, created_once=True)
    if built is None:
        return
    wanted = next(one.manifest for one in built if one.resource is JOBSETS)
    pairs = zip(_pods(wanted), _pods(jobset), strict=True)
    for want, found in pairs:
        require(_is_said(want, found), f"{name} asks for {want}, its suspended JobSet has {found}")


def _pods(jobset: Manifest) -> list[Manifest]:
    return [child(one) for one in items(jobset, "spec", "replicatedJobs")]


def _is_said(wanted: Json, found: Json) -> bool:
    return canonical({"": wanted}) == canonical({"": found})


def _built(
    api: SimulatedApi, job: Manifest, *, created_once: bool
) -> tuple[BuiltObject, ...] | None:
    """Return what can be built of a TrainJob as all is now; None if nothing can."""
    ref, namespace = read_runtime_ref(job), text(job, "metadata", "namespace")
    if not ref.is_supported:
        return None
    kind = CLUSTER_TRAINING_RUNTIMES if ref.is_cluster_wide else TRAINING_RUNTIMES
    live = api.get(kind, "" if ref.is_cluster_wide else namespace, ref.name)
    snapshot = api.get(CONFIGMAPS, namespace, snapshot_name(text(job, "metadata", "name")))
    runtime: Manifest | None = live
    try:
        if snapshot is not None:
            held, _ = read_snapshot(text(snapshot, "data", SNAPSHOT_KEY))
            sound = check_snapshot(snapshot, text(job, "metadata", "uid"), ref, held)
            runtime = sound if created_once or live is None else live
        return build(all_plugins(), job, runtime) if runtime is not None else None
    except BuildFailed:
        return None
