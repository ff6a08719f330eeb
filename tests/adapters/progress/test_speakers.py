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
    """A Pod with its Job, JobSet and TrainJob.

    `wrong` names the kind whose UID is another, `owned` that whose controller is of another kind;
    `judged` is what Kubernetes says otherwise of the token.
    """

    def __init__(
        self, wrong: str = "", owned: str = "", judged: Manifest | None = None, name: str = "fit"
    ) -> None:
        self.wrong, self.owned, self.judged, self.name = wrong, owned, judged or {}, name
        self.reviews = 0

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest:
        kind = resource.kind
        owners: list[Manifest] = []
        if kind in ABOVE:
            above, version = ABOVE[kind]
            version = "example.com/v1" if kind == self.owned else version
            owner = {"apiVersion": version, "kind": above, "name": self.name, "uid": f"uid-{above}"}
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
        said: Manifest = {"authenticated": True, "audiences": [AUDIENCE], "user": user}
        return {"status": {**said, **self.judged}}


def of(username: str, **extra: str) -> Manifest:
    """Return what Kubernetes says of somebody's token."""
    keys = {f"authentication.kubernetes.io/pod-{key}": [said] for key, said in extra.items()}
    return {"user": {"username": username, "extra": keys}}


ELSEWHERE = {
    "for no audience": Api(judged={"audiences": []}),
    "for that of another TrainJob": Api(judged={"audiences": [AUDIENCE.replace("fit", "other")]}),
    "that is not valid": Api(judged={"authenticated": False}),
    "of an account elsewhere": Api(
        judged=of("system:serviceaccount:other:default", name="fit", uid="uid-Pod")
    ),
    "of a user": Api(judged=of("ml", name="fit", uid="uid-Pod")),
    "of no Pod": Api(judged=of("system:serviceaccount:ml:default")),
    "of a Pod whose controller is no Job": Api(owned="Pod"),
    "of a Pod whose Job's controller is no JobSet": Api(owned="Job"),
    "of a Pod whose JobSet's controller is no TrainJob": Api(owned="JobSet"),
    "of a Pod of another TrainJob": Api(name="other"),
}


@pytest.mark.parametrize("api", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_token_of_somebody_else_speaks_for_nobody(api: Api) -> None:
    assert Speakers(api, lambda: 0.0, lambda _: True).job_of("token", "ml", "fit", "") == ""


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
