"""What a Kubernetes API refuses, and with which words."""

from tests.support.api import CONFIGMAPS, JOBS, RAYJOBS, SERVICES, Api, configmap, rayjob


def a_wrong_type_is_422_and_names_the_field(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a", backoffLimit="three"))
    assert (reply.code, reply.reason) == (422, "Invalid")
    assert reply.message.startswith('RayJob.ray.io "a" is invalid: ')
    assert (
        'spec.backoffLimit: Invalid value: "string": spec.backoffLimit in body must be of type '
        'integer: "string"' in reply.message
    )
    assert "spec.backoffLimit" in reply.causes


def a_null_where_there_is_no_default_is_left_out(api: Api) -> None:
    """In maps as well; then a field that must be there is missing."""
    template = {"spec": {"containers": [{"name": "head", "image": "i"}]}}
    head = {"rayStartParams": {"port": None, "num-cpus": "1"}, "template": template}
    document = rayjob("a", suspend=None, rayClusterSpec={"headGroupSpec": head})
    spec = api.create(RAYJOBS, document).body["spec"]
    assert "suspend" not in spec
    assert spec["rayClusterSpec"]["headGroupSpec"]["rayStartParams"] == {"num-cpus": "1"}
    reply = api.create(RAYJOBS, rayjob("b", rayClusterSpec={"headGroupSpec": None}))
    assert reply.causes["spec.rayClusterSpec.headGroupSpec"] == "FieldValueRequired"


def a_null_in_a_list_or_in_what_is_applied_is_422(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a", deletionStrategy={"deletionRules": [None]}))
    assert (reply.code, "spec.deletionStrategy.deletionRules[0]" in reply.causes) == (422, True)
    applied = api.apply(RAYJOBS, rayjob("a", suspend=None), "me")
    assert (applied.code, "spec.suspend" in applied.causes) == (422, True)


def an_unknown_field_in_what_is_applied_is_500(api: Api) -> None:
    said = "/a; ray.io/v1, Kind=RayJob): "
    reply = api.apply(RAYJOBS, rayjob("a", later=1), "me")
    assert (reply.code, reply.reason) == (500, "")
    assert reply.message.startswith("failed to create typed patch object (")
    assert reply.message.endswith(f"{said}.spec.later: field not declared in schema")
    api.create(RAYJOBS, rayjob("a"))
    reply = api.apply(RAYJOBS, rayjob("a", deletionStrategy={"later": 1}), "me")
    assert reply.code == 500
    assert ".spec.deletionStrategy.later: field not declared in schema" in reply.message
    both = rayjob("a", deletionStrategy={"later": 1}, later=[{}])
    reply = api.apply(RAYJOBS, both, "me")  # perhaps one of the two alone is named
    assert reply.code == 500
    assert ".spec.later: field not declared in schema" in reply.message


def a_null_where_there_is_a_default_becomes_the_default(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a", backoffLimit=None))
    assert (reply.code, reply.body["spec"]["backoffLimit"]) == (201, 0)


def a_number_below_the_minimum_is_422(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a", preRunningDeadlineSeconds=0))
    assert reply.code == 422
    rule = "spec.preRunningDeadlineSeconds in body should be greater than or equal to 1"
    assert rule in reply.message


def a_word_outside_the_enumeration_is_422_with_the_choices(api: Api) -> None:
    strategy = {"onSuccess": {"policy": "Nothing"}, "onFailure": {"policy": "DeleteNone"}}
    reply = api.create(RAYJOBS, rayjob("a", deletionStrategy=strategy))
    assert reply.causes["spec.deletionStrategy.onSuccess.policy"] == "FieldValueNotSupported"
    choices = 'supported values: "DeleteCluster", "DeleteWorkers", "DeleteSelf", "DeleteNone"'
    assert choices in reply.message


def a_missing_required_field_is_422(api: Api) -> None:
    reply = api.create(RAYJOBS, rayjob("a", rayClusterSpec={}))
    assert reply.causes["spec.rayClusterSpec.headGroupSpec"] == "FieldValueRequired"


def a_rule_in_cel_is_422_with_its_message(api: Api) -> None:
    one = {"policy": "DeleteSelf", "condition": {"ttlSeconds": 5}}
    reply = api.create(RAYJOBS, rayjob("a", deletionStrategy={"deletionRules": [one]}))
    assert reply.code == 422
    assert (
        "the deletion condition requires either the JobStatus or the JobDeploymentStatus field."
        in reply.message
    )
    reply = api.create(RAYJOBS, rayjob("a", deletionStrategy={}))
    assert "deletionStrategy requires either BOTH onSuccess and onFailure" in reply.message


def a_rule_about_a_change_lets_setting_and_removing_pass(api: Api) -> None:
    api.create(RAYJOBS, rayjob("a"))
    upstream, kueue = "ray.io/kuberay-operator", "kueue.x-k8s.io/multikueue"
    assert api.merge(RAYJOBS, "a", {"spec": {"managedBy": upstream}}).code == 200
    changed = api.merge(RAYJOBS, "a", {"spec": {"managedBy": kueue}})
    assert (changed.code, changed.reason) == (422, "Invalid")
    assert "the managedBy field is immutable" in changed.message
    assert api.merge(RAYJOBS, "a", {"spec": {"managedBy": None}}).code == 200


def unknown_fields_are_dropped_warned_of_or_refused_as_asked(api: Api) -> None:
    warned = api.create(RAYJOBS, rayjob("a", colour="red"))
    assert "colour" not in warned.body["spec"]
    assert 'unknown field \\"spec.colour\\"' in warned.headers.get("warning", "")
    silent = api.create(RAYJOBS, rayjob("b", colour="red"), fieldValidation="Ignore")
    assert (silent.code, "warning" in silent.headers) == (201, False)
    strict = api.create(RAYJOBS, rayjob("c", colour="red"), fieldValidation="Strict")
    assert (strict.code, strict.reason) == (400, "BadRequest")
    assert 'unknown field "spec.colour"' in strict.message


def pod_templates_keep_fields_the_definition_does_not_know(api: Api) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], "hostname": "h"}}
    body = api.create(RAYJOBS, rayjob("a", submitterPodTemplate=template)).body
    assert body["spec"]["submitterPodTemplate"]["spec"]["hostname"] == "h"


def an_invalid_name_is_422(api: Api) -> None:
    for name in ("Capital", "under_score", "-dash"):
        reply = api.create(CONFIGMAPS, configmap(name))
        assert (reply.code, reply.causes) == (422, {"metadata.name": "FieldValueInvalid"}), name


def a_missing_name_is_422(api: Api) -> None:
    reply = api.create(CONFIGMAPS, {"metadata": {}})
    assert (reply.code, reply.causes) == (422, {"metadata.name": "FieldValueRequired"})
    assert "name or generateName is required" in reply.message


def an_invalid_label_is_422(api: Api) -> None:
    reply = api.create(CONFIGMAPS, configmap("a", labels={"x": "not allowed"}))
    assert (reply.code, reply.causes) == (422, {"metadata.labels": "FieldValueInvalid"})


def a_label_that_is_no_text_is_400(api: Api) -> None:
    assert (
        api.create(RAYJOBS, rayjob("a") | {"metadata": {"name": "a", "labels": {"x": 1}}}).code
        == 400
    )


def an_owner_reference_must_be_whole(api: Api) -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": ""}
    reply = api.create(CONFIGMAPS, configmap("a", ownerReferences=[reference]))
    assert (reply.code, "metadata.ownerReferences.uid" in reply.causes) == (422, True)


def a_batch_job_must_say_that_its_pods_end(api: Api) -> None:
    pod = {"containers": [{"name": "main", "image": "busybox"}]}
    job = {"metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}}
    reply = api.create(JOBS, job)
    assert (reply.code, list(reply.causes)) == (422, ["spec.template.spec.restartPolicy"])


def the_template_of_a_batch_job_is_immutable(api: Api) -> None:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    api.create(JOBS, {"metadata": {"name": "a"}, "spec": {"template": {"spec": pod}}})
    patch = {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}
    reply = api.merge(JOBS, "a", patch)
    assert (reply.code, "spec.template" in reply.causes) == (422, True)
    assert "field is immutable" in reply.message
    api.delete(JOBS, "a", propagationPolicy="Background")


def a_batch_job_shows_no_count_of_nought(api: Api) -> None:
    """Nor an empty word in a condition; two of the counts are kept, which may be unknown."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    spec = {"managedBy": "example.com/nobody", "template": {"spec": pod}}
    api.create(JOBS, {"metadata": {"name": "a"}, "spec": spec})
    counts = dict.fromkeys(("active", "ready", "succeeded", "failed", "terminating"), 0)
    at = "2026-11-21T12:00:00Z"
    moments = {"lastProbeTime": at, "lastTransitionTime": at}
    suspended = {"type": "Suspended", "status": "True", "reason": "", "message": "", **moments}
    patch = {"status": {**counts, "conditions": [suspended]}}
    reply = api.merge(JOBS, "a", patch, "status")
    assert reply.code == 200
    condition = {"type": "Suspended", "status": "True", **moments}
    assert reply.body["status"] == {"ready": 0, "terminating": 0, "conditions": [condition]}


def a_pod_needs_containers_and_keeps_its_spec(api: Api) -> None:
    empty = api.create("v1/pods", {"metadata": {"name": "a"}, "spec": {"containers": []}})
    assert (empty.code, "spec.containers" in empty.causes) == (422, True)
    spec = {"containers": [{"name": "main", "image": "busybox"}]}
    api.create("v1/pods", {"metadata": {"name": "a"}, "spec": spec})
    reply = api.merge("v1/pods", "a", {"spec": {"hostname": "new"}})
    assert (reply.code, reply.causes) == (422, {"spec": "FieldValueForbidden"})


def a_service_keeps_its_address(api: Api) -> None:
    spec = {"ports": [{"port": 80}]}
    api.create(SERVICES, {"metadata": {"name": "a"}, "spec": spec})
    reply = api.merge(SERVICES, "a", {"spec": {"clusterIP": "10.0.255.254"}})
    assert reply.code == 422
