"""Tells of an object of an attempt that no controller has looked at: it has no status yet.

KubeRay's operator, JobSet's controller and Kubernetes' own of Jobs write a status as soon as they
see an object. Where none does, that controller does not run, or not for this namespace, and nothing
else tells: no Pod, no Kubernetes Event.
"""

from collections.abc import Iterable

from jobledger.core.jobs.evidence.evidence import Missing
from jobledger.core.values.documents import Manifest, child

UNTOUCHED = "no controller has taken it up"


def is_untouched(found: Manifest) -> bool:
    """Return whether no controller has written a status of an object."""
    return not child(found, "status")


def missing_pods_of(kind: str, name: str) -> Missing:
    """Return that an object has no Pods, as nobody has taken it up."""
    return Missing(what="Pods", why=f"{UNTOUCHED}: {kind} {name} has no status")


def said_untouched(missing: Iterable[Missing]) -> str:
    """Return what evidence says of an object that nobody has taken up; empty if it is none."""
    return next((one.why for one in missing if one.why.startswith(UNTOUCHED)), "")
