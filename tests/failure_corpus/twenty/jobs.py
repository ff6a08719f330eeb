"""The twenty jobs, what is known of them, and the runs of two of them before."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from jobledger.core.values.documents import Json, Manifest
from tests.failure_corpus.cases import Failure, failures
from tests.failure_corpus.stories import JOBSET_FAILED

TITLES = {
    "llama-ft": "an epoch's activations do not fit the GPU",
    "vision-ft": "a shape mismatch, far below a warning and followed by a shutdown's chatter",
    "embed-docs": "a package that the image lacks",
    "export-weights": "a bucket that refuses the job's role",
    "nightly-eval": "an image tag that nobody pushed",
    "big-sweep": "no node has eight GPUs free",
    "second-sweep": "the namespace's quota is used up",
    "rollouts": "the head's Pod was deleted under the job",
    "long-haul": "a job that outlived its deadline",
    "mistyped": "a manifest that cannot be valid",
    "resnet-dist": "a collective that never came together",
    "gpt-pretrain": "a GPU with an uncorrectable memory error",
    "loader-heavy": "shared memory of 64 MB for the loader's workers",
    "spot-train": "a node that stopped answering",
    "checkpointing": "the disk of checkpoints is full",
    "resize-images": "a native library that crashes",
    "dedup": "an eviction for the node's memory",
    "tokenize": "a wrong flag",
    "publish": "a Job's image pulled too often",
    "crawl": "a Job past the deadline of its attempts",
}
"""Name of the job -> title of the case that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One run of one of them."""

    name: str
    case: Failure
    days_before: int = 0
    works: bool = False
    """Whether this run succeeds, and is no failure at all."""
    document: Manifest | None = None
    """What its manifest says; None: what the stories' own has."""

    @property
    def run(self) -> str:
        """Return what tells its UID from those of the other runs of the name."""
        return f"-{self.days_before}" if self.days_before else ""


def _ray(image: str, batch: int) -> Manifest:
    pod: Json = {"spec": {"containers": [{"name": "ray-head", "image": image}]}}
    cluster: Json = {"headGroupSpec": {"template": pod}}
    entrypoint = f"python finetune.py --epochs 3 --batch-size {batch}"
    return {"spec": {"entrypoint": entrypoint, "rayClusterSpec": cluster}}


def _train(image: str) -> Manifest:
    return {"spec": {"trainer": {"image": image, "numNodes": 2}}}


def twenty() -> Iterator[Prepared]:
    """Yield the twenty jobs in their order. Raise `KeyError` if the corpus has no such case."""
    known = {case.title: case for case in failures()}
    for name, title in TITLES.items():
        prepared = Prepared(name=name, case=_renamed(known[title], name))
        if name == "llama-ft":
            prepared = replace(prepared, document=_ray("llama:2.53", 64))
        elif name == "gpt-pretrain":
            prepared = replace(prepared, document=_train("gpt:4.2"))
        yield prepared


def _renamed(case: Failure, name: str) -> Failure:
    """Return a case whose evidence speaks of a job of this name."""
    message = case.message or (JOBSET_FAILED if case.kind == "TrainJob" else "")
    own = re.compile(r"(?<![\w-])(train|etl)-(?=node|worker|7xk2p)")
    return replace(
        case,
        events=tuple(own.sub(f"{name}-", event) for event in case.events),
        trouble=own.sub(f"{name}-", case.trouble),
        message=own.sub(f"{name}-", message),
    )


def runs_before() -> Iterator[Prepared]:
    """Yield the runs before: one that worked of llama-ft, three that failed of gpt-pretrain."""
    by_name = {one.name: one for one in twenty()}
    tuned, trained = by_name["llama-ft"], by_name["gpt-pretrain"]
    for days in (9, 6, 2):
        yield replace(trained, days_before=days)
    yield replace(trained, days_before=12, works=True, document=_train("gpt:4.1"))
    yield replace(tuned, days_before=1, works=True, document=_ray("llama:2.52", 32))
