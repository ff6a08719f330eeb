"""Rules for TrainJobs and their runtimes: defaults, what may change, what a status may be.

They are upstream's definitions' (on the sandbox: ours).
"""

from typing import Any

from tests.support.api import MERGE, Api, Reply

TRAINJOBS = "trainer.kubeflow.org/v1alpha1/trainjobs"
RUNTIMES = "trainer.kubeflow.org/v1alpha1/trainingruntimes"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NOW = "2026-11-21T12:00:00Z"


def _trainjob(name: str = "train", **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": "torch-distributed"}} | spec,
    }


def _refused(reply: Reply, field: str, words: str) -> None:
    assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
    assert field in reply.causes, reply.causes
    assert words in reply.message


def a_trainjob_gets_its_defaults(api: Api) -> None:
    reply = api.create(TRAINJOBS, _trainjob())
    assert reply.code == 201, reply.message
    assert reply.body["spec"] == {
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
        "runtimeRef": {
            "apiGroup": "trainer.kubeflow.org",
            "kind": "ClusterTrainingRuntime",
            "name": "torch-distributed",
        },
        "suspend": False,
    }


def a_trainjob_is_named_as_a_label(api: Api) -> None:
    said = "metadata.name must match RFC 1035 DNS label format"
    for name in ("1st", "a.b"):
        reply = api.create(TRAINJOBS, _trainjob(name))
        assert reply.code == 422
        assert said in reply.message
    reply = api.create(TRAINJOBS, _trainjob("n" * 64))
    assert reply.code == 422
    assert "metadata.name must be no more than 63 characters" in reply.message


def most_of_a_trainjob_may_not_change(api: Api) -> None:
    created = api.create(TRAINJOBS, _trainjob(trainer={"numNodes": 2}, activeDeadlineSeconds=5))
    assert created.code == 201, created.message
    for field, value in (
        ("runtimeRef", {"name": "other"}),
        ("trainer", {"numNodes": 3}),
        ("activeDeadlineSeconds", 6),
    ):
        reply = api.merge(TRAINJOBS, "train", {"spec": {field: value}})
        _refused(reply, f"spec.{field}", "field is immutable")
    assert api.merge(TRAINJOBS, "train", {"spec": {"suspend": True}}).code == 200
    removed = api.merge(TRAINJOBS, "train", {"spec": {"activeDeadlineSeconds": None}})
    assert removed.code == 200, "a rule about a change asks only where both are there"


def what_may_not_change_may_not_be_applied_either(api: Api) -> None:
    """By server-side apply, which kubectl and GitOps use; what may change goes through."""
    lasting: dict[str, Any] = {
        "runtimeRef": {"name": "torch-distributed"},
        "initializer": {"dataset": {"storageUri": "hf://a/b"}},
        "trainer": {"numNodes": 2, "command": ["run"]},
        "activeDeadlineSeconds": 5,
        "managedBy": "trainer.kubeflow.org/trainjob-controller",
    }
    made = api.apply(TRAINJOBS, _trainjob(**lasting), "user")
    assert made.code == 201, made.message
    for field, value in (
        ("runtimeRef", {"name": "other"}),
        ("initializer", {"dataset": {"storageUri": "hf://a/c"}}),
        ("trainer", {"numNodes": 2, "command": ["walk"]}),
        ("activeDeadlineSeconds", 6),
        ("managedBy", "kueue.x-k8s.io/multikueue"),
    ):
        reply = api.apply(TRAINJOBS, _trainjob(**lasting | {field: value}), "user")
        assert (reply.code, reply.reason) == (422, "Invalid"), reply.message
        assert f"spec.{field}" in reply.causes, reply.causes
    patches = [{"manager": "a.example/first"}]
    free = api.apply(TRAINJOBS, _trainjob(**lasting, suspend=True, runtimePatches=patches), "user")
    assert free.code == 200, free.message
    other = api.apply(TRAINJOBS, _trainjob(**lasting), "user")
    assert (other.code, other.body["spec"]["suspend"]) == (200, False), "given up, so the default"


def a_trainjob_has_one_of_two_managers(api: Api) -> None:
    reply = api.create(TRAINJOBS, _trainjob(managedBy="example.com/other"))
    _refused(reply, "spec.managedBy", "ManagedBy must be trainer.kubeflow.org/trainjob-controller")


def parts_of_a_patch_are_frozen_each_for_itself(api: Api) -> None:
    """An item of a list has a past if the list has keys."""

    def patches(account: str, selector: str) -> list[dict[str, Any]]:
        pod = {"serviceAccountName": account, "nodeSelector": {"pool": selector}}
        group = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
        template = {"template": {"spec": {"replicatedJobs": [group]}}}
        other: dict[str, Any] = {"manager": "a.example/first"}
        return [other, {"manager": "b.example/second", "trainingRuntimeSpec": template}]

    created = api.create(TRAINJOBS, _trainjob(runtimePatches=patches("one", "small")))
    assert created.code == 201, created.message
    changed = api.merge(TRAINJOBS, "train", {"spec": {"runtimePatches": patches("one", "big")}})
    assert changed.code == 200, changed.message
    reordered = list(reversed(patches("two", "big")))
    reply = api.merge(TRAINJOBS, "train", {"spec": {"runtimePatches": reordered}})
    assert reply.code == 422
    (field,) = reply.causes
    assert field.startswith("spec.runtimePatches[0].trainingRuntimeSpec")
    assert field.endswith("serviceAccountName")


def uris_have_a_scheme(api: Api) -> None:
    reply = api.create(TRAINJOBS, _trainjob(initializer={"dataset": {"storageUri": "nothing"}}))
    _refused(reply, "spec.initializer.dataset.storageUri", "it must be a valid URI")
    found = _trainjob(initializer={"dataset": {"storageUri": "hf://a/b"}})
    assert api.create(TRAINJOBS, found).code == 201


def _condition(kind: str) -> dict[str, str]:
    said = {"status": "True", "reason": "Why", "message": "", "lastTransitionTime": NOW}
    return {"type": kind, **said}


def a_status_is_never_empty_and_has_eight_conditions_at_most(api: Api) -> None:
    api.create(TRAINJOBS, _trainjob())
    assert api.merge(TRAINJOBS, "train", {"status": {}}, "status").code == 422
    for count, code in ((8, 200), (9, 422)):
        conditions = [_condition(f"Type{index}") for index in range(count)]
        patch = {"status": {"conditions": conditions}}
        assert api.merge(TRAINJOBS, "train", patch, "status").code == code


def counters_of_jobs_are_complete(api: Api) -> None:
    api.create(TRAINJOBS, _trainjob())
    counters = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0)
    for missing in ("", "suspended"):
        entry = {"name": "node", **counters}
        entry.pop(missing, None)
        reply = api.merge(TRAINJOBS, "train", {"status": {"jobsStatus": [entry]}}, "status")
        assert reply.code == (422 if missing else 200), reply.message


def a_trainjob_is_listed_with_its_last_condition(api: Api) -> None:
    """Whatever its status: so upstream's column is."""
    api.create(TRAINJOBS, _trainjob())
    suspended = {**_condition("Suspended"), "status": "False"}
    conditions = [_condition("Created"), suspended]
    api.merge(TRAINJOBS, "train", {"status": {"conditions": conditions}}, "status")
    table = api.request("GET", api.path(TRAINJOBS), accept=TABLE).body
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "State", "Age"]
    assert table["rows"][0]["cells"][:2] == ["train", "Suspended"]


def a_runtime_has_one_policy(api: Api) -> None:
    pod = {"spec": {"containers": [{"name": "node", "image": "x"}]}}
    group = {"name": "node", "template": {"spec": {"template": pod}}}
    template = {"spec": {"replicatedJobs": [group]}}

    def runtime(**policy: object) -> dict[str, Any]:
        return {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainingRuntime",
            "metadata": {"name": "runtime"},
            "spec": {"mlPolicy": policy, "template": template},
        }

    reply = api.create(RUNTIMES, runtime(torch={}, mpi={}))
    _refused(reply, "spec.mlPolicy", "Only one of the policy can be configured")
    reply = api.create(RUNTIMES, runtime(mpi={}, numNodes=2))
    assert reply.code == 201, reply.message
    policy = reply.body["spec"]["mlPolicy"]["mpi"]
    assert policy.pop("sshAuthMountPath").endswith("/.ssh")
    defaults = {"mpiImplementation": "OpenMPI", "numProcPerNode": 1, "runLauncherAsNode": False}
    assert policy == defaults
    (made,) = reply.body["spec"]["template"]["spec"]["replicatedJobs"]
    assert (made["replicas"], made["groupName"]) == (1, "default")
    path = api.path(RUNTIMES, "runtime", "status")
    assert api.request("PATCH", path, {}, content_type=MERGE).code == 404, "there is no status"
