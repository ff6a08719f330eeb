"""What Trainer and we show of a JobSet's status in that of its TrainJob."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from jobledger.adapters.kinds.trainjob.watching.observations import see_jobset
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.trainjob.policy import ConditionStyle, TrainPolicy
from jobledger.core.trainjob.status.status import status
from tests.support.trainjobs import IDENTITY, UID, after, applied, manifest, play, runtime
from tests.upstream.answers_file import read_lines, write_lines
from tests.upstream.changing import Document
from tests.upstream.comparing import differences, plain
from tests.upstream.programs import Oracle
from tests.upstream.searching import Searched, smallest
from tests.upstream.trainjob_cases import job_on

FILE = Path(__file__).with_name("trainjob_statuses.jsonl.gz")
RUNTIME = "torch-distributed"
SAID = ("id", "statusError", "status")
"""What an answer says of a JobSet's status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a JobSet says of itself."""

    id: str
    said: Document
    """Its status."""


def end(kind: str, status_: str = "True", reason: str = "Why", message: str = "how") -> Document:
    """Return a condition of a JobSet."""
    return {
        "type": kind,
        "status": status_,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    }


ENDS: Mapping[str, Sequence[Document]] = {
    "none": (),
    "completed": (end("Completed", reason="AllJobsCompleted"),),
    "failed": (end("Failed", reason="FailedJobs"),),
    "not-completed": (end("Completed", "False"),),
    "not-failed": (end("Failed", "False"),),
    "unknown": (end("Failed", "Unknown"),),
    "suspended": (end("Suspended"),),
    "completed-after-suspension": (end("Suspended", "False"), end("Completed", message="")),
    "startup": (end("StartupPolicyInProgress"), end("Failed")),
}
COUNTS = ("active", "failed", "ready", "succeeded", "suspended")
JOBS: Mapping[str, Sequence[Document]] = {
    "no-jobs": (),
    "nothing": ({"name": "node", **dict.fromkeys(COUNTS, 0)},),
    "each": ({"name": "node", **{name: place for place, name in enumerate(COUNTS)}},),
    "two": tuple({"name": name, **dict.fromkeys(COUNTS, 1)} for name in ("launcher", "node")),
}


def sights() -> Iterator[Sight]:
    """Yield every end with every count."""
    for one, conditions in ENDS.items():
        for other, jobs in JOBS.items():
            yield sight(f"{one}/{other}", conditions, jobs)


def sight(name: str, conditions: Sequence[Document], jobs: Sequence[Document]) -> Sight:
    """Return what a JobSet says with some conditions and counts."""
    return Sight(id=name, said={"conditions": list(conditions), "replicatedJobsStatus": list(jobs)})


def jobset_of(one: Sight) -> Document:
    """Return the JobSet of the TrainJob that is asked about."""
    owner = {"kind": "TrainJob", "name": "train", "uid": UID, "controller": True}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {
            "name": "train",
            "namespace": "default",
            "uid": "jobset-1",
            "generation": 1,
            "resourceVersion": "9",
            "ownerReferences": [{"apiVersion": "trainer.kubeflow.org/v1alpha1", **owner}],
        },
        "spec": {},
        "status": one.said,
    }


def question(one: Sight, of_training: Document) -> dict[str, Any]:
    """Return what a JobSet says, as the oracle reads it."""
    return {
        "id": one.id,
        "trainJob": job_on(of_training),
        "objects": [of_training, jobset_of(one)],
        "status": True,
    }


def ours(one: Sight) -> Document:
    """Return the status of a TrainJob that runs, once its JobSet was seen."""
    job = cast("CachedJob", _Known())
    seen = see_jobset(job, jobset_of(one), after(100))
    policy = TrainPolicy(conditions=ConditionStyle.UPSTREAM)
    played = play([manifest(policy=policy), runtime(), applied(), seen])
    return cast("Document", plain(dict(status(played.state))))


class _Known:
    """As much of a known job as a look at its JobSet asks for."""

    identity = IDENTITY
    redactor = Redactor(b"", ())


def found(one: Sight, answer: Mapping[str, Any]) -> list[str]:
    """Return where the status that we show is another than Trainer's."""
    if answer.get("statusError"):
        return [answer["statusError"]]
    return list(differences(plain(answer["status"]), ours(one)))


def write(answers: Sequence[Mapping[str, Any]]) -> int:
    """Write the statuses; return how many there are."""
    return write_lines(FILE, [{key: one[key] for key in SAID if key in one} for one in answers])


def read() -> dict[str, Any]:
    """Return the answers by the id of their case."""
    return {answer["id"]: answer for answer in read_lines(FILE)}


amounts = st.integers(0, 100)
jobs = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["a", "b", "node"]), **dict.fromkeys(COUNTS, amounts)}
    ),
    max_size=3,
    unique_by=lambda item: item["name"],
)
generated = st.builds(sight, st.just("generated"), st.sampled_from(list(ENDS.values())), jobs)


def search(upstream: Oracle, runtimes: Mapping[str, Any], count: int, number: int) -> Searched:
    """Return the smallest status of a JobSet that we show otherwise, among so many."""

    def told(one: Sight) -> str:
        differs = found(one, upstream.ask(question(one, runtimes[RUNTIME])))
        return f"{one.said}:\n  " + "\n  ".join(differs) if differs else ""

    return smallest(generated, told, count, number)
