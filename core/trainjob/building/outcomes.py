"""The outcomes of building and applying objects, as the effect returns them to the decider."""

from dataclasses import dataclass

from jobledger.core.values.documents import Manifest, items, number, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOutcome:
    """How a build and apply went."""

    runtime: str = ""
    """Digest of the runtime that was built from; empty: there was none."""
    failed_building: bool = False
    """Whether it failed before all objects were built."""
    may_pass: bool = False
    """Whether another try without any change can succeed."""
    jobset_uid: str = ""
    jobset_generation: int = 0
    jobset_suspend: bool = False
    names: tuple[str, ...] = ()
    """What was applied, as `Kind/name`."""
    snapshot: bool = False
    """Whether the runtime was snapshotted."""
    builder: str = ""
    """Versions of what has built: this program and its plugins."""


def write_outcome(outcome: ApplyOutcome) -> Manifest:
    """Return the outcome as a document; what has its default is left out."""
    told: Manifest = {
        "runtime": outcome.runtime,
        "failedBuilding": outcome.failed_building,
        "mayPass": outcome.may_pass,
        "jobSetUid": outcome.jobset_uid,
        "jobSetGeneration": outcome.jobset_generation,
        "jobSetSuspend": outcome.jobset_suspend,
        "names": list(outcome.names),
        "snapshot": outcome.snapshot,
        "builder": outcome.builder,
    }
    return {name: value for name, value in told.items() if value}


def read_outcome(document: Manifest) -> ApplyOutcome:
    """Return the outcome that a document tells; what it does not tell has its default."""
    return ApplyOutcome(
        runtime=text(document, "runtime"),
        failed_building=document.get("failedBuilding") is True,
        may_pass=document.get("mayPass") is True,
        jobset_uid=text(document, "jobSetUid"),
        jobset_generation=number(document, "jobSetGeneration") or 0,
        jobset_suspend=document.get("jobSetSuspend") is True,
        names=tuple(str(name) for name in items(document, "names")),
        snapshot=document.get("snapshot") is True,
        builder=text(document, "builder"),
    )
