"""What a Kubernetes API does on create, read and replace."""

import json

from tests.support.api import CONFIGMAPS, RAYJOBS, Api, configmap, eventually, rayjob


def create_answers_201_with_everything_the_server_fills_in(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a"))
    assert reply.code == 201
    metadata = reply.body["metadata"]
    assert metadata["uid"]
    assert metadata["resourceVersion"].isdigit()
    assert metadata["generation"] == 1
    assert metadata["creationTimestamp"].endswith("Z")
    assert metadata["namespace"] == api.namespace
    assert reply.body["spec"]["submissionMode"] == "K8sJobMode"


def a_second_create_is_409_already_exists(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    reply = api.create(RAYJOBS, rayjob("a"))
    assert (reply.code, reply.reason) == (409, "AlreadyExists")
    assert reply.message == 'rayjobs.ray.io "a" already exists'
    assert reply.body["details"] == {"name": "a", "group": "ray.io", "kind": "rayjobs"}


def generate_name_ends_in_five_characters(api: Api) -> None:
    document = rayjob("x")
    document["metadata"] = {"generateName": "many-"}
    names = {api.create(RAYJOBS, document).body["metadata"]["name"] for _ in range(3)}
    assert len(names) == 3
    assert all(name.startswith("many-") and len(name) == 10 for name in names)


def an_object_that_is_not_there_is_404_with_details(api: Api) -> None:
    reply = api.get(RAYJOBS, "nobody")
    assert (reply.code, reply.reason) == (404, "NotFound")
    assert reply.body["kind"] == "Status"
    assert reply.message == 'rayjobs.ray.io "nobody" not found'
    assert reply.body["details"] == {"name": "nobody", "group": "ray.io", "kind": "rayjobs"}


def a_missing_namespace_is_404_on_create_and_empty_on_list(api: Api) -> None:
    nowhere = Api(api.url, api.pool, "no-such-namespace", api.headers)
    reply = nowhere.create(CONFIGMAPS, configmap("a"))
    assert (reply.code, reply.reason) == (404, "NotFound")
    assert reply.message == 'namespaces "no-such-namespace" not found'
    assert nowhere.list(CONFIGMAPS).body["items"] == []


def a_kind_that_is_not_served_is_404(api: Api) -> None:
    reply = api.request("GET", f"/apis/nothing.example/v1/namespaces/{api.namespace}/things")
    assert reply.code == 404


def put_needs_the_current_resource_version(api: Api) -> None:
    first = api.create(RAYJOBS, rayjob("a")).body
    second = first | {"spec": first["spec"] | {"entrypoint": "other"}}
    assert api.put(RAYJOBS, second).code == 200
    reply = api.put(RAYJOBS, second)
    assert (reply.code, reply.reason) == (409, "Conflict")
    assert "the object has been modified" in reply.message


def put_of_a_custom_object_without_resource_version_is_422(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    reply = api.put(RAYJOBS, rayjob("a"))
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert "metadata.resourceVersion" in reply.causes


def put_of_a_built_in_object_may_leave_the_resource_version_out(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    assert api.put(CONFIGMAPS, configmap("a") | {"data": {"key": "new"}}).code == 200


def put_under_another_name_is_400(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    reply = api.request("PUT", api.path(CONFIGMAPS, "a"), configmap("b"))
    assert (reply.code, reply.reason) == (400, "BadRequest")


def put_with_another_uid_is_409(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    reply = api.put(CONFIGMAPS, configmap("a", uid="00000000-0000-0000-0000-000000000000"))
    assert (reply.code, reply.reason) == (409, "Conflict")


def the_generation_rises_with_the_spec_and_with_nothing_else(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    labelled = api.merge(RAYJOBS, "a", {"metadata": {"labels": {"x": "y"}}}).body
    told = api.merge(RAYJOBS, "a", {"status": {"jobStatus": "RUNNING"}}, "status").body
    changed = api.merge(RAYJOBS, "a", {"spec": {"suspend": True}}).body
    found = [body["metadata"]["generation"] for body in (labelled, told, changed)]
    assert found == [1, 1, 2]


def a_write_that_changes_nothing_keeps_the_resource_version(api: Api) -> None:
    before = api.create(RAYJOBS, rayjob("a")).revision
    same = api.merge(RAYJOBS, "a", {"spec": {"entrypoint": "python work.py"}})
    assert (same.code, same.revision) == (200, before)


def the_main_address_leaves_the_status_alone(api: Api) -> None:
    document = rayjob("a") | {"status": {"jobStatus": "RUNNING"}}
    assert "jobStatus" not in (api.create(RAYJOBS, document).body.get("status") or {})
    reply = api.merge(RAYJOBS, "a", {"status": {"jobStatus": "RUNNING"}, "spec": {"suspend": True}})
    assert reply.code == 200
    assert reply.body["spec"]["suspend"] is True
    assert "jobStatus" not in (reply.body.get("status") or {})


def the_status_address_leaves_everything_else_alone(api: Api) -> None:
    created = api.create(RAYJOBS, rayjob("a")).body
    wanted = created | {
        "spec": created["spec"] | {"entrypoint": "changed"},
        "metadata": created["metadata"] | {"labels": {"new": "label"}},
        "status": {"jobStatus": "RUNNING"},
    }
    reply = api.put(RAYJOBS, wanted, "status")
    assert reply.code == 200
    assert reply.body["status"]["jobStatus"] == "RUNNING"
    assert reply.body["spec"]["entrypoint"] == "python work.py"
    assert "labels" not in reply.body["metadata"]
    assert reply.body["metadata"]["generation"] == 1


def the_status_address_checks_the_resource_version_too(api: Api) -> None:
    first = api.create(RAYJOBS, rayjob("a")).body
    api.merge(RAYJOBS, "a", {"spec": {"suspend": True}})
    reply = api.put(RAYJOBS, first | {"status": {"jobStatus": "RUNNING"}}, "status")
    assert (reply.code, reply.reason) == (409, "Conflict")


def a_patch_of_a_custom_status_takes_no_notice_of_the_uid(api: Api) -> None:
    """It does of the resourceVersion, as does an apply; a PUT does of both."""
    stale = api.create(RAYJOBS, rayjob("a")).revision
    other = "00000000-0000-0000-0000-000000000000"
    status = {"status": {"jobStatus": "RUNNING"}}
    merged = {"metadata": {"uid": other}} | status
    assert api.merge(RAYJOBS, "a", merged, "status").code == 200
    applied = {"apiVersion": "ray.io/v1", "kind": "RayJob"} | status
    metadata = {"name": "a", "uid": other}
    query = {"manager": "me", "subresource": "status", "force": "true"}
    document = applied | {"metadata": metadata}
    assert api.apply(RAYJOBS, document, **query).code == 200
    document = applied | {"metadata": metadata | {"resourceVersion": stale}}
    reply = api.apply(RAYJOBS, document, **query)
    assert (reply.code, reply.reason) == (409, "Conflict")
    put = api.get(RAYJOBS, "a").body
    put["metadata"]["uid"] = other
    assert api.put(RAYJOBS, put, "status").code == 409


def status_defaults_are_filled_in_once_there_is_a_status(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    reply = api.merge(RAYJOBS, "a", {"status": {"jobStatus": "RUNNING"}}, "status")
    assert reply.body["status"] == {"jobStatus": "RUNNING", "succeeded": 0, "failed": 0}


def a_dry_run_answers_as_if_and_stores_nothing(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a"), dryRun="All")
    assert (reply.code, reply.body["spec"]["backoffLimit"]) == (201, 0)
    assert api.get(RAYJOBS, "a").code == 404
    real = api.create(RAYJOBS, rayjob("a"))
    path = api.path(RAYJOBS, "a")
    patch = {"spec": {"suspend": True}}
    tried = api.request(
        "PATCH", path, patch, content_type="application/merge-patch+json", dryRun="All"
    )
    assert tried.body["spec"]["suspend"] is True
    assert api.delete(RAYJOBS, "a", dryRun="All").code == 200
    assert api.get(RAYJOBS, "a").body == real.body


def managed_fields_name_the_writer_and_what_it_set(api: Api) -> None:
    created = api.create(RAYJOBS, rayjob("a"), fieldManager="alice").body
    (entry,) = created["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("alice", "Update")
    assert "f:entrypoint" in entry["fieldsV1"]["f:spec"]
    path = api.path(RAYJOBS, "a", "status")
    status = {"status": {"jobStatus": "RUNNING"}}
    merge = "application/merge-patch+json"
    reply = api.request("PATCH", path, status, content_type=merge, fieldManager="bob")
    entries = {entry["manager"]: entry for entry in reply.body["metadata"]["managedFields"]}
    assert entries["bob"]["subresource"] == "status"
    assert "f:jobStatus" in entries["bob"]["fieldsV1"]["f:status"]


def whoever_changes_a_field_takes_it_from_its_former_manager(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"), fieldManager="alice")
    path = api.path(RAYJOBS, "a")
    patch = {"spec": {"entrypoint": "other"}}
    merge = "application/merge-patch+json"
    reply = api.request("PATCH", path, patch, content_type=merge, fieldManager="bob")
    entries = {entry["manager"]: entry for entry in reply.body["metadata"]["managedFields"]}
    assert "f:entrypoint" in entries["bob"]["fieldsV1"]["f:spec"]
    assert "f:entrypoint" not in entries["alice"]["fieldsV1"]["f:spec"]


def a_create_with_a_resource_version_is_500(api: Api) -> None:
    reply = api.create(CONFIGMAPS, configmap("a", resourceVersion="1"))
    assert (reply.code, reply.reason) == (500, "")
    assert reply.message == "resourceVersion should not be set on objects to be created"


def a_create_for_another_namespace_than_the_address_is_400(api: Api) -> None:
    reply = api.create(CONFIGMAPS, configmap("a", namespace="elsewhere"))
    assert (reply.code, reply.reason) == (400, "BadRequest")


def a_create_of_another_kind_than_the_address_is_400(api: Api) -> None:
    reply = api.create(CONFIGMAPS, rayjob("a"))
    assert (reply.code, reply.reason) == (400, "BadRequest")


def one_kubernetes_event_is_seen_in_both_versions(api: Api) -> None:
    about = {"kind": "RayJob", "apiVersion": "ray.io/v1", "name": "a", "namespace": api.namespace}
    document = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a.1"},
        "eventTime": "2026-11-20T10:00:00.000000Z",
        "reportingController": "jobledger",
        "reportingInstance": "one",
        "action": "Create",
        "reason": "CreatedRayCluster",
        "regarding": about,
        "note": "made a cluster",
        "type": "Normal",
    }
    assert api.create("events.k8s.io/v1/events", document).code == 201
    core = api.get("v1/events", "a.1").body
    assert core["involvedObject"]["name"] == "a"
    assert core["message"] == "made a cluster"
    assert core["reportingComponent"] == "jobledger"
    found = api.list("v1/events", fieldSelector="involvedObject.name=a,type=Normal")
    assert len(found.body["items"]) == 1
    assert api.get("events.k8s.io/v1/events", "a.1").body["note"] == "made a cluster"


def a_batch_job_gets_a_selector_and_labels_of_its_own(api: Api) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    document = {"metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}}
    body = api.create("batch/v1/jobs", document).body
    uid = body["metadata"]["uid"]
    labels = body["spec"]["template"]["metadata"]["labels"]
    assert labels["batch.kubernetes.io/job-name"] == "a"
    assert labels["controller-uid"] == uid
    assert body["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert body["spec"]["backoffLimit"] == 6
    assert body["metadata"]["generation"] == 1


def a_service_gets_an_address_unless_it_is_headless(api: Api) -> None:
    ports = [{"name": "http", "port": 80}]
    document = {"metadata": {"name": "with"}, "spec": {"ports": ports}}
    assert api.create("v1/services", document).body["spec"]["clusterIP"].count(".") == 3
    headless = {"metadata": {"name": "less"}, "spec": {"ports": ports, "clusterIP": "None"}}
    assert api.create("v1/services", headless).body["spec"]["clusterIP"] == "None"


def a_new_pod_is_pending_and_may_be_bound_to_a_node_once(api: Api) -> None:
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    pod = api.create("v1/pods", {"metadata": {"name": "a"}, "spec": spec}).body
    assert pod["status"]["phase"] == "Pending"
    assert pod["spec"]["restartPolicy"] == "Always"
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "here"},
    }
    path = api.path("v1/pods", "a", "binding")
    assert api.request("POST", path, binding).code == 201
    assert api.get("v1/pods", "a").body["spec"]["nodeName"] == "here"
    assert api.request("POST", path, binding).code == 409
    api.delete("v1/pods", "a", gracePeriodSeconds="0")


def a_namespace_takes_its_content_with_it(api: Api) -> None:
    name = f"{api.namespace}-b"
    api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    other = Api(api.url, api.pool, name, api.headers)
    assert other.create(CONFIGMAPS, configmap("a")).code == 201
    assert api.request("DELETE", f"/api/v1/namespaces/{name}").code == 200
    path = f"/api/v1/namespaces/{name}"
    eventually(lambda: api.request("GET", path).code == 404, "the namespace is gone")
    assert other.get(CONFIGMAPS, "a").code == 404


def every_failure_is_a_status_in_json(api: Api) -> None:
    reply = api.request("POST", api.path(CONFIGMAPS), ["no", "object"])
    assert reply.code == 400
    assert json.loads(json.dumps(reply.body))["kind"] == "Status"
    assert reply.body["status"] == "Failure"
