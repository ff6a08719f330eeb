"""The RayCluster and the submitter of an attempt are upstream's, and carry the attempt's number."""

import copy
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from jobledger.core.rayjob.manifests.manifests import build_cluster, build_submitter
from jobledger.core.rayjob.manifests.submit_command import sidecar_command, submit_command
from jobledger.core.rayjob.validation.validate import validate
from jobledger.core.values.documents import Manifest
from tests.rules.rayjob.jobs import CLUSTER_SPEC, HEAD_IMAGE, HEAD_POD, rayjob, selecting
from tests.rules.rayjob.upstream import sample, sample_names

ADDRESS = "train-x-head-svc.ml.svc.cluster.local:8265"
OWNER = {
    "apiVersion": "ray.io/v1",
    "kind": "RayJob",
    "name": "train",
    "uid": "uid-of-train",
    "controller": True,
    "blockOwnerDeletion": True,
}
ORIGIN = {"ray.io/originated-from-cr-name": "train", "ray.io/originated-from-crd": "RayJob"}
SUBMITTER_LABELS = {**ORIGIN, "app.kubernetes.io/created-by": "kuberay-operator"}
RESOURCES = {
    "limits": {"cpu": "1", "memory": "1Gi"},
    "requests": {"cpu": "500m", "memory": "200Mi"},
}
ENV = [
    {"name": "PYTHONUNBUFFERED", "value": "1"},
    {"name": "RAY_DASHBOARD_ADDRESS", "value": ADDRESS},
    {"name": "RAY_JOB_SUBMISSION_ID", "value": "train-abcde"},
]


def cluster(**spec: Any) -> dict[str, Any]:  # noqa: ANN401 any JSON
    """Return a live RayCluster."""
    head = copy.deepcopy(CLUSTER_SPEC)
    return {"metadata": {"name": "train-x", "namespace": "ml"}, "spec": {**head, **spec}}


def submitter(job: Manifest, live: Manifest | None = None, name: str = "train-x") -> Any:  # noqa: ANN401 read at will
    built = build_submitter(
        job,
        cluster=live,
        cluster_name=name,
        address=ADDRESS,
        job_id="train-abcde",
        runtime_env=None,
        attempt=2,
    )
    return json.loads(json.dumps(built))


def test_a_cluster_is_what_the_job_asks_for_and_belongs_to_it() -> None:
    job = rayjob(
        {
            "metadata.labels": {"kueue.x-k8s.io/queue-name": "q"},
            "metadata.annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        submissionMode="HTTPMode",
    )
    assert build_cluster(job, "train-x", 3) == {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {
            "name": "train-x",
            "namespace": "ml",
            "labels": {
                "kueue.x-k8s.io/queue-name": "q",
                **ORIGIN,
                "ray.io/job-submission-mode": "HTTPMode",
            },
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "jobledger.dev/attempt": "3",
            },
            "ownerReferences": [OWNER],
        },
        "spec": job["spec"]["rayClusterSpec"],
    }


@pytest.mark.parametrize(("mode", "label"), [(None, "K8sJobMode"), ("", ""), ("Own", "Own")])
def test_the_submission_mode_is_a_label_as_it_is_written(mode: str | None, label: str) -> None:
    built: Any = build_cluster(rayjob({"spec.submissionMode": mode}), "train-x", 1)
    assert built["metadata"]["labels"]["ray.io/job-submission-mode"] == label


def test_beside_the_head_runs_the_submitter() -> None:
    job = rayjob({f"{HEAD_POD}.volumes": [{"name": "v"}]}, submissionMode="SidecarMode")
    before = copy.deepcopy(job)
    built: Any = build_cluster(job, "train-x", 1, job_id="train-abcde", runtime_env={"a": 1})
    assert job == before
    assert built["metadata"]["annotations"] == {
        "ray.io/disable-provisioned-head-restart": "true",
        "jobledger.dev/attempt": "1",
    }
    assert built["spec"]["workerGroupSpecs"] == job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]["containers"]
    assert built["spec"]["headGroupSpec"]["template"]["spec"] == {
        "volumes": [{"name": "v"}],
        "restartPolicy": "Never",
        "containers": [
            *head,
            {
                "name": "ray-job-submitter",
                "image": HEAD_IMAGE,
                "resources": RESOURCES,
                "command": ["/bin/bash", "-ce", "--"],
                "args": [sidecar_command(job, job_id="train-abcde", runtime_env={"a": 1})],
                "env": [
                    {"name": "PYTHONUNBUFFERED", "value": "1"},
                    {"name": "RAY_DASHBOARD_ADDRESS"},
                    {"name": "RAY_JOB_SUBMISSION_ID", "value": "train-abcde"},
                ],
            },
        ],
    }


def test_the_default_submitter() -> None:
    job = rayjob()
    command = submit_command(job, address=ADDRESS, job_id="train-abcde", runtime_env=None)
    assert submitter(job) == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "labels": SUBMITTER_LABELS,
            "annotations": {"jobledger.dev/attempt": "2"},
            "ownerReferences": [OWNER],
        },
        "spec": {
            "backoffLimit": 2,
            "template": {
                "metadata": {"labels": SUBMITTER_LABELS},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "ray-job-submitter",
                            "image": HEAD_IMAGE,
                            "resources": RESOURCES,
                            "command": ["/bin/bash", "-ce", "--"],
                            "args": [command],
                            "env": ENV,
                        }
                    ],
                },
            },
        },
    }


@pytest.mark.parametrize("limit", [0, 7])
def test_the_submitters_own_retries(limit: int) -> None:
    assert (
        submitter(rayjob(submitterConfig={"backoffLimit": limit}))["spec"]["backoffLimit"] == limit
    )


def test_on_a_selected_cluster_the_submitter_has_the_image_of_its_head() -> None:
    pod = submitter(selecting(), cluster())["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"] == HEAD_IMAGE


TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "ml", "ray.io/originated-from-crd": "?"}, "name": "t"},
    "spec": {
        "restartPolicy": "OnFailure",
        "serviceAccountName": "runner",
        "containers": [
            {
                "name": "mine",
                "image": "mine:1",
                "args": ["ignored"],
                "env": [{"name": "PYTHONUNBUFFERED", "value": "0"}],
            },
            {"name": "log-shipper"},
        ],
    },
}


def test_a_users_template_is_kept_and_its_first_container_configured() -> None:
    job = rayjob(submitterPodTemplate=TEMPLATE)
    command = submit_command(job, address=ADDRESS, job_id="train-abcde", runtime_env=None)
    assert submitter(job)["spec"]["template"] == {
        "metadata": {"labels": {"team": "ml", **SUBMITTER_LABELS}, "name": "t"},
        "spec": {
            "restartPolicy": "OnFailure",
            "serviceAccountName": "runner",
            "containers": [
                {
                    "name": "mine",
                    "image": "mine:1",
                    "command": ["/bin/bash", "-ce", "--"],
                    "args": [command],
                    "env": [{"name": "PYTHONUNBUFFERED", "value": "0"}, *ENV],
                },
                {"name": "log-shipper"},
            ],
        },
    }


def test_a_users_template_gets_no_restart_policy() -> None:
    job = rayjob(submitterPodTemplate={"spec": {"containers": [{"name": "mine"}]}})
    assert "restartPolicy" not in submitter(job)["spec"]["template"]["spec"]


def test_a_command_of_the_users_own_is_kept_with_its_arguments() -> None:
    own = {"name": "mine", "command": ["sh"], "args": ["-c", "ray job submit …"]}
    job = rayjob(submitterPodTemplate={"spec": {"containers": [own]}})
    container = submitter(job)["spec"]["template"]["spec"]["containers"][0]
    assert container == {**own, "env": ENV}


class Auth(NamedTuple):
    rule: str
    options: Mapping[str, Any]
    added: list[dict[str, Any]]
    env: list[dict[str, Any]] = []  # noqa: RUF012 never changed
    name: str = "train-x"


MODE = {"name": "RAY_AUTH_MODE", "value": "token"}


def token(secret: str) -> dict[str, Any]:
    reference = {"name": secret, "key": "auth_token"}
    return {"name": "RAY_AUTH_TOKEN", "valueFrom": {"secretKeyRef": reference}}


AUTH = (
    Auth("without authentication nothing is added", {"mode": "disabled"}, []),
    Auth("the token is in the cluster's Secret", {"mode": "token"}, [MODE, token("train-x")]),
    Auth(
        "the token is in a Secret of the user's",
        {"mode": "token", "secretName": "mine"},
        [MODE, token("mine")],
    ),
    Auth(
        "a long name is shortened from the front",
        {"mode": "token"},
        [MODE, token("r" + "b" * 49)],
        name="ab-" + "7" + "b" * 49,
    ),
    Auth(
        "what the user set is kept",
        {"mode": "token"},
        [],
        [{"name": "RAY_AUTH_MODE", "value": "off"}, {"name": "RAY_AUTH_TOKEN", "value": "t"}],
    ),
)


@pytest.mark.parametrize("row", AUTH, ids=lambda row: row.rule)
def test_a_cluster_that_asks_for_a_token_gets_it(row: Auth) -> None:
    container = {"name": "mine", "env": row.env}
    job = selecting({"spec.submitterPodTemplate": {"spec": {"containers": [container]}}})
    live = cluster(authOptions=dict(row.options))
    pod = submitter(job, live, row.name)["spec"]["template"]["spec"]
    assert pod["containers"][0]["env"] == [*row.env, *ENV, *row.added]
    assert "volumes" not in pod


def test_the_token_of_a_cluster_of_its_own_is_called_as_the_state_calls_the_cluster() -> None:
    """The status of the object does not show that name yet, or shows an earlier attempt's."""
    asks = {"spec.rayClusterSpec.authOptions": {"mode": "token"}}
    expected = submitter(rayjob())
    expected["spec"]["template"]["spec"]["containers"][0]["env"] += [MODE, token("train-x2x2x")]
    for shown in ({}, {"rayClusterName": "train-earlier"}):
        job = {**rayjob(asks), "status": shown}
        assert submitter(job, None, "train-x2x2x") == expected


def test_a_cluster_that_asks_kubernetes_gets_the_token_of_the_service_account() -> None:
    live = cluster(authOptions={"mode": "token", "enableK8sTokenAuth": True})
    pod = submitter(selecting(), live)["spec"]["template"]["spec"]
    container = pod["containers"][0]
    by_kubernetes = {"name": "RAY_ENABLE_K8S_TOKEN_AUTH", "value": "true"}
    assert container["env"] == [*ENV, MODE, by_kubernetes]
    assert container["volumeMounts"] == [
        {
            "name": "ray-token",
            "mountPath": "/var/run/secrets/ray.io/serviceaccount",
            "readOnly": True,
        }
    ]
    sources = [{"serviceAccountToken": {"path": "token"}}]
    assert pod["volumes"] == [{"name": "ray-token", "projected": {"sources": sources}}]


def test_a_volume_and_mount_of_the_users_own_are_kept() -> None:
    container = {
        "name": "mine",
        "env": [{"name": "RAY_ENABLE_K8S_TOKEN_AUTH", "value": "1"}],
        "volumeMounts": [{"name": "ray-token", "mountPath": "/mine"}],
    }
    pod_spec = {"containers": [container], "volumes": [{"name": "ray-token", "emptyDir": {}}]}
    live = cluster(authOptions={"mode": "token", "enableK8sTokenAuth": True})
    job = selecting({"spec.submitterPodTemplate": {"spec": pod_spec}})
    pod = submitter(job, live)["spec"]["template"]["spec"]
    assert pod["volumes"] == pod_spec["volumes"]
    assert pod["containers"][0]["volumeMounts"] == container["volumeMounts"]
    assert pod["containers"][0]["env"] == [*container["env"], *ENV, MODE]


def test_read_only_documents_are_enough() -> None:
    job = MappingProxyType(rayjob(submissionMode="SidecarMode"))
    assert build_cluster(job, "c", 1)["kind"] == "RayCluster"


@pytest.mark.parametrize("name", sample_names())
def test_every_sample_of_upstream_can_be_built(name: str) -> None:
    job = sample(name)
    assert validate(job) is None
    built: Any = build_cluster(job, "c", 1)
    if job["spec"]["submissionMode"] != "SidecarMode":
        assert built["spec"] == job["spec"].get("rayClusterSpec", {})
    assert submitter(job, built)["spec"]["template"]["spec"]["containers"]
