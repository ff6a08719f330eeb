"""Users of Jobs that are given to the controller: they create, edit, suspend and delete them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from jobledger.core.batchjob.names import MANAGED_BY
from jobledger.core.batchjob.spec import BACKOFF_LIMIT_ANNOTATION
from jobledger.core.jobs.control.ownership import controller_of
from jobledger.core.jobs.retries.job_deadline import JOB_DEADLINE_ANNOTATION
from jobledger.core.ports.cluster import BATCH_JOBS
from jobledger.core.values.documents import Manifest, child, text
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.users import NAMESPACE, SECRET

NAMES = ("etl", "reindex")
RARE = 0.3
"""How often users think of what leaves a run with little to see."""
Edit = Callable[[dict[str, Any], dict[str, str]], object]
"""Changes a specification and annotations."""


@dataclass
class BatchUsers:
    """Everybody who writes Jobs of their own."""

    api: SimulatedApi
    dice: Random
    creations_left: int
    """How many Jobs are still to be made; 0 from the start: this run has none."""
    queued: bool = False
    """Whether a queue suspends and resumes Jobs again and again, and puts them on other nodes."""

    def possible(self) -> list[Move]:
        """Return what they may do next."""
        moves: list[Move] = []
        if self.creations_left:
            free = [name for name in NAMES if self.api.get(BATCH_JOBS, NAMESPACE, name) is None]
            moves += [(f"create Job {name}", partial(self._create, name)) for name in free[:1]] * 3
        for job in users_jobs(self.api):
            name = text(job, "metadata", "name")
            if self.dice.random() < RARE:
                delete = partial(self.api.delete, BATCH_JOBS, NAMESPACE, name)
                moves.append((f"delete Job {name}", delete))
            moves += [
                (f"{what} Job {name}", partial(self._edit, job, edit)) for what, edit in _edits(job)
            ]
            if self.queued:
                moves += self._of_the_queue(job, name)
        return moves

    def _of_the_queue(self, job: Manifest, name: str) -> list[Move]:
        """Return what a queue does, by what Kubernetes takes of a Job that is suspended."""
        widths = [partial(self._edit, job, partial(_set, "parallelism", one)) for one in (1, 4)]
        moves: list[Move] = [(f"narrow Job {name}", widths[0]), (f"widen Job {name}", widths[1])]
        moves.append((f"flip Job {name} three times", partial(self._flip, name)))
        if child(job, "spec").get("suspend") is True:
            nodes = self.dice.choice(("spot", "reserved"))
            admit = partial(self._edit, job, partial(_admit, nodes))
            moves.append((f"the queue admits Job {name} on other nodes", admit))
        return moves

    def _flip(self, name: str) -> None:
        for _ in range(3):
            job = self.api.get(BATCH_JOBS, NAMESPACE, name) or {}
            suspended = child(job, "spec").get("suspend") is True
            self._edit(job, partial(_set, "suspend", not suspended))

    def _create(self, name: str) -> None:
        self.creations_left -= 1
        dice = self.dice
        container: dict[str, Any] = {
            "name": "main",
            "image": "etl:1",
            "command": ["python", "etl.py"],
            "env": [{"name": "WANDB_API_KEY", "value": SECRET}],
        }
        template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        spec: dict[str, Any] = {"managedBy": MANAGED_BY, "template": template}
        spec["ttlSecondsAfterFinished"] = 60
        if dice.random() < 0.3:
            spec["suspend"] = True
        annotations = {BACKOFF_LIMIT_ANNOTATION: str(dice.choice((0, 1, 2, 3)))}
        if dice.random() < 0.25:
            annotations[JOB_DEADLINE_ANNOTATION] = dice.choice(("15s", "60s"))
        metadata: dict[str, Any] = {"name": name, "namespace": NAMESPACE}
        metadata["annotations"] = annotations
        head = {"apiVersion": BATCH_JOBS.api_version, "kind": BATCH_JOBS.kind}
        self.api.create(BATCH_JOBS, {**head, "metadata": metadata, "spec": spec})

    def _edit(self, job: Manifest, edit: Edit) -> None:
        spec: dict[str, Any] = dict(child(job, "spec"))
        metadata = child(job, "metadata")
        annotations: dict[str, Any] = dict(child(metadata, "annotations"))
        edit(spec, annotations)
        changed = {**metadata, "annotations": annotations}
        self.api.replace(BATCH_JOBS, {"metadata": changed, "spec": spec})


def users_jobs(api: SimulatedApi) -> list[Manifest]:
    """Return the Jobs that are given to the controller."""
    return [job for job in api.all(BATCH_JOBS) if is_given(job)]


def attempts_jobs(api: SimulatedApi) -> list[Manifest]:
    """Return the Jobs that were made for attempts."""
    return [job for job in api.all(BATCH_JOBS) if users_job_of(job)]


def users_job_of(manifest: Manifest) -> str:
    """Return the UID of the Job that controls a Job; empty if none does."""
    owner = controller_of(manifest)
    return owner.uid if owner is not None and owner.kind == BATCH_JOBS.kind else ""


def is_given(manifest: Manifest) -> bool:
    """Return whether an object is a Job that is given to the controller."""
    return text(manifest, "spec", "managedBy") == MANAGED_BY


def is_batch(manifest: Manifest) -> bool:
    """Return whether an object is a Job that is given to the controller, or one of its attempts."""
    return is_given(manifest) or bool(users_job_of(manifest))


def _set(field: str, value: object, spec: dict[str, Any], _: dict[str, str]) -> None:
    spec[field] = value


def _admit(nodes: str, spec: dict[str, Any], _: dict[str, str]) -> None:
    pod = {**child(spec, "template", "spec"), "nodeSelector": {"pool": nodes}}
    spec["template"] = {**child(spec, "template"), "spec": pod}
    spec["suspend"] = False


def _edits(job: Manifest) -> list[tuple[str, Edit]]:
    """Return what may be changed about a Job: words, and the change itself."""
    suspended = child(job, "spec").get("suspend") is True
    what = "resume" if suspended else "suspend"
    limits = (("give more tries to", "4"), ("give no more tries to", "0"))
    return [
        *[(what, lambda spec, _: spec.update(suspend=not suspended))] * 2,
        ("widen", lambda spec, _: spec.update(parallelism=2)),
        *(
            (words, lambda _, notes, limit=limit: notes.update({BACKOFF_LIMIT_ANNOTATION: limit}))
            for words, limit in limits
        ),
    ]
