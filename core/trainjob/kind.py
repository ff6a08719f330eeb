"""The kind TrainJob: what it brings, in one description."""

from collections.abc import Iterator, Mapping, Sequence

from jobledger.core.job_kind import ApiNeeds, JobKind, LogReaders
from jobledger.core.jobs.history.event_roles import EventRoles
from jobledger.core.ports.cluster import (
    CLUSTER_TRAINING_RUNTIMES,
    JOBSETS,
    TRAINING_RUNTIMES,
    TRAINJOBS,
)
from jobledger.core.trainjob import events
from jobledger.core.trainjob import observations as seen
from jobledger.core.trainjob.decide.decide import TRAINJOB
from jobledger.core.trainjob.events import TrainFactEvent, TrainLifeEvent
from jobledger.core.trainjob.history import attempt_row, report_news
from jobledger.core.trainjob.history.apply_details import details_told
from jobledger.core.trainjob.history.attempt_facts import take
from jobledger.core.trainjob.history.plugin_condition_words import conditions_told
from jobledger.core.trainjob.history.progress_words import TRAINJOB_PROGRESS, progress_told
from jobledger.core.trainjob.history.signs import clues
from jobledger.core.trainjob.history.words import attempt_end_words, words
from jobledger.core.trainjob.phases import Phase
from jobledger.core.trainjob.rules.evidence_scene import TRAINJOB_EVIDENCE
from jobledger.core.trainjob.rules.observation_rules import TRAINJOB_OBSERVING
from jobledger.core.trainjob.spec import MANAGED_BY_US
from jobledger.core.trainjob.state import is_final, is_open
from jobledger.core.trainjob.status.kubernetes_events import kubernetes_events
from jobledger.core.trainjob.status.status import milestone, status
from jobledger.core.trainjob.status.status_format import TRAINJOB_CONTROLLER, TRAINJOB_STATUS

TYPES: Mapping[str, type[TrainFactEvent | TrainLifeEvent]] = {
    "TrainJobDiscovered": events.TrainJobDiscovered,
    "TrainJobAdopted": events.TrainJobAdopted,
    "TrainJobReceived": events.TrainJobReceived,
    "JobsBuildFailed": events.JobsBuildFailed,
    "BuilderChanged": events.BuilderChanged,
    "RuntimePatchesWithheld": events.RuntimePatchesWithheld,
    "JobsCreationFailed": events.JobsCreationFailed,
    "ObjectsApplied": events.ObjectsApplied,
    "TrainAttemptStarted": events.TrainAttemptStarted,
    "TrainAttemptEnded": events.TrainAttemptEnded,
    "TrainJobSuspended": events.TrainJobSuspended,
    "TrainJobResumed": events.TrainJobResumed,
    "TrainJobCompleted": events.TrainJobCompleted,
    "TrainJobFailed": events.TrainJobFailed,
    "TrainJobDeletionStarted": events.TrainJobDeletionStarted,
    "TrainJobDeleted": events.TrainJobDeleted,
    "RuntimeObserved": events.RuntimeObserved,
    "DependentVanished": events.DependentVanished,
    "JobSetObserved": events.JobSetObserved,
    "JobSetVanished": events.JobSetVanished,
    "TrainerProgressReported": events.TrainerProgressReported,
    "PluginConditionsObserved": events.PluginConditionsObserved,
    "OthersTrainStatusObserved": events.OthersTrainStatusObserved,
}
"""Stored name -> class of the newest version. A class may be renamed, its name here stays."""

ROLES = EventRoles(
    adopted=(events.TrainJobAdopted,),
    manifest_received=(events.TrainJobReceived,),
    attempt_started=(events.TrainAttemptStarted,),
    attempt_ran=(events.TrainAttemptStarted,),
    attempt_ended=(events.TrainAttemptEnded,),
    built=(events.ObjectsApplied, events.JobsCreationFailed),
    build_failed=(events.JobsBuildFailed,),
    completed=(events.TrainJobCompleted,),
    failed=(events.TrainJobFailed,),
    deleted=(events.TrainJobDeleted,),
)

PARTS: Mapping[type, str] = {
    events.TrainJobReceived: "TrainJob",
    events.JobSetObserved: "JobSet",
    events.JobSetVanished: "JobSet",
    events.RuntimeObserved: "runtime",
}
"""Fact -> the part of the job that it is about."""


API = ApiNeeds(
    served=(TRAINJOBS, JOBSETS),
    made=(JOBSETS,),
    kept={TRAINJOBS: (("status", "conditions"), ("status", "jobsStatus"))},
    admitted=(TRAINJOBS, TRAINING_RUNTIMES, CLUSTER_TRAINING_RUNTIMES, JOBSETS),
    rights="trainjobs",
    rights_of_some={"mpi-keys": "MPI and Flux TrainJobs"},
)


def _standing(events: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int]]:
    """Yield how far training is, and what plugins say of the job's objects."""
    yield from progress_told(events)
    yield from conditions_told(events)


_OBSERVATIONS = {
    "TrainJobSeen": seen.TrainJobSeen,
    "TrainJobGone": seen.TrainJobGone,
    "RuntimeSeen": seen.RuntimeSeen,
    "DependentGone": seen.DependentGone,
    "JobSetSeen": seen.JobSetSeen,
    "JobSetGone": seen.JobSetGone,
    "PluginConditionsSeen": seen.PluginConditionsSeen,
    "ProgressSeen": seen.ProgressSeen,
}

TRAINJOB_KIND = JobKind(
    name="TrainJob",
    resource=TRAINJOBS,
    api=API,
    phases=Phase,
    initial=TRAINJOB.initial,
    decide=TRAINJOB.decide,
    evolve=TRAINJOB.evolve,
    event_types=TYPES,
    discovered=events.TrainJobDiscovered,
    observations=_OBSERVATIONS,
    recurring=tuple(_OBSERVATIONS.values()),
    is_open=is_open,
    is_final=is_final,
    status=status,
    milestone=milestone,
    status_format=TRAINJOB_STATUS,
    controller=TRAINJOB_CONTROLLER,
    observing=TRAINJOB_OBSERVING,
    evidence=TRAINJOB_EVIDENCE,
    managed_by=MANAGED_BY_US,
    kubernetes_events=kubernetes_events,
    reporting_controller="trainer-trainjob-controller",
    is_told_in_core_events=True,
    log=LogReaders(
        roles=ROLES,
        words=words,
        attempt_end_words=attempt_end_words,
        standing=_standing,
        clues=clues,
        parts=PARTS,
        details_told=details_told,
        take_facts=take,
        begun=attempt_row.begun,
        project_attempt=attempt_row.project_attempt,
        end_told=attempt_row.end_told,
        failure_news=report_news.failure_news,
        shows_ready_pods=report_news.shows_ready_pods,
        shows_step=report_news.shows_step,
        found=report_news.found,
        workload=report_news.workload,
        built_image=report_news.built_image,
        pods=report_news.pods,
        built_pods=report_news.built_pods,
        grants_retries=False,
        runs_when_seen=True,
        progress=TRAINJOB_PROGRESS,
    ),
)
