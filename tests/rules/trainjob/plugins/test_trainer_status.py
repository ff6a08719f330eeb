"""Where Pods report their progress, as Trainer's own plugin tells them."""

from jobledger.core.trainjob.building.build import build
from jobledger.core.trainjob.building.framework import ApplyRule, BuiltObject
from jobledger.core.trainjob.plugins import all_plugins
from tests.rules.trainjob.plugins.runtimes import container, pod, runtime, trainjob

URL = "https://jobledger-trainer-status.jobledger.svc:10443"
AUDIENCE = "trainer.kubeflow.org/v1alpha1/namespaces/ml/trainjobs/train/status"
POLICY = {"numNodes": 2, "jax": {}}


def told(url: str) -> dict[str, BuiltObject]:
    """Return what is built where Pods are told of a server, by `Kind/name`."""
    plugins = all_plugins(status_url=url)
    return {item.name: item for item in build(plugins, trainjob(), runtime(policy=POLICY))}


def test_containers_that_train_know_address_token_and_authority() -> None:
    jobset = dict(told(URL)["JobSet/train"].manifest)
    env = {one["name"]: one.get("value") for one in container(jobset)["env"]}
    assert env["KUBEFLOW_TRAINER_SERVER_URL"] == f"{URL}/apis/{AUDIENCE}"
    assert env["KUBEFLOW_TRAINER_SERVER_CA_CERT"] == "/var/run/secrets/kubeflow/trainer/ca.crt"
    assert env["KUBEFLOW_TRAINER_SERVER_TOKEN"] == "/var/run/secrets/kubeflow/trainer/token"
    assert container(jobset)["volumeMounts"] == [
        {
            "name": "kubeflow-trainer-token",
            "mountPath": "/var/run/secrets/kubeflow/trainer",
            "readOnly": True,
        }
    ]
    token = {"audience": AUDIENCE, "expirationSeconds": 3600, "path": "token"}
    authority = {"name": "train-tls-config", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    assert pod(jobset)["volumes"] == [
        {
            "name": "kubeflow-trainer-token",
            "projected": {"sources": [{"serviceAccountToken": token}, {"configMap": authority}]},
        }
    ]


def test_the_authority_is_put_into_a_configmap_of_the_job() -> None:
    found = told(f"{URL}/")["ConfigMap/train-tls-config"]
    assert (found.rule, found.keys) == (ApplyRule.ALWAYS, "authority")
    (owner,) = found.manifest["metadata"]["ownerReferences"]  # type: ignore[index, call-overload, misc]
    assert owner["kind"] == "TrainJob"  # type: ignore[index, call-overload]


def test_without_an_address_pods_are_told_nothing() -> None:
    built = told("")
    assert list(built) == ["JobSet/train"]
    assert "volumes" not in pod(dict(built["JobSet/train"].manifest))
