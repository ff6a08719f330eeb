"""What observations of a RayJob mean before anything is decided on them."""

from jobledger.core.jobs.control.sightings import SightingRules
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    HeadPodSeen,
    ManifestGone,
    ManifestSeen,
    PollAnswered,
    RayJobObservation,
    SubmitterSeen,
)
from jobledger.core.rayjob.phases import FINAL

_REOPENING = (ManifestGone, ClusterSeen, ClusterGone)


def _subject(seen: RayJobObservation) -> tuple[object, ...] | None:
    if isinstance(seen, ManifestSeen):
        return type(seen), seen.recorded, seen.in_between
    if isinstance(seen, ClusterSeen | SubmitterSeen | HeadPodSeen):
        return type(seen), seen.uid
    return None


def _reopens(seen: RayJobObservation) -> bool:
    return isinstance(seen, _REOPENING)


def _shows_end(seen: RayJobObservation) -> bool:
    return isinstance(seen, ManifestSeen) and seen.status.phase in FINAL


def _may_be_old(seen: RayJobObservation) -> bool:
    if not isinstance(seen, ManifestSeen) or seen.recorded or not seen.spec.is_ours:
        return False
    return seen.written_here or not seen.status.phase


RAYJOB_SIGHTINGS: SightingRules[RayJobObservation] = SightingRules(
    turning_points=(PollAnswered, SubmitterSeen, ManifestGone),
    subject=_subject,
    reopens=_reopens,
    shows_end=_shows_end,
    may_be_old=_may_be_old,
)
