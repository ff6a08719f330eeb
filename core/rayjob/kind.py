"""The kind RayJob: what it brings, in one description."""

from collections.abc import Mapping

from jobledger.core.job_kind import ApiNeeds, JobKind, LogReaders
from jobledger.core.jobs.history.event_roles import EventRoles
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, RAYJOBS
from jobledger.core.rayjob import ending
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events import lifecycle as events
from jobledger.core.rayjob.events.types import TYPES
from jobledger.core.rayjob.history import attempt_row, report_news
from jobledger.core.rayjob.history.attempt_facts import take
from jobledger.core.rayjob.history.cluster_verdicts import cluster_verdict
from jobledger.core.rayjob.history.end_words import attempt_end_words, completion_words, retry_words
from jobledger.core.rayjob.history.signs import clues
from jobledger.core.rayjob.history.words import words
from jobledger.core.rayjob.names import LABEL_ORIGIN_KIND, LABEL_ORIGIN_NAME
from jobledger.core.rayjob.observations import observations as seen
from jobledger.core.rayjob.phases import Phase
from jobledger.core.rayjob.rules.evidence_scene import RAYJOB_EVIDENCE
from jobledger.core.rayjob.rules.failure_class import by_reason
from jobledger.core.rayjob.rules.observation_rules import RAYJOB_OBSERVING
from jobledger.core.rayjob.spec.spec import OURS
from jobledger.core.rayjob.state import RayJobState, is_final
from jobledger.core.rayjob.status.kubernetes_events import kubernetes_events
from jobledger.core.rayjob.status.status import status
from jobledger.core.rayjob.status.status_format import RAYJOB_CONTROLLER, RAYJOB_STATUS

ROLES = EventRoles(
    adopted=(events.JobAdopted,),
    manifest_received=(events.ManifestReceived,),
    manifest_rejected=(events.ManifestRejected,),
    manifest_accepted=(events.ManifestAccepted,),
    attempt_started=(events.AttemptStarted,),
    attempt_ran=(events.AttemptReachedRunning, events.AttemptReachedWaiting),
    attempt_ended=(events.AttemptFailed,),
    attempt_failed=(events.AttemptFailed,),
    attempt_suspended=(events.SuspensionStarted,),
    transitions_missed=(events.TransitionsMissed,),
    status_check_failed=(events.StatusCheckFailed,),
    completed=(events.JobCompleted,),
    failed=(events.JobFailed,),
    deleted=(events.JobDeleted,),
)

PARTS: Mapping[type, str] = {
    events.ManifestReceived: "RayJob",
    events.ClusterObserved: "RayCluster",
    events.ClusterVanished: "RayCluster",
    events.SubmitterObserved: "Job",
    events.SubmitterFinished: "Job",
    events.SubmitterVanished: "Job",
    events.EntrypointObserved: "Ray job",
    events.EntrypointMissed: "Ray job",
    events.StatusCheckFailed: "Ray job",
    events.StatusCheckRecovered: "Ray job",
    events.HeadPodObserved: "Pod",
    events.HeadPodVanished: "Pod",
    events.SidecarFinished: "Pod",
}
"""Fact -> the part of the job that it is about."""


API = ApiNeeds(
    served=(RAYJOBS, RAYCLUSTERS),
    indispensable=(RAYCLUSTERS,),
    made=(RAYCLUSTERS, BATCH_JOBS),
    kept={
        RAYJOBS: (
            ("spec", "backoffLimit"),
            ("status", "failed"),
            ("status", "succeeded"),
            ("status", "jobDeploymentStatus"),
        )
    },
    admitted=(RAYJOBS, RAYCLUSTERS),
    rights="rayjobs",
    rights_of_some={"head-tokens": "RayJobs whose heads ask for a token"},
    origin_labels=(LABEL_ORIGIN_KIND, LABEL_ORIGIN_NAME),
)
"""Source of the fields: rayjob_types.go since KubeRay 1.2."""


def _milestone(state: RayJobState) -> str:
    return state.phase.value


RAYJOB_KIND = JobKind(
    name="RayJob",
    resource=RAYJOBS,
    api=API,
    phases=Phase,
    initial=RAYJOB.initial,
    decide=RAYJOB.decide,
    evolve=RAYJOB.evolve,
    event_types=TYPES,
    discovered=events.JobDiscovered,
    observations={
        "ManifestSeen": seen.ManifestSeen,
        "ManifestGone": seen.ManifestGone,
        "ClusterSeen": seen.ClusterSeen,
        "ClusterGone": seen.ClusterGone,
        "SubmitterSeen": seen.SubmitterSeen,
        "SubmitterGone": seen.SubmitterGone,
        "PollAnswered": seen.PollAnswered,
        "PollNotFound": seen.PollNotFound,
        "PollUnanswered": seen.PollUnanswered,
        "PodsSeen": seen.PodsSeen,
        "HeadPodSeen": seen.HeadPodSeen,
        "HeadPodGone": seen.HeadPodGone,
        "PartGone": seen.PartGone,
    },
    recurring=(
        seen.ManifestSeen,
        seen.ManifestGone,
        seen.ClusterSeen,
        seen.ClusterGone,
        seen.SubmitterSeen,
        seen.SubmitterGone,
        seen.HeadPodSeen,
        seen.HeadPodGone,
        seen.PartGone,
    ),
    is_open=ending.is_open,
    is_final=is_final,
    status=status,
    milestone=_milestone,
    status_format=RAYJOB_STATUS,
    controller=RAYJOB_CONTROLLER,
    observing=RAYJOB_OBSERVING,
    evidence=RAYJOB_EVIDENCE,
    managed_by=OURS,
    kubernetes_events=kubernetes_events,
    reporting_controller="rayjob-controller",
    log=LogReaders(
        roles=ROLES,
        words=words,
        completion_words=completion_words,
        attempt_end_words=attempt_end_words,
        retry_words=retry_words,
        clues=clues,
        parts=PARTS,
        take_facts=take,
        cluster_verdict=cluster_verdict,
        begun=attempt_row.begun,
        project_attempt=attempt_row.project_attempt,
        end_told=attempt_row.end_told,
        columns=attempt_row.columns,
        failure_news=report_news.failure_news,
        shows_ready_pods=report_news.shows_ready_pods,
        shows_step=report_news.shows_step,
        cluster_news=report_news.cluster_news,
        attempt_cluster=report_news.attempt_cluster,
        found=report_news.found,
        failure_class=by_reason,
        workload=report_news.workload,
        pods=report_news.pods,
        holding_seen=report_news.holding_seen,
        grants_retries=True,
        runs_when_seen=False,
    ),
)
