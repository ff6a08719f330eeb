"""The state of one RayJob: the fold of its stream, and the questions that rules ask of it."""

from msgspec import Struct
from msgspec.structs import replace

from jobledger.core.jobs.control.dormancy import is_dormant, is_leaving
from jobledger.core.jobs.evolve.shared_state import SharedAttempt, SharedRecorded, SharedState
from jobledger.core.jobs.manifest.shared_manifest import SharedManifest
from jobledger.core.jobs.policy import Policy
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import NOTHING_ASKED, RetryOptions
from jobledger.core.rayjob.events.lifecycle import ManifestReceived
from jobledger.core.rayjob.observations.observations import ManifestSeen, Problem, SeenStatus
from jobledger.core.rayjob.observations.pods import PodFact
from jobledger.core.rayjob.observations.ray_job import Entrypoint
from jobledger.core.rayjob.phases import FINAL, JobStatus, Phase
from jobledger.core.rayjob.spec.spec import RayJobSpec, SubmissionMode
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant


class KnownManifest(SharedManifest, frozen=True, kw_only=True, gc=False):
    """The manifest as it was last received."""

    spec: RayJobSpec
    """What is in force: that of the last manifest that was valid, if there was one."""
    policy: Policy
    finalizer: bool
    problem: Problem | None
    options: RetryOptions = NOTHING_ASKED


def known_manifest(
    told: ManifestSeen | ManifestReceived, before: KnownManifest | None
) -> KnownManifest:
    """Return what is known of the manifest by a look at it, or by the event of it."""
    return KnownManifest(
        generation=told.generation,
        digest=told.digest,
        spec=_spec_in_force(before, told.spec, told.problem),
        policy=told.policy,
        finalizer=told.finalizer,
        problem=told.problem,
        deleting_at=told.deleting_at,
        options=told.options,
        option_problems=told.option_problems,
    )


def _spec_in_force(
    known: KnownManifest | None, spec: RayJobSpec, problem: Problem | None
) -> RayJobSpec:
    """Return by what a job goes on once `spec` was seen, after the manifest that was `known`.

    An invalid one changes nothing but who controls the job: a deadline of -5 s ends nothing.
    """
    if problem is None or known is None:
        return spec
    return replace(known.spec, managed_by=spec.managed_by)


class KnownCluster(Struct, frozen=True, kw_only=True):
    """A RayCluster of the job."""

    name: str
    uid: str = ""
    """Empty while nobody knows whether it exists: a request to create it may be on its way."""
    state: str = ""
    address: str = ""
    deleting: bool = False
    delete_asked: bool = False
    status: Manifest | None = None


class KnownSubmitter(Struct, frozen=True, kw_only=True):
    """The submitter of the attempt."""

    name: str
    uid: str = ""
    """Empty while nobody knows whether it exists."""
    deleting: bool = False
    delete_asked: bool = False
    outcome: str = ""
    """Complete, Failed, or Vanished; empty while it goes on."""
    finished_at: Instant | None = None
    """By the cluster's clock."""
    seen_finished_at: Instant | None = None
    """When the controller learned of it."""
    reason: str = ""
    message: str = ""


class Failing(Struct, frozen=True, kw_only=True):
    """A failure whose verdict waits for evidence of its class."""

    reason: str
    message: str
    job_status: JobStatus
    failure: FailureClass
    """Its class, as far as it is known without the Pods."""
    since: Instant
    looked: bool = False
    """The Pods were looked at, or it was waited long enough."""
    pods: tuple[PodFact, ...] = ()
    trouble: str = ""
    """Why they could not be looked at."""


class Attempt(SharedAttempt, frozen=True, kw_only=True):
    """The current or last execution."""

    cluster_name: str
    job_id: str
    same_cluster: bool = False
    """It runs on the RayCluster of the attempt before, which stayed for it."""
    selected: bool = False
    """It runs on a RayCluster that the job selected when it began; an edit changes nothing here."""
    mode: SubmissionMode | None = None
    """How its entrypoint gets to the head, settled with its RayCluster; None: see manifest."""
    address: str = ""
    """`host:port` of the head; known from Running (Waiting) on."""
    submitted: bool = False
    """HTTPMode: the head has taken the entrypoint."""
    submit_refused: str = ""
    """HTTPMode: why the head would not take it."""
    look_wanted: bool = False
    """The submitter ended: the Ray job is to be asked at once."""
    stop_tried: bool = False
    retry_at: Instant | None = None
    """Not before this may the next attempt begin."""
    retry_paused: bool = False
    """That is later than the failure: there is a pause."""
    retry_due: bool = False
    keeps_cluster: bool = False
    """It has failed, and its RayCluster stays for the next attempt."""
    cleared: bool = False
    """Nothing of it is left, its names are no longer shown."""
    cluster_lost: bool = False
    """Its RayCluster went without having been asked to, and what was handed in with it."""
    cluster_again: bool = False
    """Its RayCluster went before anything was handed in: it is made again, or waited for."""
    pod_group: bool = False
    """Volcano: the PodGroup says what this attempt needs."""
    head_lost: bool = False
    """The Pod of its head went while it was running (waiting)."""
    head_taken: str = ""
    """Why Kubernetes or the node took that Pod away; empty if nothing was said."""
    head_restarted: str = ""
    """How the head ended, if it was started again in its Pod and has lost the Ray job."""
    failing: Failing | None = None
    """It has failed, and the retry rule waits for evidence."""
    pods_gone: bool = False
    """No Pod of it is left, seen once RayCluster and submitter were gone."""
    pods_told: bool = False
    """It was told that Pods are left."""
    pods_trouble: str = ""
    """Why those could not be looked at."""


class KnownHead(Struct, frozen=True, kw_only=True):
    """The Pod of the attempt's head."""

    name: str
    uid: str
    taken: str = ""
    """Why Kubernetes or the node takes it away."""
    deleting: bool = False
    restarts: int = 0
    """How often its Ray container was started again."""
    keeps_jobs: bool = False
    """A restart loses no jobs."""


class Recorded(SharedRecorded, frozen=True, kw_only=True):
    """The job is only recorded; another controller decides about it, or it is held."""

    shown: SeenStatus | None = None
    """What that controller has written last, as far as it was seen."""
    submitter_ahead: int = 0
    """For which attempt after the last known one a submitter was found; 0: none was."""
    left: tuple[KnownCluster, ...] = ()
    """RayClusters of attempts that are over, which nobody has told to be gone yet."""


class RayJobState(SharedState, frozen=True, gc=False):
    """One RayJob. Every event replaces a field or two of it."""

    manifest: KnownManifest | None = None
    phase: Phase = Phase.NEW
    paused: Phase | None = None
    """In ValidationFailed: the phase it came from."""
    paused_words: tuple[str, str] = ("", "")
    """In ValidationFailed: reason and message of that phase."""
    attempt: Attempt | None = None
    cluster: KnownCluster | None = None
    submitter: KnownSubmitter | None = None
    head: KnownHead | None = None
    sidecar: KnownSubmitter | None = None
    """SidecarMode: the submitter beside the head, once it has ended; its name is the Pod's."""
    entrypoint: Entrypoint = Entrypoint()
    shown_cluster: Manifest | None = None
    """Status of the attempt's RayCluster as users are shown it: what follows the end is not."""
    orphans: tuple[KnownCluster, ...] = ()
    orphan_submitter: KnownSubmitter | None = None
    """One that was made for an attempt that is over; it has the name that all submitters have."""
    lost_children: bool = False
    """A RayCluster or submitter went, or was going, that was not asked to go here."""
    deadline_from: Instant | None = None
    """Start of the first attempt since the job was created or resumed; None: before it."""
    uncounted: int = 0
    """Retries that a policy granted without counting the failure."""
    shutdown_due: bool = False
    deletions_due: tuple[str, ...] = ()
    """Policies of deletionStrategy whose instant has come, in that order."""
    job_delete_asked: bool = False
    """The deletion of the RayJob itself was asked for here, after its end."""
    service_leads_to: str = ""
    """RayCluster to which the Service of the job's head leads; empty while there is none."""
    pod_group_held: bool = False
    """Volcano: a PodGroup asks for Pods to be placed together."""
    pod_group_reduced: bool = False
    """It asks for no more than what is left of the RayCluster after the end."""
    workers_suspended: bool = False
    """The RayCluster's worker groups were suspended at the end."""
    kept: bool = False
    """It was told that the RayCluster stays because nothing covers it."""
    suspension_postponed: bool = False
    """It was told that a wish to be suspended takes effect later."""
    recorded: Recorded | None = None
    """The job is only recorded; None: it is controlled here."""
    returned: bool = False
    """Its object, which was gone, is there again and is to go: etcd was restored."""


def own_children(state: RayJobState) -> frozenset[str]:
    """Return the UIDs of the RayClusters and submitters that are the job's own, gone or not."""
    shared = selects_cluster(state)
    known = (
        None if shared else state.cluster,
        state.submitter,
        state.orphan_submitter,
        *state.orphans,
    )
    return frozenset(item.uid for item in known if item is not None and item.uid) | {*state.gone}


def standing(state: RayJobState) -> Phase:
    """Return the phase the job stands in, seen through a pause by ValidationFailed."""
    return state.paused if state.paused is not None else state.phase


def is_final(state: RayJobState) -> bool:
    """Return whether the job has ended for good."""
    return state.phase in FINAL


def gives_up(state: RayJobState) -> bool:
    """Return whether the job has ended between two attempts.

    What was to go for the next one goes all the same.
    """
    attempt = state.attempt
    begun = attempt is not None and attempt.retry_at is not None and not attempt.cleared
    return is_final(state) and begun


def selects_cluster(state: RayJobState) -> bool:
    """Return whether the job runs on a RayCluster that is not its own.

    While there is an attempt, what it began with counts and not an edit: else a shared RayCluster
    would be taken for the job's own, or its own for a shared one.
    """
    if state.attempt is not None and not state.attempt.cleared:
        return state.attempt.selected
    return state.manifest is not None and state.manifest.spec.cluster_selector != ""


def selected(state: RayJobState) -> str:
    """Return the name of the RayCluster that the manifest selects; empty if it selects none."""
    return state.manifest.spec.cluster_selector if state.manifest is not None else ""


def submission_mode(state: RayJobState) -> SubmissionMode | None:
    """Return how the entrypoint gets to the head; None while no manifest is known.

    An edit counts for the next attempt: nobody would hand in this one, or two would.
    """
    if state.manifest is None:
        return None
    attempt = state.attempt
    if attempt is not None and not attempt.cleared and attempt.mode is not None:
        return attempt.mode
    return state.manifest.spec.submission_mode


def has_submitter(state: RayJobState) -> bool:
    """Return whether a batch Job hands in the entrypoint."""
    return submission_mode(state) is SubmissionMode.K8S_JOB


def awaits_submitter(state: RayJobState) -> bool:
    """Return whether the job ends only with its submitter: a batch Job's, or beside the head."""
    return has_submitter(state) or is_sidecar(state)


def is_sidecar(state: RayJobState) -> bool:
    """Return whether the submitter runs beside the head."""
    return submission_mode(state) is SubmissionMode.SIDECAR


def submitter_of(state: RayJobState) -> KnownSubmitter | None:
    """Return the attempt's submitter, wherever it runs; None if there is none, or none is known."""
    if is_sidecar(state):
        return state.sidecar
    return state.submitter if has_submitter(state) else None


def was_handed_in(state: RayJobState) -> bool:
    """Return whether the head has the Ray job, as far as anybody knows: seen there, or taken."""
    attempt, submitter = state.attempt, submitter_of(state)
    over = submitter is not None and submitter.outcome != ""
    taken = attempt is not None and attempt.submitted
    return taken or over or state.entrypoint.status is not JobStatus.NEW


def recovers_lost_heads(state: RayJobState) -> bool:
    """Return whether the job asks to run again on the next head, in the same attempt."""
    return state.manifest is not None and state.manifest.spec.recovers_lost_heads


def resubmits(state: RayJobState) -> bool:
    """Return whether a Ray job that the head does not know is handed in by us once more."""
    return _is_http(state) and recovers_lost_heads(state)


def keeps_cluster(state: RayJobState) -> bool:
    """Return whether the RayCluster of the failed attempt stays for the next one."""
    attempt = state.attempt
    kept = attempt is not None and attempt.keeps_cluster and not attempt.cleared
    return kept and standing(state) is Phase.RETRYING


def awaits_cluster(state: RayJobState) -> bool:
    """Return whether the attempt waits for a RayCluster in place of one that went."""
    attempt, cluster = state.attempt, state.cluster
    again = attempt is not None and attempt.cluster_again
    return again and (cluster is None or cluster.state != "ready")


def wants_poll(state: RayJobState) -> bool:
    """Return whether the head is to be asked about the entrypoint: not that of a lost RayCluster.

    Where the manifest is invalid the verdict on such a loss waits, and nothing is there to ask.
    """
    attempt = state.attempt
    if is_dormant(state) or is_leaving(state) or awaits_cluster(state):
        return False
    if attempt is None or attempt.failing is not None or attempt.cluster_lost:
        return False
    waits_for_submission = not has_submitter(state) and _is_http(state) and not attempt.submitted
    return (
        standing(state) is Phase.RUNNING
        and attempt.address != ""
        and attempt.job_id != ""
        and not waits_for_submission
    )


def _is_http(state: RayJobState) -> bool:
    return submission_mode(state) is SubmissionMode.HTTP
