"""What a Kubernetes API does on deletion: finalizers, preconditions, owners."""

from typing import Any

from tests.support.api import (
    CONFIGMAPS,
    JOBS,
    PODS,
    RAYJOBS,
    Api,
    configmap,
    eventually,
    owner,
    rayjob,
)

FINALIZER = "example.com/wait"


def _gone(api: Api, resource: str, name: str) -> None:
    eventually(lambda: api.get(resource, name).code == 404, f"{name} is gone")


def a_delete_answers_with_a_status_that_names_the_object(api: Api) -> None:
    uid = api.create(RAYJOBS, rayjob("a")).body["metadata"]["uid"]
    reply = api.delete(RAYJOBS, "a")
    assert (reply.code, reply.body["kind"], reply.body["status"]) == (200, "Status", "Success")
    assert reply.body["details"] == {"name": "a", "group": "ray.io", "kind": "rayjobs", "uid": uid}
    assert api.get(RAYJOBS, "a").code == 404
    assert api.delete(RAYJOBS, "a").code == 404


def an_object_with_a_finalizer_stays_until_the_last_is_taken_off(api: Api) -> None:
    document = rayjob("a")
    document["metadata"]["finalizers"] = [FINALIZER]
    api.create(RAYJOBS, document)
    reply = api.delete(RAYJOBS, "a")
    assert reply.code == 200
    waiting = api.get(RAYJOBS, "a").body["metadata"]
    assert waiting["deletionTimestamp"].endswith("Z")
    assert waiting["deletionGracePeriodSeconds"] == 0
    assert waiting["generation"] == 2
    again = api.delete(RAYJOBS, "a")
    assert again.code == 200
    assert api.get(RAYJOBS, "a").revision == waiting["resourceVersion"]
    assert api.merge(RAYJOBS, "a", {"metadata": {"finalizers": None}}).code == 200
    assert api.get(RAYJOBS, "a").code == 404


def the_mark_and_the_end_of_a_deletion_are_both_watched(api: Api) -> None:
    document = rayjob("a")
    document["metadata"]["finalizers"] = [FINALIZER]
    revision = api.create(RAYJOBS, document).revision
    with api.watch(RAYJOBS, resourceVersion=revision) as events:
        api.delete(RAYJOBS, "a")
        api.merge(RAYJOBS, "a", {"metadata": {"finalizers": []}})
        marked = next(events)
        kinds = [marked["type"]]
        while kinds[-1] != "DELETED":
            kinds.append(next(events)["type"])
    assert marked["object"]["metadata"]["deletionTimestamp"]
    assert set(kinds[:-1]) == {"MODIFIED"}


def no_finalizer_can_be_added_once_the_object_is_going(api: Api) -> None:
    document = rayjob("a")
    document["metadata"]["finalizers"] = [FINALIZER]
    api.create(RAYJOBS, document)
    api.delete(RAYJOBS, "a")
    both = {"metadata": {"finalizers": [FINALIZER, "example.com/more"]}}
    reply = api.merge(RAYJOBS, "a", both)
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.causes == {"metadata.finalizers": "FieldValueForbidden"}
    api.merge(RAYJOBS, "a", {"metadata": {"finalizers": None}})


def a_delete_of_another_uid_is_409(api: Api) -> None:
    uid = api.create(RAYJOBS, rayjob("a")).body["metadata"]["uid"]
    reply = api.delete(RAYJOBS, "a", {"preconditions": {"uid": "another"}})
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert api.delete(RAYJOBS, "a", {"preconditions": {"uid": uid}}).code == 200


def a_delete_of_another_version_is_409(api: Api) -> None:
    stale = api.create(RAYJOBS, rayjob("a")).revision
    api.merge(RAYJOBS, "a", {"spec": {"suspend": True}})
    reply = api.delete(RAYJOBS, "a", {"preconditions": {"resourceVersion": stale}})
    assert (reply.code, reply.reason) == (409, "Conflict")


def a_collection_is_deleted_by_selector(api: Api) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"})):
        api.create(CONFIGMAPS, configmap(name, labels=labels))
    reply = api.request("DELETE", api.path(CONFIGMAPS), labelSelector="x=1")
    assert reply.code == 200
    assert api.get(CONFIGMAPS, "a").code == 404
    assert api.get(CONFIGMAPS, "b").code == 200


def dependents_go_after_their_owner(api: Api) -> None:
    parent = api.create(RAYJOBS, rayjob("owner"))
    child = api.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
    api.create(CONFIGMAPS, configmap("grandchild", ownerReferences=[owner(child)]))
    api.delete(RAYJOBS, "owner", propagationPolicy="Background")
    _gone(api, CONFIGMAPS, "child")
    _gone(api, CONFIGMAPS, "grandchild")


def a_dependent_with_another_owner_stays_and_forgets_the_one_that_is_gone(api: Api) -> None:
    one, two = api.create(RAYJOBS, rayjob("one")), api.create(RAYJOBS, rayjob("two"))
    references = [owner(one), owner(two)]
    api.create(CONFIGMAPS, configmap("child", ownerReferences=references))
    api.delete(RAYJOBS, "one", propagationPolicy="Background")

    def left() -> Any:  # noqa: ANN401 a list of references
        metadata = api.get(CONFIGMAPS, "child").body["metadata"]
        return [r["name"] for r in metadata["ownerReferences"]] == ["two"]

    eventually(left, "one owner is left")


def an_object_whose_owner_never_was_is_garbage(api: Api) -> None:
    parent = api.create(RAYJOBS, rayjob("owner"))
    ghost = owner(parent, uid="00000000-0000-0000-0000-000000000000")
    api.create(CONFIGMAPS, configmap("child", ownerReferences=[ghost]))
    _gone(api, CONFIGMAPS, "child")


def a_foreground_deletion_keeps_the_owner_until_its_dependents_are_gone(api: Api) -> None:
    parent = api.create(RAYJOBS, rayjob("owner"))
    reference = owner(parent, blockOwnerDeletion=True, controller=True)
    child = configmap("child", ownerReferences=[reference], finalizers=[FINALIZER])
    api.create(CONFIGMAPS, child)
    api.delete(RAYJOBS, "owner", propagationPolicy="Foreground")
    eventually(
        lambda: api.get(CONFIGMAPS, "child").body["metadata"].get("deletionTimestamp"),
        "the child is going",
    )
    waiting = api.get(RAYJOBS, "owner").body["metadata"]
    assert waiting["finalizers"] == ["foregroundDeletion"]
    api.merge(CONFIGMAPS, "child", {"metadata": {"finalizers": None}})
    _gone(api, RAYJOBS, "owner")


def orphans_stay_and_have_no_owner(api: Api) -> None:
    parent = api.create(RAYJOBS, rayjob("owner"))
    api.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
    api.delete(RAYJOBS, "owner", propagationPolicy="Orphan")
    _gone(api, RAYJOBS, "owner")
    assert "ownerReferences" not in api.get(CONFIGMAPS, "child").body["metadata"]


def a_pod_on_a_node_goes_when_its_node_says_so(api: Api) -> None:
    """However often it is deleted, and although it has failed meanwhile; its node's word is 0."""
    spec = {"nodeName": "here", "containers": [{"name": "main", "image": "busybox"}]}
    api.create(PODS, {"metadata": {"name": "a"}, "spec": spec})
    marked = api.delete(PODS, "a").body["metadata"]
    assert (marked["deletionGracePeriodSeconds"], "deletionTimestamp" in marked) == (30, True)
    assert api.merge(PODS, "a", {"status": {"phase": "Failed"}}, "status").code == 200
    again = api.delete(PODS, "a").body["metadata"]
    assert again["deletionTimestamp"] == marked["deletionTimestamp"]
    assert api.get(PODS, "a").code == 200
    assert api.delete(PODS, "a", {"gracePeriodSeconds": 0}).code == 200
    assert api.get(PODS, "a").code == 404


def a_batch_job_deleted_without_a_policy_leaves_its_pods_and_warns(api: Api) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    job = {"metadata": {"name": "a"}, "spec": {"suspend": True, "template": {"spec": pod}}}
    parent = api.create(JOBS, job)
    api.create(CONFIGMAPS, configmap("child", ownerReferences=[owner(parent)]))
    reply = api.delete(JOBS, "a")
    assert "child pods are preserved by default" in reply.headers.get("warning", "")
    _gone(api, JOBS, "a")
    assert "ownerReferences" not in api.get(CONFIGMAPS, "child").body["metadata"]
