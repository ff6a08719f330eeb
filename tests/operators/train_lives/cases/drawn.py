"""Lives whose steps are drawn by a seed."""

import random
from collections.abc import Callable

from tests.acceptance.trainjobs import RUNTIMES, torch_runtime
from tests.acceptance.witness import JOBSETS, TRAINJOBS
from tests.operators.train_lives import nodes
from tests.operators.train_lives.cases.table import Life, begin, patch, two_groups
from tests.operators.train_lives.world import World
from tests.support.api import CONFIGMAPS

LENGTH = 7

STEPS: dict[str, Callable[[World], object]] = {
    "run": lambda w: nodes.run(w.api),
    "end": lambda w: w.end(),
    "fail": lambda w: w.end(fails=True),
    "suspend": lambda w: w.change(suspend=True),
    "resume": lambda w: w.change(suspend=False),
    "delete-jobset": lambda w: w.delete(JOBSETS, "fit"),
    "delete-snapshot": lambda w: w.delete(CONFIGMAPS, "fit-runtime-snapshot"),
    "delete-runtime": lambda w: w.delete(RUNTIMES, "torch"),
    "patch": lambda w: w.change(runtimePatches=[patch(nodeSelector={"a": "b"})]),
    "no-patch": lambda w: w.change(runtimePatches=None),
    "suspend-and-patch": lambda w: w.change(
        suspend=True, runtimePatches=[patch(nodeSelector={"c": "d"})]
    ),
    "resume-and-patch": lambda w: w.change(
        suspend=False, runtimePatches=[patch(nodeSelector={"e": "f"})]
    ),
    "relabel": lambda w: w.label(TRAINJOBS, "fit", {"a": "b"}),
}
OFTEN = ("run", "run", "suspend", "resume")


def is_hooked(seed: int) -> bool:
    """Return whether webhooks are asked in the life of a seed: in every other one."""
    return seed % 2 == 0


def drawn(seed: int) -> Life:
    """Return the life of a seed.

    Where webhooks are asked the runtime stays, as Trainer's refuse all changes without it; where it
    may go the snapshot stays, as nothing can be built without both. A life ends once its job has
    failed, which Trainer 2.3 takes back: all three stand in docs/differences.md.
    """
    steps = [*STEPS, *OFTEN]
    steps.remove("delete-runtime" if is_hooked(seed) else "delete-snapshot")

    def lived(w: World) -> None:
        dice = random.Random(seed)
        restarts = dice.choice([0, 0, 1, 5])
        policy = {"failurePolicy": {"maxRestarts": restarts}} if restarts else {}
        has_two = dice.random() < 0.3
        runtime = two_groups(**policy) if has_two else torch_runtime("torch", **policy)
        if dice.random() < 0.3:
            kind = dice.choice(["jax", "xgboost"])
            runtime["spec"]["mlPolicy"] = {"numNodes": 2, kind: {}}
        begin(w, runtime, suspend=dice.random() < 0.3)
        for number in range(LENGTH):
            name = dice.choice(steps)
            STEPS[name](w)
            w.settle(f"{number} {name}")
            if w.has_failed():
                return
        w.change(suspend=False)
        w.settle("resumed at last")

    return lived
