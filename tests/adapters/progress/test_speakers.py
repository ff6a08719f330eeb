"""Which TrainJob a token may speak for: the chain of controllers, and how often it is asked."""

import pytest

from jobledger.adapters.kinds.trainjob.progress.speakers import Speakers, TooManyTokens
from jobledger.adapters.serving.judgements import REMEMBERED_SECONDS
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest

AUDIENCE = "trainer.kubeflow.org/v1alpha1/namespaces/ml/trainjobs/fit/status"
ABOVE = {
    "Pod": ("Job", "batch/v1"),
    "Job": ("JobSet", "jobset.x-k8s.io/v1alpha2"),
    "JobSet": ("TrainJob", "trainer.kubeflow.org/v1alpha1"),
}


class Api:
    """A Pod with its Job, JobSet and TrainJob; `wrong` names the kind whose UID is another."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong, self.reviews = wrong, 0

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        kind = resource.kind
        owners: list[Manifest] = []
        if kind in ABOVE:
            above, version = ABOVE[kind]
            owner = {"apiVersion": version, "kind": above, "name": "fit", "uid": f"uid-{above}"}
            owners = [{**owner, "controller": True}]
        uid = "another" if kind == self.wrong else f"uid-{kind}"
        metadata: Manifest = {
            "namespace": namespace,
            "name": name,
            "uid": uid,
            "ownerReferences": owners,
        }
        return {"metadata": metadata}

    def create(self, resource: Resource, manifest: Manifest) -> Manifest:
        del resource, manifest
        self.reviews += 1
        extra = {
            "authentication.kubernetes.io/pod-name": ["fit"],
            "authentication.kubernetes.io/pod-uid": ["uid-Pod"],
        }
        user: Manifest = {"username": "system:serviceaccount:ml:default", "extra": extra}
        return {"status": {"authenticated": True, "audiences": [AUDIENCE], "user": user}}


@pytest.mark.parametrize(
    ("wrong", "uid"),
    [("", "uid-TrainJob"), ("Pod", ""), ("Job", ""), ("JobSet", ""), ("TrainJob", "")],
)
def test_each_link_of_the_chain_counts_by_its_uid(wrong: str, uid: str) -> None:
    speakers = Speakers(Api(wrong), lambda: 0.0, lambda _: True)
    assert speakers.job_of("token", "ml", "fit", "") == uid


def test_a_token_is_asked_about_once_a_while_and_unknown_ones_at_a_pace() -> None:
    api, now, may = Api(), [0.0], [True]
    speakers = Speakers(api, lambda: now[0], lambda _: may[0])
    assert [speakers.job_of("token", "ml", "fit", "") for _ in range(3)] == ["uid-TrainJob"] * 3
    assert api.reviews == 1
    may[0], now[0] = False, REMEMBERED_SECONDS + 1
    assert speakers.job_of("token", "ml", "fit", "") == "uid-TrainJob", "it was good before"
    with pytest.raises(TooManyTokens):
        speakers.job_of("unknown", "ml", "fit", "")
