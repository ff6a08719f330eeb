"""Whose an object is: the one rule, and what is said of an object whose name is in the way."""

from typing import Any

import pytest

from jobledger.core.jobs.control.ownership import (
    Controller,
    controller_of,
    controller_uid,
    in_the_way,
    is_controlled_by,
    is_left_behind,
)

OURS = "uid-of-ours"


def reference(**change: object) -> dict[str, Any]:
    """Return the owner reference that makes the job the controller."""
    whole = {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "name": "train",
        "uid": OURS,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {key: value for key, value in (whole | change).items() if value is not None}


def an_object(*owners: object, **metadata: object) -> dict[str, Any]:
    """Return an object with these owner references."""
    named = {"namespace": "ml", "name": "train", "ownerReferences": list(owners)}
    return {"metadata": named | metadata, "spec": {"password": "sesame"}}


OTHERS = reference(uid="uid-of-another")
CASES = [
    ("the job controls it", an_object(reference()), True),
    ("others own it as well", an_object(reference(), reference(uid="x", controller=False)), True),
    ("nobody owns it", an_object(), False),
    ("it has no owner references at all", {"metadata": {"name": "train"}}, False),
    ("it has no metadata", {}, False),
    ("an earlier job of the same name controls it", an_object(OTHERS), False),
    ("the job owns it and does not control it", an_object(reference(controller=None)), False),
    ("controller is false", an_object(reference(controller=False)), False),
    ("controller is a word", an_object(reference(controller="true")), False),
    ("another controls it, the job owns it", an_object(OTHERS, reference(controller=None)), False),
    ("two say that they control it", an_object(reference(), OTHERS), False),
    ("another kind of the same name", an_object(reference(kind="TrainJob", uid="x")), False),
    ("only the name is the job's", an_object(reference(uid="")), False),
    ("the references are no list", an_object() | {"metadata": {"ownerReferences": "x"}}, False),
    ("a reference is no object", an_object(None, "x", 7), False),
]


@pytest.mark.parametrize(("rule", "manifest", "ours"), CASES, ids=[case[0] for case in CASES])
def test_an_object_is_its_controllers(rule: str, manifest: dict[str, Any], *, ours: bool) -> None:
    del rule
    assert is_controlled_by(manifest, OURS) is ours
    assert controller_uid(manifest, "ray.io", "RayJob") == (OURS if ours else _controller(manifest))


def _controller(manifest: dict[str, Any]) -> str:
    found = controller_of(manifest)
    return found.uid if found is not None and found.kind == "RayJob" else ""


def test_nothing_belongs_to_a_job_without_a_uid() -> None:
    assert not is_controlled_by(an_object(reference(uid="")), "")


WAY_OUT = (
    "Delete it if nobody needs it (kubectl delete jobset train -n ml), or give this TrainJob "
    "another name; this TrainJob goes on by itself once the name is free"
)
ON_ITS_WAY_OUT = "It is being deleted; this TrainJob goes on once it is gone"
LEFT_BEHIND = {"managedFields": [{"manager": "kubectl-edit"}, {"manager": "trainer"}]}
STATUS_WRITTEN = {
    "managedFields": [
        {"manager": "kubectl-create"},
        {"manager": "kuberay-operator", "subresource": "status"},
        {"manager": "jobledger", "subresource": "status"},
    ]
}
"""What a user made: KubeRay writes the status of every RayCluster, we that of Jobs given to us."""
BY_HAND = {"managedFields": [{"manager": "kubectl-create"}]}
LEAVING = {"deletionTimestamp": "2026-11-21T12:00:00Z"}
WORDS = [
    (an_object(), f"nobody owns it. {WAY_OUT}"),
    (an_object(**BY_HAND), f"nobody owns it. {WAY_OUT}"),
    (an_object(**STATUS_WRITTEN), f"nobody owns it. {WAY_OUT}"),
    (
        an_object(**LEFT_BEHIND),
        f"nobody owns it, a job left it behind, as --cascade=orphan does. {WAY_OUT}",
    ),
    (an_object(reference()), f"it belongs to RayJob train. {WAY_OUT}"),
    (
        an_object(reference(kind="TrainJob", uid="older")),
        f"it belongs to another TrainJob train. {WAY_OUT}",
    ),
    (
        an_object(reference(kind="x\x1b[2J", name="hunter2 hunter2")),
        f"it belongs to (unreadable) (unreadable). {WAY_OUT}",
    ),
    (
        an_object(reference(kind="TrainJob", uid="older"), **LEAVING),
        f"it belongs to another TrainJob train. {ON_ITS_WAY_OUT}",
    ),
]


GARBAGE = [
    ("its own", reference(), False),
    ("of an earlier job of its name", reference(uid="older"), True),
    ("of a job of another name", reference(uid="older", name="other"), False),
    ("of another kind", reference(uid="older", kind="TrainJob"), False),
    ("in a version not served", reference(uid="older", apiVersion="ray.io/v0"), False),
    ("of a kind of another group", reference(uid="older", apiVersion="x.io/v1"), False),
    ("of a job of its name that does not control it", reference(uid="a", controller=None), False),
]


@pytest.mark.parametrize(("rule", "owner", "is_garbage"), GARBAGE, ids=[row[0] for row in GARBAGE])
def test_what_an_earlier_job_of_the_same_name_controls_is_garbage(
    rule: str, owner: dict[str, Any], *, is_garbage: bool
) -> None:
    del rule
    job = Controller(group="ray.io", version="v1", kind="RayJob", name="train", uid=OURS)
    found = an_object(owner)
    assert is_left_behind(found, job) is is_garbage
    if is_garbage:
        assert in_the_way("RayCluster", found, "RayJob", is_garbage=True) == (
            "RayCluster ml/train is in the way: it belongs to another RayJob train, which is gone. "
            "The garbage collector deletes it; this RayJob goes on then"
        )


@pytest.mark.parametrize(("manifest", "words"), WORDS)
def test_whose_name_is_in_the_way(manifest: dict[str, Any], words: str) -> None:
    told = in_the_way("JobSet", manifest, "TrainJob")
    assert told == f"JobSet ml/train is in the way: {words}"
    assert "sesame" not in told
