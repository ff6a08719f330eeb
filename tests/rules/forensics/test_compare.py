"""What differs between two runs: told for every kind of job, and nothing where nothing does."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace

from jobledger.core.catalogue import NAMES, SCHEMA_VERSION
from jobledger.core.forensics.bundles.dossier import Dossier, reader_of
from jobledger.core.forensics.comparing.compare import Comparison, compare
from jobledger.core.forensics.comparing.documents import differing
from jobledger.core.jobs.events import EffectSucceeded, EvidenceCaptured
from jobledger.core.jobs.evidence.evidence import PodEvidence
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import ROLES
from jobledger.core.log.chain import GENESIS
from jobledger.core.log.recording import NamedEvent, Tail, Writer, record
from jobledger.core.values.documents import Json, Manifest
from jobledger.core.values.ids import observation_id
from tests.support import batchjobs, trainjobs
from tests.support import rayjob_stories as ray
from tests.support.rayjob_builders import cluster, poll, submitter
from tests.support.recorded import dossier_of, stored
from tests.support.records import NOON


def retold(
    told: Iterable[Any],
    *,
    document: Manifest | None = None,
    sent: Manifest | None = None,
    nodes: Iterable[str] = (),
    name: str = "",
    attempt: int = 1,
) -> Dossier:
    """Return the run of a story, with another manifest, other objects, nodes, or another name."""
    events = []
    for event in told:
        changes: dict[str, Any] = {}
        if isinstance(event, ROLES.manifest_received) and document is not None:
            changes["document"] = document
        if isinstance(event, EffectSucceeded) and event.kind is EffectKind.APPLY_OBJECTS and sent:
            changes["sent"] = sent
        if name and hasattr(event, "identity"):
            changes["identity"] = replace(event.identity, name=name, uid=f"uid-{name}")
        events.append(replace(event, **changes))
    pods = tuple(
        PodEvidence(name=f"pod-{node}", uid=node, role="worker", phase="Running", node=node)
        for node in nodes
    )
    if pods:
        at = events[-1].at
        events.append(EvidenceCaptured(at=at, attempt=attempt, occasion="failure/1", pods=pods))
    stream = events[0].identity.stream_id
    named = [
        NamedEvent(name=NAMES[type(one)], schema_version=SCHEMA_VERSION, at=one.at, event=one)
        for one in events
    ]
    tail = Tail(stream_id=stream, version=0, chain=GENESIS)
    writer = Writer(actor="jobledger-0", epoch=1, now=NOON)
    records, _ = record(tail, writer, observation_id(stream, "told"), named)
    return Dossier(events=stored(records), evidence=reader_of({}), origin="a test")


def of_ray(story: Iterable[Any]) -> list[Any]:
    return [read.event for read in dossier_of(story).read()]


RAY_FAILED = of_ray((*ray.working(), *ray.failing()))
RAY_DONE = of_ray(ray.succeeded())
TRAIN_FAILED = trainjobs.play(
    (
        *trainjobs.running(),
        trainjobs.jobset(60, trainjobs.counts(failed=1), end=trainjobs.failed_end(60)),
    )
).history
TRAIN_DONE = trainjobs.play(trainjobs.completed()).history
BATCH_FAILED = batchjobs.play(batchjobs.failing()).history
BATCH_DONE = batchjobs.play(batchjobs.completed()).history

FAILED_AND_DONE = {
    "RayJob": (RAY_FAILED, RAY_DONE),
    "TrainJob": (TRAIN_FAILED, TRAIN_DONE),
    "Job": (BATCH_FAILED, BATCH_DONE),
}


def head(image: str, **more: Json) -> Manifest:
    """Return a RayJob's manifest whose head has an image."""
    pod: Json = {"spec": {"containers": [{"name": "ray-head", "image": image}]}}
    spec: Json = {"rayClusterSpec": {"headGroupSpec": {"template": pod}}, **more}
    return {"spec": spec, "labels": {}, "annotations": {}}


def labelled(uid: str) -> Manifest:
    """Return a batch Job as its API server gives it back."""
    labels: Json = {
        "batch.kubernetes.io/controller-uid": uid,
        "controller-uid": uid,
        "job-name": uid,
    }
    pod: Json = {"metadata": {"labels": labels}, "spec": {"containers": []}}
    return {"spec": {"selector": {"matchLabels": labels}, "template": pod}, "labels": labels}


def jobset(name: str, image: str, memory: str) -> Manifest:
    """Return the JobSet of a TrainJob of this name."""
    label: Json = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    container: Json = {"name": "node", "image": image, "resources": {"limits": {"memory": memory}}}
    pod: Json = {"spec": {"containers": [container], "subdomain": name}}
    template: Json = {"metadata": {"labels": label}, "spec": {"template": pod}}
    node: Json = {"name": "node", "template": template}
    return {f"JobSet/{name}": {"metadata": {"name": name}, "spec": {"replicatedJobs": [node]}}}


CONTAINER = "JobSet.spec.replicatedJobs[node].template.spec.template.spec.containers[node]"


def texts(comparison: Comparison, facet: str = "") -> list[str]:
    return [one.text for one in comparison.differences if facet in ("", one.facet)]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A difference: in these two runs, exactly this is told of a facet."""

    rule: str
    here: Dossier
    there: Dossier
    facet: str
    told: tuple[str, ...]


ROWS = (
    Row(
        rule="another image is told as such, and not once more as a part of the manifest",
        here=retold(RAY_FAILED, document=head("ray:2.53")),
        there=retold(RAY_DONE, document=head("ray:2.52"), name="before"),
        facet="",
        told=("image: ray:2.53 here, ray:2.52 there",),
    ),
    Row(
        rule="a field of the manifest is told by its path",
        here=retold(RAY_FAILED, document=head("ray", entrypoint="python train.py --batch 64")),
        there=retold(RAY_DONE, document=head("ray", entrypoint="python train.py --batch 32")),
        facet="",
        told=(
            "spec.entrypoint: python train.py --batch 64 here, python train.py --batch 32 there",
        ),
    ),
    Row(
        rule="of a long value that part is shown in which the two begin to differ",
        here=retold(RAY_FAILED, document=head("ray", entrypoint=f"run {'a' * 200} --x 1")),
        there=retold(RAY_DONE, document=head("ray", entrypoint=f"run {'a' * 200} --x 2")),
        facet="manifest",
        told=(f"spec.entrypoint: …{'a' * 25} --x 1 here, …{'a' * 25} --x 2 there",),
    ),
    Row(
        rule="what only one of the manifests has is nothing in the other",
        here=retold(BATCH_FAILED, document={"spec": {"suspend": False, "parallelism": 2}}),
        there=retold(BATCH_DONE, document={"spec": {"suspend": False}}),
        facet="manifest",
        told=("spec.parallelism: 2 here, nothing there",),
    ),
    Row(
        rule="a value of several lines makes no line of its own",
        here=retold(RAY_FAILED, document=head("ray", entrypoint="a\nalike: manifest")),
        there=retold(RAY_DONE, document=head("ray", entrypoint="b")),
        facet="manifest",
        told=("spec.entrypoint: a alike: manifest here, b there",),
    ),
    Row(
        rule="labels that Kubernetes gives each object are no difference",
        here=retold(BATCH_FAILED, document={"labels": {"batch.kubernetes.io/controller-uid": "1"}}),
        there=retold(BATCH_DONE, document={"labels": {"batch.kubernetes.io/controller-uid": "2"}}),
        facet="",
        told=(),
    ),
    Row(
        rule="nor are those that an API server puts into the template of a batch Job",
        here=retold(BATCH_FAILED, document=labelled("1")),
        there=retold(BATCH_DONE, document=labelled("2")),
        facet="",
        told=(),
    ),
    Row(
        rule="a runtime that builds another JobSet of the same TrainJob is told by the JobSet",
        here=retold(TRAIN_FAILED, sent=jobset("a", "torch:2", "8Gi"), name="a"),
        there=retold(TRAIN_DONE, sent=jobset("b", "torch:2", "16Gi"), name="b"),
        facet="objects",
        told=(f"{CONTAINER}.resources.limits.memory: 8Gi here, 16Gi there",),
    ),
    Row(
        rule="what was built as the manifest says is told of the manifest alone",
        here=retold(
            TRAIN_FAILED,
            document={"spec": {"memory": "8Gi for a"}},
            sent=jobset("a", "torch:2", "8Gi for a"),
            name="a",
        ),
        there=retold(
            TRAIN_DONE,
            document={"spec": {"memory": "16Gi for b"}},
            sent=jobset("b", "torch:2", "16Gi for b"),
            name="b",
        ),
        facet="",
        told=("spec.memory: 8Gi for a here, 16Gi for b there",),
    ),
    Row(
        rule="hidden values that a plugin makes of the jobs' names are no difference",
        here=retold(TRAIN_FAILED, sent=jobset("a", "torch:2", "redacted:1"), name="a"),
        there=retold(TRAIN_DONE, sent=jobset("b", "torch:2", "redacted:2"), name="b"),
        facet="",
        told=(),
    ),
    Row(
        rule="but of two runs of one name they are",
        here=retold(TRAIN_FAILED, sent=jobset("a", "torch:2", "redacted:1"), name="a"),
        there=retold(TRAIN_DONE, sent=jobset("a", "torch:2", "redacted:2"), name="a"),
        facet="objects",
        told=(f"{CONTAINER}.resources.limits.memory: redacted:1 here, redacted:2 there",),
    ),
    Row(
        rule="the image of a runtime is told once, and as the image",
        here=retold(TRAIN_FAILED, sent=jobset("a", "torch:2", "8Gi"), name="a"),
        there=retold(TRAIN_DONE, sent=jobset("b", "torch:1", "8Gi"), name="b"),
        facet="",
        told=("image: torch:2 here, torch:1 there",),
    ),
    Row(
        rule="other nodes are told by their names",
        here=retold(BATCH_FAILED, nodes=("gpu-12", "gpu-1")),
        there=retold(BATCH_DONE, nodes=("gpu-7",)),
        facet="nodes",
        told=("nodes of the last attempt: gpu-1, gpu-12 here, gpu-7 there",),
    ),
    Row(
        rule="a RayCluster that took much longer to be ready is told",
        here=retold(of_ray((*ray.initializing(), cluster("ready", 300)))),
        there=retold(RAY_DONE),
        facet="timing",
        told=(
            "from the last attempt's start to a ready RayCluster: 5.0 min here, 10.0 s there",
            "from the last attempt's start to running: not yet here, 11.0 s there",
        ),
    ),
    Row(
        rule="how many attempts there were is told",
        here=retold(
            of_ray(
                (
                    *ray.failed_attempts(1, backoff_limit=1),
                    *ray.built(2),
                    *ray.readied(2),
                    poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
                    submitter("Complete", 142, attempt=2),
                )
            )
        ),
        there=retold(RAY_DONE),
        facet="timing",
        told=(
            "attempts: 2 here, 1 there",
            "from creation to the end: 2.4 min here, 42.0 s there",
        ),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.rule for row in ROWS])
def test_what_differs(row: Row) -> None:
    comparison = compare(row.here, row.there)
    assert tuple(texts(comparison, row.facet)) == row.told
    for one in comparison.differences:
        assert one.versions, one.text
        assert one.other_versions, one.text


@pytest.mark.parametrize("kind", FAILED_AND_DONE)
def test_a_run_is_compared_with_itself_and_nothing_differs(kind: str) -> None:
    for events in FAILED_AND_DONE[kind]:
        same = retold(events, nodes=("gpu-1",))
        comparison = compare(same, same)
        assert comparison.differences == ()
        assert {"manifest", "cluster", "timing", "nodes"} <= set(comparison.same)


@pytest.mark.parametrize("kind", FAILED_AND_DONE)
def test_the_first_sentence_says_what_became_of_both(kind: str) -> None:
    failed, done = FAILED_AND_DONE[kind]
    comparison = compare(retold(failed), retold(done, name="before"))
    assert comparison.text.startswith(f"Here {kind} ")
    assert ", failed (application); there " in comparison.text
    assert comparison.text.endswith("/before of 2026-11-21T12:00:00Z, complete.")
    assert (comparison.here.outcome, comparison.there.outcome) == ("failed", "complete")


def test_manifests_of_two_kinds_are_not_compared_and_that_is_said() -> None:
    comparison = compare(retold(RAY_FAILED), retold(BATCH_DONE))
    assert not texts(comparison, "manifest")
    assert "manifest: a RayJob and a Job have other fields" in comparison.not_known


def test_what_was_not_kept_is_not_said_to_be_alike() -> None:
    comparison = compare(retold(RAY_FAILED, nodes=("gpu-1",)), retold(RAY_DONE))
    assert "nodes" not in comparison.same
    assert "nodes: no evidence names one there" in comparison.not_known
    neither = compare(retold(RAY_FAILED, nodes=()), retold(RAY_DONE)).not_known
    assert "nodes: no evidence names one on either side" in neither


@pytest.mark.parametrize(
    ("here", "there", "paths"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, ["a.b"]),
        ({"a": {"b": 1}}, {}, ["a"]),
        ({"args": ["x", "y"]}, {"args": ["x", "z"]}, ["args"]),
        (
            {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
            {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]},
            ["env[B].value"],
        ),
        ({"env": [{"name": "A"}, {"name": "B"}]}, {}, ["env[A]", "env[B]"]),
        ({"l": [{"x": 1}, {"x": 2}]}, {"l": [{"x": 1}, {"x": 3}]}, ["l[1].x"]),
        ({"l": [{"name": "A"}, {"name": "A", "x": 1}]}, {"l": [{"name": "A"}]}, ["l[1]"]),
    ],
)
def test_documents_differ_by_their_innermost_places(
    here: Json, there: Json, paths: list[str]
) -> None:
    assert sorted(place.path for place in differing(here, there)) == sorted(paths)
