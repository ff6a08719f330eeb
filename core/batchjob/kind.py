"""The kind Job: what it brings, in one description."""

from collections.abc import Mapping

from jobledger.core.batchjob import events
from jobledger.core.batchjob import observations as seen
from jobledger.core.batchjob.decide.decide import BATCHJOB
from jobledger.core.batchjob.events import BatchOwnEvent
from jobledger.core.batchjob.history import attempt_row, report_news
from jobledger.core.batchjob.history.attempt_facts import take
from jobledger.core.batchjob.history.signs import clues
from jobledger.core.batchjob.history.words import attempt_end_words, retry_words, words
from jobledger.core.batchjob.names import JOB_LABEL
from jobledger.core.batchjob.phases import Phase
from jobledger.core.batchjob.rules.evidence_scene import BATCHJOB_EVIDENCE
from jobledger.core.batchjob.rules.observation_rules import BATCHJOB_OBSERVING
from jobledger.core.batchjob.rules.rules import failure_class
from jobledger.core.batchjob.spec import MANAGED_BY_US
from jobledger.core.batchjob.state import is_final, is_open
from jobledger.core.batchjob.status.kubernetes_events import kubernetes_events
from jobledger.core.batchjob.status.status import milestone, status
from jobledger.core.batchjob.status.status_format import BATCHJOB_CONTROLLER, BATCHJOB_STATUS
from jobledger.core.job_kind import ApiNeeds, JobKind, LogReaders
from jobledger.core.jobs.history.event_roles import EventRoles
from jobledger.core.ports.cluster import BATCH_JOBS

TYPES: Mapping[str, type[BatchOwnEvent]] = {
    "BatchJobDiscovered": events.BatchJobDiscovered,
    "BatchJobAdopted": events.BatchJobAdopted,
    "BatchJobReceived": events.BatchJobReceived,
    "BatchAttemptStarted": events.BatchAttemptStarted,
    "BatchAttemptEnded": events.BatchAttemptEnded,
    "BatchRetryGranted": events.BatchRetryGranted,
    "BatchRetryRefused": events.BatchRetryRefused,
    "BatchJobFailing": events.BatchJobFailing,
    "BatchJobSuspended": events.BatchJobSuspended,
    "BatchJobResumed": events.BatchJobResumed,
    "BatchJobCompleted": events.BatchJobCompleted,
    "BatchJobFailed": events.BatchJobFailed,
    "BatchJobDeletionStarted": events.BatchJobDeletionStarted,
    "BatchJobDeleted": events.BatchJobDeleted,
    "AttemptJobObserved": events.AttemptJobObserved,
    "AttemptJobVanished": events.AttemptJobVanished,
    "OthersBatchStatusObserved": events.OthersBatchStatusObserved,
}
"""Stored name -> class of the newest version. A class may be renamed, its name here stays."""

ROLES = EventRoles(
    adopted=(events.BatchJobAdopted,),
    manifest_received=(events.BatchJobReceived,),
    attempt_started=(events.BatchAttemptStarted,),
    attempt_ran=(events.AttemptJobObserved,),
    attempt_ended=(events.BatchAttemptEnded,),
    completed=(events.BatchJobCompleted,),
    failed=(events.BatchJobFailed,),
    deleted=(events.BatchJobDeleted,),
)

PARTS: Mapping[type, str] = {
    events.BatchJobReceived: "Job",
    events.AttemptJobObserved: "attempt's Job",
    events.AttemptJobVanished: "attempt's Job",
}
"""Fact -> the part of the job that it is about."""

API = ApiNeeds(
    served=(BATCH_JOBS,),
    made=(BATCH_JOBS,),
    admitted=(BATCH_JOBS,),
    rights="jobs",
    origin_labels=("", JOB_LABEL),
)

_OBSERVATIONS = {
    "BatchJobSeen": seen.BatchJobSeen,
    "BatchJobGone": seen.BatchJobGone,
    "AttemptJobSeen": seen.AttemptJobSeen,
    "AttemptJobGone": seen.AttemptJobGone,
}

BATCHJOB_KIND = JobKind(
    name="Job",
    resource=BATCH_JOBS,
    is_default=False,
    api=API,
    phases=Phase,
    initial=BATCHJOB.initial,
    decide=BATCHJOB.decide,
    evolve=BATCHJOB.evolve,
    event_types=TYPES,
    discovered=events.BatchJobDiscovered,
    observations=_OBSERVATIONS,
    recurring=tuple(_OBSERVATIONS.values()),
    is_open=is_open,
    is_final=is_final,
    status=status,
    milestone=milestone,
    status_format=BATCHJOB_STATUS,
    controller=BATCHJOB_CONTROLLER,
    observing=BATCHJOB_OBSERVING,
    evidence=BATCHJOB_EVIDENCE,
    managed_by=MANAGED_BY_US,
    kubernetes_events=kubernetes_events,
    reporting_controller="job-controller",
    is_told_in_core_events=True,
    log=LogReaders(
        roles=ROLES,
        words=words,
        attempt_end_words=attempt_end_words,
        retry_words=retry_words,
        clues=clues,
        parts=PARTS,
        take_facts=take,
        begun=attempt_row.begun,
        project_attempt=attempt_row.project_attempt,
        end_told=attempt_row.end_told,
        failure_news=report_news.failure_news,
        shows_ready_pods=report_news.shows_ready_pods,
        found=report_news.found,
        failure_class=failure_class,
        workload=report_news.workload,
        pods=report_news.pods,
        grants_retries=True,
        pauses_attempts=True,
        runs_when_seen=False,
    ),
)
