"""What the service creates, patches and deletes, taken by a real API server."""

from typing import get_args

import pytest
from msgspec.structs import replace

from jobledger.adapters.service.objects.runtime_env import parse_runtime_env
from jobledger.adapters.service.observing.mapper import MESSAGE_CHARACTERS_MAX
from jobledger.adapters.service.status.event_recorder import EventRecorder
from jobledger.core.errors import RequestForbidden
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.kinds import KINDS, NOTHING
from jobledger.core.ports.cluster import BATCH_JOBS, PODS, RAYCLUSTERS, RAYJOBS, SECRETS, Resource
from jobledger.core.rayjob.decide.decide import RAYJOB
from jobledger.core.rayjob.events.lifecycle import ManifestRejected, RayJobEvent
from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.names import FINALIZER
from jobledger.core.rayjob.state import RayJobState
from jobledger.core.rayjob.status.status import status
from jobledger.core.values.documents import Manifest, items, text
from jobledger.core.values.visible_text import one_line
from tests.adapters.real_api.desk import JOB_ID, Desk, Document
from tests.frozen.samples import every_event
from tests.rules.rayjob.upstream import sample, sample_names
from tests.support import rayjob_stories as stories
from tests.support.api import RAYJOBS as RAYJOBS_PATH
from tests.support.api import eventually, rayjob
from tests.support.rows import play

pytestmark = pytest.mark.apiserver

ADDRESS = "train-x2x2x-head-svc.ml.svc.cluster.local:8265"
OTHERS = "example.com/somebody-elses"
CREATIONS = {"rayclusters": EffectKind.CREATE_CLUSTER, "jobs": EffectKind.CREATE_SUBMITTER}
DELETIONS = {"rayclusters": EffectKind.DELETE_CLUSTER, "jobs": EffectKind.DELETE_SUBMITTER}


def finalizers(manifest: Manifest) -> list[object]:
    return list(items(manifest, "metadata", "finalizers"))


def test_the_finalizer_is_added_beside_those_of_others(desk: Desk) -> None:
    job = desk.job()
    stale = desk.api.merge(RAYJOBS_PATH, "train", {"metadata": {"finalizers": [OTHERS]}})
    assert stale.code == 200
    desk.do(job, EffectKind.ADD_FINALIZER)
    assert finalizers(desk.now()) == [OTHERS, FINALIZER]
    desk.do(desk.see(desk.now()), EffectKind.REMOVE_FINALIZER)
    assert finalizers(desk.now()) == [OTHERS]
    desk.api.merge(RAYJOBS_PATH, "train", {"metadata": {"finalizers": None}})


def test_a_job_that_is_deleted_is_gone_with_its_finalizer(desk: Desk) -> None:
    job = desk.job(FINALIZER)
    desk.api.delete(RAYJOBS_PATH, "train")
    done = desk.do(job, EffectKind.REMOVE_FINALIZER)
    assert not done.already
    assert desk.now() == {}
    assert desk.do(job, EffectKind.REMOVE_FINALIZER).gone


def test_a_job_that_was_replaced_gets_no_finalizer(desk: Desk) -> None:
    job = desk.job()
    desk.api.delete(RAYJOBS_PATH, "train")
    desk.job()
    assert desk.do(job, EffectKind.ADD_FINALIZER).gone
    assert finalizers(desk.now()) == []


@pytest.mark.parametrize("resource", [RAYCLUSTERS, BATCH_JOBS], ids=lambda r: r.plural)
def test_a_child_is_made_once_deleted_once_and_goes_with_its_owner(
    desk: Desk, resource: Resource
) -> None:
    job = desk.job()
    create, delete = CREATIONS[resource.plural], DELETIONS[resource.plural]
    name = "train" if resource is BATCH_JOBS else "train-x2x2x"
    made = desk.do(job, create, name, address=ADDRESS)
    again = desk.do(job, create, name, address=ADDRESS)
    assert (again.uid, again.already) == (made.uid, True)
    desk.do(job, delete, name, uid=made.uid)

    def is_gone() -> bool:
        return desk.cluster.get(resource, desk.api.namespace, name) is None

    eventually(is_gone, "it is gone")
    assert desk.do(job, delete, name, uid=made.uid).already
    assert desk.do(job, create, name, address=ADDRESS).uid != made.uid
    desk.api.delete(RAYJOBS_PATH, "train")
    eventually(is_gone, "it went with its owner")


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_of_upstream_gets_a_raycluster_and_a_submitter(desk: Desk, name: str) -> None:
    """Each field that is made is one that upstream's definitions know, or Kubernetes'."""
    manifest = sample(name)
    for given_by_server in ("namespace", "uid"):
        manifest["metadata"].pop(given_by_server)
    job = desk.submit(manifest)
    runtime_env, problem = parse_runtime_env(text(job, "spec", "runtimeEnvYAML"))
    assert not problem
    selected = "clusterSelector" in job["spec"]
    if not selected:
        made = build_cluster(job, "sample-x2x2x", 1, job_id=JOB_ID, runtime_env=runtime_env)
        created(desk, "ray.io/v1/rayclusters", made)
    if job["spec"].get("submissionMode", "K8sJobMode") == "K8sJobMode":
        shared: Manifest = {
            "metadata": {"name": "shared"},
            "spec": rayjob("shared")["spec"]["rayClusterSpec"],
        }
        submitter = build_submitter(
            job,
            cluster=shared if selected else None,
            cluster_name="shared" if selected else "train-x2x2x",
            address=ADDRESS,
            job_id=JOB_ID,
            runtime_env=runtime_env,
            attempt=1,
        )
        batch_job = created(desk, "batch/v1/jobs", submitter)
        assert batch_job["spec"]["backoffLimit"] == 2


def created(desk: Desk, resource: str, manifest: Manifest) -> Document:
    """Create an object, refused if it has a field that the API server does not know."""
    reply = desk.api.create(resource, manifest, fieldValidation="Strict")
    assert reply.code == 201, reply.message
    assert "warning" not in reply.headers
    return dict(reply.body)


def test_every_kubernetes_event_that_can_be_told_is_taken(desk: Desk) -> None:
    job = desk.job()
    event_recorder = EventRecorder(desk.cluster, desk.metrics, "replica/" + "x" * 200, desk.clock)
    long = "é" * 5000
    kind = "InvalidRayJobSpec"
    rejected = ManifestRejected(at=desk.clock.now(), generation=1, kind=kind, message=long)
    known = tuple(get_args(RayJobEvent))
    every = [event for event in every_event() if isinstance(event, known)]
    event_recorder.announce(job.identity, every, KINDS["RayJob"], NOTHING)
    event_recorder.announce(job.identity, [rejected], KINDS["RayJob"], NOTHING)
    while event_recorder.run_once():
        pass

    def count(outcome: str) -> float:
        return float(desk.metrics.kubernetes_events.labels(outcome)._value.get())  # noqa: SLF001  # the count

    assert count("refused") == count("dropped") == 0
    told = desk.api.list("events.k8s.io/v1/events").body["items"]
    assert {"AttemptFailed", "InvalidRayJobSpec"} <= {one["reason"] for one in told}
    assert len(told) == count("sent")
    seen = desk.api.list("v1/events", fieldSelector="involvedObject.name=train").body["items"]
    assert len(seen) == len(told), "kubectl describe shows them all"


HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07\x9b31m",
    "one\r\nNormal  Created  forged\u2028three",
    "\u202egnp.exe\u2066 tr\u200bain",
    "a\x00b\ud800c",
    "\u20ac" * 1_048_576,
    "\u202e" * 1_048_576,
)
"""What the author of a job may bring into a message."""


@pytest.mark.parametrize("name", ["train", "x" * 252 + "y", "a-" * 110 + "b." * 16 + "c"])
def test_what_strangers_wrote_is_taken_and_shown_as_it_was_written(desk: Desk, name: str) -> None:
    """Before, of a job with a name of more than 236 characters no Kubernetes Event was taken."""
    manifest = rayjob(name)
    job = desk.see(desk.submit(manifest))
    known = known_rayjob()
    event_recorder = EventRecorder(desk.cluster, desk.metrics, "replica", desk.clock)
    for number, said in enumerate(HOSTILE):  # a change of phase is not held back
        message = job.redactor.text(said, MESSAGE_CHARACTERS_MAX)
        rejected = ManifestRejected(
            at=desk.clock.now(), generation=1, kind="InvalidRayJobSpec", message=message
        )
        event_recorder.announce(job.identity, [rejected], KINDS["RayJob"], NOTHING)
        shown = status(replace(known, message=message))["message"]
        phase = ("Running", "Retrying")[number % 2]
        written = desk.publish(job, {"jobDeploymentStatus": phase, "message": shown})
        assert written["message"] == shown
    while event_recorder.run_once():
        pass
    told = desk.api.list("events.k8s.io/v1/events").body["items"]
    assert len(told) == len(HOSTILE)
    assert {one["regarding"]["name"] for one in told} == {name}
    notes = [one["note"] for one in told]
    assert all(one_line(note) == note and len(note.encode()) <= 1024 for note in notes)


def known_rayjob() -> RayJobState:
    """Return the state of a RayJob that has a status."""
    return play(RAYJOB, stories.running()).state


def test_the_rights_in_ops_leave_everything_else_alone(desk: Desk) -> None:
    desk.job()
    with pytest.raises(RequestForbidden):
        desk.cluster.delete(PODS, desk.api.namespace, "somebody")
    another = rayjob("another")
    another["metadata"]["namespace"] = desk.api.namespace
    with pytest.raises(RequestForbidden):
        desk.cluster.create(RAYJOBS, another)
    with pytest.raises(RequestForbidden):
        desk.cluster.list(SECRETS)
