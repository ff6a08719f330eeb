"""Users of TrainJobs: they create, edit, suspend and delete them, and the runtime they name."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from jobledger.core.ports.cluster import CLUSTER_TRAINING_RUNTIMES, TRAINJOBS
from jobledger.core.values.documents import Manifest, child, text
from tests.simulation.kubernetes import SimulatedApi
from tests.simulation.nature import Move
from tests.simulation.users import NAMESPACE, SECRET
from tests.support.train_world import torch_runtime

RUNTIME = "torch"
NAMES = ("fit", "distil")
RESERVED = [{"name": "PET_NNODES", "value": "9"}]
"""An environment that cannot be built from."""
RARE = 0.3
"""How often users think of what leaves a run with little to see."""
Edit = Callable[[dict[str, Any]], None]


@dataclass
class TrainUsers:
    """Everybody who writes TrainJobs, and whoever looks after the runtime."""

    api: SimulatedApi
    dice: Random
    creations_left: int
    """How many TrainJobs are still to be made; 0 from the start: this run has none."""
    defaulted: bool = False
    """Whether the API server fills in the default of `suspend`, as that of the CRD does."""

    def __post_init__(self) -> None:
        if self.creations_left and self.dice.random() < 0.7:
            self._install()

    def possible(self) -> list[Move]:
        """Return what they may do next."""
        jobs = list(self.api.all(TRAINJOBS))
        if not jobs and not self.creations_left:
            return []
        moves = self._of_the_runtime()
        free = [name for name in NAMES if self.api.get(TRAINJOBS, NAMESPACE, name) is None]
        if free and self.creations_left:
            name = self.dice.choice(free)
            moves += [(f"create TrainJob {name}", partial(self._create, name))] * 3
        for job in jobs:
            name = text(job, "metadata", "name")
            if self.dice.random() < RARE:
                delete = partial(self.api.delete, TRAINJOBS, NAMESPACE, name)
                moves.append((f"delete TrainJob {name}", delete))
            moves += [
                (f"{what} TrainJob {name}", partial(self._edit, job, edit))
                for what, edit in _edits(child(job, "spec"))
            ]
        return moves

    def owed(self) -> list[Move]:
        """Return what somebody does in the end: the runtime that jobs wait for is made."""
        if self._runtime() is None and any(True for _ in self.api.all(TRAINJOBS)):
            return [("the runtime appears", self._install)]
        return []

    def _of_the_runtime(self) -> list[Move]:
        runtime = self._runtime()
        if runtime is None:
            return [("the runtime appears", self._install)]
        moves: list[Move] = [("the runtime changes", partial(self._change, runtime))]
        if self.dice.random() < RARE:
            remove = partial(self.api.delete, CLUSTER_TRAINING_RUNTIMES, "", RUNTIME)
            moves.append(("the runtime goes", remove))
        return moves

    def _runtime(self) -> Manifest | None:
        return self.api.get(CLUSTER_TRAINING_RUNTIMES, "", RUNTIME)

    def _install(self) -> None:
        runtime = torch_runtime(RUNTIME)
        (job,) = runtime["spec"]["template"]["spec"]["replicatedJobs"]
        (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
        container["env"] = [{"name": "TOKEN", "value": SECRET}]
        self.api.create(CLUSTER_TRAINING_RUNTIMES, runtime)

    def _change(self, runtime: Manifest) -> None:
        spec: dict[str, Any] = {**child(runtime, "spec")}
        spec["mlPolicy"] = {"numNodes": self.dice.choice((1, 2, 3)), "torch": {}}
        metadata = child(runtime, "metadata")
        self.api.replace(CLUSTER_TRAINING_RUNTIMES, {"metadata": metadata, "spec": spec})

    def _create(self, name: str) -> None:
        self.creations_left -= 1
        dice = self.dice
        trainer: dict[str, Any] = {"command": ["python", "train.py"], "numNodes": 2}
        trainer["env"] = [{"name": "WANDB_API_KEY", "value": SECRET}]
        if dice.random() < 0.15:
            trainer["env"] = RESERVED
        spec: dict[str, Any] = {"runtimeRef": {"name": RUNTIME}, "trainer": trainer}
        if self.defaulted:
            spec["suspend"] = False
        if dice.random() < 0.3:
            spec["suspend"] = True
        if dice.random() < 0.3:
            spec["activeDeadlineSeconds"] = dice.choice((15, 60, 300))
        metadata = {"name": name, "namespace": NAMESPACE}
        head = {"apiVersion": TRAINJOBS.api_version, "kind": TRAINJOBS.kind}
        self.api.create(TRAINJOBS, {**head, "metadata": metadata, "spec": spec})

    def _edit(self, job: Manifest, edit: Edit) -> None:
        spec: dict[str, Any] = dict(child(job, "spec"))
        edit(spec)
        self.api.replace(TRAINJOBS, {"metadata": child(job, "metadata"), "spec": spec})


def _edits(spec: Manifest) -> list[tuple[str, Edit]]:
    """Return what the CRD lets be changed about a TrainJob: words, and the change itself."""
    suspended = spec.get("suspend") is True
    what = "resume" if suspended else "suspend"
    found: list[tuple[str, Edit]] = [(what, lambda new: new.update(suspend=not suspended))] * 2
    if "activeDeadlineSeconds" in spec:
        found.append(("unbind", lambda new: new.pop("activeDeadlineSeconds")))
    else:
        found.append(("bound", lambda new: new.update(activeDeadlineSeconds=30)))
    if "trainer" in spec:
        found.append(("take the trainer from", lambda new: new.pop("trainer")))
    return found
