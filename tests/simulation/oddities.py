"""What people rarely do to a job in the middle of its life, and to what it runs on.

In seeds from `ODD_FROM` on alone, so that the dice of older ones fall as they did.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from random import Random
from typing import Any

from jobledger.core.batchjob.spec import BACKOFF_LIMIT_ANNOTATION
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import (
    BATCH_JOBS,
    JOBSETS,
    RAYCLUSTERS,
    RAYJOBS,
    TRAINJOBS,
    Resource,
)
from jobledger.core.values.documents import Manifest, child, items, text
from tests.simulation.jobs import jobs_of, restore
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import SLOW_FINALIZER, Move
from tests.simulation.retry_options import edited
from tests.simulation.users import strategy

ODD_FROM = 2_000_000
"""From this seed on."""

CHILDREN = (RAYCLUSTERS, BATCH_JOBS, JOBSETS)
SAME_CLUSTER = "jobledger.dev/retry-on"
ELSEWHERE = "kueue.x-k8s.io/multikueue"
Spec = dict[str, Any]
Edit = Callable[[Spec, dict[str, Any]], object]
"""Changes a specification and annotations."""


@dataclass
class Oddities:
    """Whoever edits and keeps what others leave alone."""

    api: SimulatedApi
    dice: Random
    present: bool
    wide: bool = False
    """Whether RayJobs are handed over to other controllers, taken back, and restored."""
    options: bool = False
    """Whether what is asked for about their retries is edited."""
    trains: bool = True
    """Whether the deadlines of TrainJobs are changed, as their definition does not let them."""
    _backups: dict[str, Manifest] = field(default_factory=dict)
    """RayJobs as they were at some instant, by their names."""

    def wishes(self) -> list[Move]:
        """Return what users may do next."""
        wished = [*self._edits()] if self.present else []
        return [*wished, *self._restores()] if self.wide else wished

    def possible(self) -> list[Move]:
        """Return what happens by itself: a job that was kept is let go."""
        if not self.present:
            return []
        return [
            (f"{text(job, 'metadata', 'name')} is let go", partial(self._let_go, of, job))
            for of, job in jobs_of(self.api)
            if SLOW_FINALIZER in items(job, "metadata", "finalizers")
            and text(job, "metadata", "deletionTimestamp")
        ]

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        return [*self._keepings()] if self.present else []

    def _edits(self) -> Iterator[Move]:
        for of, job in jobs_of(self.api):
            spec, name = child(job, "spec"), text(job, "metadata", "name")
            if of is RAYJOBS:
                edits = _of_rayjob(spec, self.dice)
            elif of is TRAINJOBS:
                edits = _of_trainjob() if self.trains else iter(())
            else:
                edits = _of_job()
            if self.wide and of is RAYJOBS:  # of others the field never changes
                edits = chain(edits, _of_control(spec))
            if self.options and of is RAYJOBS:
                edits = chain(edits, _of_options(self.dice))
            for what, edit in edits:
                yield f"oddly {what} {name}", partial(self._edit, of, job, edit)

    def _restores(self) -> Iterator[Move]:
        there = {text(job, "metadata", "name"): job for job in self.api.all(RAYJOBS)}
        for name, job in there.items():
            yield f"back up {name}", partial(self._backups.__setitem__, name, job)
        for name in sorted(self._backups.keys() - there.keys()):
            yield (
                f"restore the status of {name} with it",
                partial(restore, self.api, RAYJOBS, self._backups[name]),
            )

    def _keepings(self) -> Iterator[Move]:
        for of in CHILDREN:
            for item in self.api.all(of):
                name = text(item, "metadata", "name")
                if not items(item, "metadata", "ownerReferences"):
                    continue
                if not items(item, "metadata", "finalizers"):
                    yield f"somebody keeps {name}", partial(self._keep, of, item)
        for of, job in jobs_of(self.api):
            finalizers, name = items(job, "metadata", "finalizers"), text(job, "metadata", "name")
            if text(job, "metadata", "deletionTimestamp"):
                continue
            if SLOW_FINALIZER not in finalizers:
                yield f"somebody keeps {name}", partial(self._keep, of, job)
            if any(one != SLOW_FINALIZER for one in finalizers):
                strip = partial(self.api.put_finalizers, of, job, [])
                yield f"somebody takes the finalizers from {name}", strip

    def _keep(self, of: Resource, item: Manifest) -> None:
        found = items(item, "metadata", "finalizers")
        self.api.put_finalizers(of, item, [*found, SLOW_FINALIZER])

    def _let_go(self, of: Resource, item: Manifest) -> None:
        found = items(item, "metadata", "finalizers")
        self.api.put_finalizers(of, item, [one for one in found if one != SLOW_FINALIZER])

    def _edit(self, of: Resource, job: Manifest, edit: Edit) -> None:
        metadata, spec = child(job, "metadata"), dict(child(job, "spec"))
        annotations: dict[str, Any] = dict(child(metadata, "annotations"))
        edit(spec, annotations)
        self.api.replace(of, {"metadata": {**metadata, "annotations": annotations}, "spec": spec})


def _of_rayjob(spec: Manifest, dice: Random) -> Iterator[tuple[str, Edit]]:
    yield "take the limit of tries from", lambda new, _: new.pop("backoffLimit", None)
    yield "unbind", lambda new, _: new.pop("activeDeadlineSeconds", None)
    yield "bound long", lambda new, _: new.update(activeDeadlineSeconds=3000)
    yield "bound shortly", lambda new, _: new.update(activeDeadlineSeconds=1)
    yield "bound the beginning of", lambda new, _: new.update(preRunningDeadlineSeconds=10)
    yield "unbind the beginning of", lambda new, _: new.pop("preRunningDeadlineSeconds", None)
    yield "reword", lambda new, _: new.update(entrypoint=f"python train.py {dice.randrange(9)}")
    for seconds in ("", "5s", "300s"):
        yield f"deadline {seconds or 'none'}", partial(_annotate, JOB_DEADLINE_ANNOTATION, seconds)
    for on in ("", "same-cluster"):
        yield f"retry on {on or 'any'}", partial(_annotate, SAME_CLUSTER, on)
    yield "change the strategy of", lambda new, _: new.update(deletionStrategy=strategy(dice))
    yield "take the strategy from", lambda new, _: new.pop("deletionStrategy", None)
    ends = spec.get("shutdownAfterJobFinishes") is True
    yield "flip the shutdown of", lambda new, _: new.update(shutdownAfterJobFinishes=not ends)
    yield "end now", lambda new, _: new.update(ttlSecondsAfterFinished=0)
    yield "end late", lambda new, _: new.update(ttlSecondsAfterFinished=200)
    suspended = spec.get("suspend") is True
    yield "toggle", lambda new, _: new.update(suspend=not suspended)


def _of_control(spec: Manifest) -> Iterator[tuple[str, Edit]]:
    """Yield that another cluster's controller is to run a job, or no more."""
    if text(spec, "managedBy"):
        yield "take back", lambda new, _: new.pop("managedBy")
    else:
        yield "hand over", lambda new, _: new.update(managedBy=ELSEWHERE)


def _of_options(dice: Random) -> Iterator[tuple[str, Edit]]:
    """Yield twice that something about retries is asked for otherwise."""
    for name, value in (edited(dice), edited(dice)):
        yield f"ask {value or 'no'} {name} of", partial(_annotate, name, value)


def _of_trainjob() -> Iterator[tuple[str, Edit]]:
    yield "bound shortly", lambda new, _: new.update(activeDeadlineSeconds=1)
    yield "bound long", lambda new, _: new.update(activeDeadlineSeconds=3000)


def _of_job() -> Iterator[tuple[str, Edit]]:
    for limit in ("", "many", "1", "5"):
        yield f"limit {limit or 'none'}", partial(_annotate, BACKOFF_LIMIT_ANNOTATION, limit)
    for seconds in ("", "1s", "15s", "600s"):
        yield f"deadline {seconds or 'none'}", partial(_annotate, JOB_DEADLINE_ANNOTATION, seconds)
    yield "bound", lambda new, _: new.update(activeDeadlineSeconds=20)
    yield "unbind", lambda new, _: new.pop("activeDeadlineSeconds", None)
    yield "end now", lambda new, _: new.update(ttlSecondsAfterFinished=0)
    yield "keep", lambda new, _: new.pop("ttlSecondsAfterFinished", None)


def is_elsewhere(job: Manifest) -> bool:
    """Return whether another cluster's controller is to run a job."""
    return text(job, "spec", "managedBy") == ELSEWHERE


def _annotate(name: str, value: str, _: Spec, notes: dict[str, Any]) -> None:
    notes.pop(name, None)
    if value:
        notes[name] = value
