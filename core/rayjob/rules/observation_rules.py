"""What observations of a RayJob mean before anything is decided on them."""

from jobledger.core.jobs.control.observation_rules import ObservationRules
from jobledger.core.rayjob.names import submitter_name
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    HeadPodGone,
    HeadPodSeen,
    ManifestGone,
    ManifestSeen,
    PollAnswered,
    RayJobObservation,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.phases import FINAL
from jobledger.core.rayjob.state import RayJobState

_REOPENING = (ManifestGone, ClusterSeen, ClusterGone)


def _subject(seen: RayJobObservation) -> tuple[object, ...] | None:
    if isinstance(seen, ManifestSeen):
        return type(seen), seen.recorded, seen.in_between
    if isinstance(seen, ClusterSeen | SubmitterSeen | HeadPodSeen):
        return type(seen), seen.uid
    return None


def _marks(seen: RayJobObservation) -> frozenset[str]:
    if isinstance(seen, HeadPodSeen):
        return frozenset({seen.uid, seen.cluster})
    if isinstance(seen, ClusterSeen | ClusterGone | SubmitterSeen | SubmitterGone | HeadPodGone):
        return frozenset({seen.uid, seen.name})
    return frozenset()


def _known_marks(state: RayJobState) -> frozenset[str]:
    if state.identity is None:
        return frozenset()
    names = {submitter_name(state.identity.name)}
    if state.attempt is not None:
        names.add(state.attempt.cluster_name)
    if state.manifest is not None:
        names.add(state.manifest.spec.cluster_selector)
    there = (state.cluster, state.submitter, state.orphan_submitter, state.head)
    return frozenset(names | {one.uid for one in there if one is not None}) - {""}


def _kept(state: RayJobState) -> str:
    """Return the RayCluster that stays, or is shared: how it fares is no news after the end."""
    attempt, cluster = state.attempt, state.cluster
    if attempt is None or attempt.cleared or cluster is None or cluster.deleting:
        return ""
    return cluster.uid if cluster.name == attempt.cluster_name else ""


def _reopens(seen: RayJobObservation, kept: str) -> bool:
    if isinstance(seen, ClusterSeen) and seen.uid == kept:
        return seen.deleting
    return isinstance(seen, _REOPENING)


def _shows_end(seen: RayJobObservation) -> bool:
    return isinstance(seen, ManifestSeen) and seen.status.phase in FINAL


def _may_be_old(seen: RayJobObservation) -> bool:
    if not isinstance(seen, ManifestSeen) or seen.recorded or not seen.spec.is_ours:
        return False
    return seen.written_here or not seen.status.phase


RAYJOB_OBSERVING: ObservationRules[RayJobState, RayJobObservation] = ObservationRules(
    turning_points=(PollAnswered, SubmitterSeen, ManifestGone),
    marks=_marks,
    known_marks=_known_marks,
    subject=_subject,
    reopens=_reopens,
    kept=_kept,
    shows_end=_shows_end,
    may_be_old=_may_be_old,
)
