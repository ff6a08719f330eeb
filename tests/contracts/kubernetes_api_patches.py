"""What a Kubernetes API does on the four kinds of patch."""

from tests.support.api import (
    APPLY,
    CONFIGMAPS,
    JOBS,
    JSON_PATCH,
    RAYJOBS,
    STRATEGIC,
    Api,
    configmap,
    rayjob,
)


def a_merge_patch_adds_changes_and_deletes_by_null(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a", suspend=True, shutdownAfterJobFinishes=True))
    patch = {"spec": {"suspend": None, "entrypoint": "other", "jobId": "one"}}
    spec = api.merge(RAYJOBS, "a", patch).body["spec"]
    assert "suspend" not in spec
    assert (spec["entrypoint"], spec["jobId"]) == ("other", "one")
    assert spec["shutdownAfterJobFinishes"] is True


def a_merge_patch_with_a_stale_resource_version_is_409(api: Api) -> None:
    stale = api.create(RAYJOBS, rayjob("a")).revision
    api.merge(RAYJOBS, "a", {"spec": {"suspend": True}})
    patch = {"metadata": {"resourceVersion": stale}, "spec": {"suspend": False}}
    reply = api.merge(RAYJOBS, "a", patch)
    assert (reply.code, reply.reason) == (409, "Conflict")


def a_merge_patch_with_another_uid_is_422_where_a_put_is_409(api: Api) -> None:
    """Source: kubernetes pkg/controller/controller_ref_manager.go: Invalid if the uid differs."""
    api.create(RAYJOBS, rayjob("a"))
    reply = api.merge(RAYJOBS, "a", {"metadata": {"uid": "another"}, "spec": {"suspend": True}})
    assert (reply.code, reply.causes) == (422, {"metadata.uid": "FieldValueInvalid"})


def a_patch_of_nothing_is_404(api: Api) -> None:
    assert api.merge(RAYJOBS, "nobody", {"spec": {"suspend": True}}).code == 404


def a_json_patch_is_carried_out_in_order(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    operations = [
        {"op": "test", "path": "/spec/entrypoint", "value": "python work.py"},
        {"op": "replace", "path": "/spec/entrypoint", "value": "other"},
        {"op": "add", "path": "/metadata/labels", "value": {"a/b": "c"}},
        {"op": "copy", "from": "/spec/entrypoint", "path": "/spec/jobId"},
        {"op": "remove", "path": "/metadata/labels/a~1b"},
    ]
    path = api.path(RAYJOBS, "a")
    reply = api.request("PATCH", path, operations, content_type=JSON_PATCH)
    assert reply.code == 200
    assert reply.body["spec"]["jobId"] == "other"
    assert not reply.body["metadata"].get("labels")


def a_json_patch_whose_test_fails_is_422_and_changes_nothing(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    operations = [
        {"op": "replace", "path": "/spec/entrypoint", "value": "other"},
        {"op": "test", "path": "/spec/jobId", "value": "mine"},
    ]
    path = api.path(RAYJOBS, "a")
    reply = api.request("PATCH", path, operations, content_type=JSON_PATCH)
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert api.get(RAYJOBS, "a").body["spec"]["entrypoint"] == "python work.py"


def a_json_patch_that_is_no_list_is_400(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    path = api.path(RAYJOBS, "a")
    reply = api.request("PATCH", path, {"spec": {}}, content_type=JSON_PATCH)
    assert reply.code == 400


def a_strategic_patch_of_a_custom_object_is_415(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    path = api.path(RAYJOBS, "a")
    reply = api.request("PATCH", path, {"spec": {"suspend": True}}, content_type=STRATEGIC)
    assert (reply.code, reply.reason) == (415, "UnsupportedMediaType")


def a_strategic_patch_of_a_built_in_object_merges_lists_by_name(api: Api) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    pod = {
        "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "one", "env": env}],
    }
    job = {"metadata": {"name": "a"}, "spec": {"suspend": True, "template": {"spec": pod}}}
    assert api.create(JOBS, job).code == 201
    patch = {"metadata": {"annotations": {"x": "y"}}, "spec": {"suspend": False}}
    reply = api.request("PATCH", api.path(JOBS, "a"), patch, content_type=STRATEGIC)
    assert reply.code == 200
    spec = {"containers": [{"name": "main", "image": "one", "env": env}]}
    api.create("v1/pods", {"metadata": {"name": "p"}, "spec": spec})
    change = {"spec": {"containers": [{"name": "main", "image": "two"}]}}
    reply = api.request("PATCH", api.path("v1/pods", "p"), change, content_type=STRATEGIC)
    (container,) = reply.body["spec"]["containers"]
    assert (container["image"], container["env"]) == ("two", env)


def an_unknown_patch_type_is_415(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    reply = api.request("PATCH", api.path(CONFIGMAPS, "a"), {}, content_type="text/plain")
    assert reply.code == 415


def an_apply_of_something_new_creates_it_with_201(api: Api) -> None:
    reply = api.apply(RAYJOBS, rayjob("a"), "alice")
    assert reply.code == 201
    (entry,) = reply.body["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("alice", "Apply")
    assert "f:backoffLimit" not in entry["fieldsV1"]["f:spec"]


def an_apply_needs_a_field_manager(api: Api) -> None:
    path = api.path(RAYJOBS, "a")
    reply = api.request("PATCH", path, rayjob("a"), content_type=APPLY)
    assert reply.code in (400, 422)
    assert "fieldManager" in reply.message


def the_same_apply_again_changes_nothing(api: Api) -> None:
    first = api.apply(RAYJOBS, rayjob("a"), "alice")
    again = api.apply(RAYJOBS, rayjob("a"), "alice")
    assert (again.code, again.revision) == (200, first.revision)


def an_apply_against_another_manager_is_409_unless_forced(api: Api) -> None:
    api.apply(RAYJOBS, rayjob("a"), "alice")
    wanted = rayjob("a", entrypoint="other")
    reply = api.apply(RAYJOBS, wanted, "bob")
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert reply.causes == {".spec.entrypoint": "FieldManagerConflict"}
    assert 'conflict with "alice"' in reply.message
    forced = api.apply(RAYJOBS, wanted, "bob", force="true")
    assert (forced.code, forced.body["spec"]["entrypoint"]) == (200, "other")
    entries = {entry["manager"]: entry for entry in forced.body["metadata"]["managedFields"]}
    assert "f:entrypoint" not in entries["alice"]["fieldsV1"]["f:spec"]
    assert "f:entrypoint" in entries["bob"]["fieldsV1"]["f:spec"]


def two_managers_may_apply_the_same_value(api: Api) -> None:
    api.apply(RAYJOBS, rayjob("a"), "alice")
    assert api.apply(RAYJOBS, rayjob("a"), "bob").code == 200


def an_apply_that_leaves_a_field_out_removes_it(api: Api) -> None:
    api.apply(RAYJOBS, rayjob("a", suspend=True, jobId="one"), "alice")
    reply = api.apply(RAYJOBS, rayjob("a"), "alice")
    assert "suspend" not in reply.body["spec"]
    assert "jobId" not in reply.body["spec"]


def a_field_somebody_else_owns_too_stays_when_it_is_left_out(api: Api) -> None:
    api.apply(RAYJOBS, rayjob("a", jobId="one"), "alice")
    api.apply(RAYJOBS, rayjob("a", jobId="one"), "bob")
    assert api.apply(RAYJOBS, rayjob("a"), "alice").body["spec"]["jobId"] == "one"


def an_apply_of_the_status_owns_the_status_alone(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"), fieldManager="alice")
    wanted = rayjob("a", entrypoint="ignored") | {"status": {"jobStatus": "RUNNING"}}
    reply = api.apply(RAYJOBS, wanted, "controller", subresource="status")
    assert reply.code == 200
    assert reply.body["spec"]["entrypoint"] == "python work.py"
    assert reply.body["status"]["jobStatus"] == "RUNNING"
    (entry,) = [e for e in reply.body["metadata"]["managedFields"] if e["operation"] == "Apply"]
    assert (entry["subresource"], set(entry["fieldsV1"])) == ("status", {"f:status"})


def an_apply_of_the_status_of_nothing_is_404(api: Api) -> None:
    wanted = rayjob("a") | {"status": {"jobStatus": "RUNNING"}}
    assert api.apply(RAYJOBS, wanted, "controller", subresource="status").code == 404


def _with_conditions(*kinds: str) -> dict[str, object]:
    conditions = [
        {
            "type": kind,
            "status": "True",
            "reason": "Because",
            "message": "",
            "lastTransitionTime": "2026-11-20T10:00:00Z",
        }
        for kind in kinds
    ]
    return rayjob("a") | {"status": {"rayClusterStatus": {"conditions": conditions}}}


def an_apply_that_leaves_conditions_out_removes_them_whole(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    api.apply(RAYJOBS, _with_conditions("One", "Two"), "alice", subresource="status")
    wanted = rayjob("a") | {"status": {"jobStatus": "PENDING"}}
    reply = api.apply(RAYJOBS, wanted, "alice", subresource="status")
    assert reply.code == 200
    assert "rayClusterStatus" not in reply.body["status"]


def an_apply_merges_conditions_by_type(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    api.apply(RAYJOBS, _with_conditions("One"), "alice", subresource="status")
    reply = api.apply(RAYJOBS, _with_conditions("Two"), "bob", subresource="status")
    conditions = reply.body["status"]["rayClusterStatus"]["conditions"]
    assert [condition["type"] for condition in conditions] == ["One", "Two"]
