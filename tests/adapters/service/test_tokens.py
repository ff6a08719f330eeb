"""Heads that ask for a token are shown the one in the Secret that their RayCluster names."""

import base64
from typing import Any

import pytest

from jobledger.adapters.kinds.rayjob.acting.effects import act
from jobledger.adapters.kinds.rayjob.heads.polls import PollParts, Polls
from jobledger.adapters.service.objects.head_tokens import KEPT_SECONDS, Tokens, read_token
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import RayApiUnreachable, RayJobNotFound
from jobledger.core.jobs.pending.effects import EffectKind
from jobledger.core.ports.cluster import RAYCLUSTERS, SECRETS
from jobledger.core.ports.ray_jobs import RayJobInfo, Submission
from jobledger.core.rayjob.manifests.submitter_container import token_secret
from jobledger.core.rayjob.observations.observations import PollUnanswered
from jobledger.core.values.documents import Json
from tests.adapters.service.parts import JOB_ID, NAMES, Bench
from tests.adapters.service.test_polls import running
from tests.rules.rayjob.jobs import CLUSTER_SPEC

NAME = "train-x2x2x"
ADDRESS = f"{NAME}-head-svc.ml.svc.cluster.local:8265"
TOKEN = "s3cret-token"


class Guarded(Bench):
    """A job on a RayCluster, and what a head is shown."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.a_job = self.job()
        self.shown: list[str] = []

    def make_cluster(self, **auth: Any) -> CachedJob:  # noqa: ANN401 any JSON
        owner: Json = {
            "apiVersion": "ray.io/v1",
            "kind": "RayJob",
            "name": "train",
            "controller": True,
            "uid": self.a_job.identity.uid,
        }
        made = self.cluster.create(
            RAYCLUSTERS,
            {
                "metadata": {"name": NAME, "namespace": "ml", "ownerReferences": [owner]},
                "spec": {**CLUSTER_SPEC, **({"authOptions": auth} if auth else {})},
            },
        )
        self.clusters.seen(made, self.clock.now())
        self.said()
        return self.a_job

    def make_secret(self, name: str = NAME, key: str = "auth_token", token: str = TOKEN) -> None:
        data = {key: base64.b64encode(token.encode()).decode()}
        self.cluster.create(SECRETS, {"metadata": {"name": name, "namespace": "ml"}, "data": data})

    # What of the Ray job API is asked here.
    def info(self, address: str, submission_id: str, token: str = "") -> RayJobInfo:
        """Note what is shown."""
        self.shown.append(token)
        raise RayJobNotFound(f"{address} does not know {submission_id}")

    def submit(self, address: str, submission: Submission, token: str = "") -> None:
        """Note what is shown."""
        del address, submission
        self.shown.append(token)

    def stop(self, address: str, submission_id: str, token: str = "") -> bool:
        """Note what is shown."""
        del address, submission_id
        self.shown.append(token)
        return True


@pytest.fixture
def guarded() -> Guarded:
    return Guarded()


def read(guarded: Guarded) -> str:
    return read_token(guarded.cluster, guarded.live, guarded.a_job, ADDRESS)


def test_a_head_that_asks_for_none_is_shown_none(guarded: Guarded) -> None:
    guarded.make_cluster()
    assert read(guarded) == ""


def test_the_secret_is_called_as_the_raycluster_is(guarded: Guarded) -> None:
    guarded.make_cluster(mode="token")
    guarded.make_secret()
    assert read(guarded) == TOKEN


def test_another_secret_may_be_named(guarded: Guarded) -> None:
    guarded.make_cluster(mode="token", secretName="mine")
    guarded.make_secret("mine")
    assert read(guarded) == TOKEN


@pytest.mark.parametrize(("key", "token"), [("other", TOKEN), ("auth_token", " \n")])
def test_a_secret_without_a_token_is_named(guarded: Guarded, key: str, token: str) -> None:
    guarded.make_cluster(mode="token")
    guarded.make_secret(key=key, token=token)
    with pytest.raises(RayApiUnreachable, match=f"ml/{NAME} holds no auth_token"):
        read(guarded)


def test_a_secret_that_is_not_there_is_named(guarded: Guarded) -> None:
    guarded.make_cluster(mode="token")
    with pytest.raises(RayApiUnreachable, match=f"ml/{NAME} holds no auth_token"):
        read(guarded)


@pytest.mark.parametrize("kind", [EffectKind.SUBMIT_ENTRYPOINT, EffectKind.STOP_ENTRYPOINT])
def test_acts_show_it(guarded: Guarded, kind: EffectKind) -> None:
    job = guarded.make_cluster(mode="token")
    guarded.make_secret()
    guarded.ray = guarded  # type: ignore[assignment]  # a part of the Ray job API
    effect = guarded.effect(job, kind, JOB_ID, address=ADDRESS)
    act(guarded.context().world, job, effect, NAMES)
    assert guarded.shown == [TOKEN]


def polls_of(guarded: Guarded) -> Polls:
    tokens = Tokens(guarded.cluster, guarded.live, guarded.clock)
    polls = Polls(poll_parts(guarded, tokens))
    polls.open_gate()
    polls.update(guarded.a_job.identity.stream_id, running(guarded.a_job, address=ADDRESS))
    guarded.clock.advance(3)
    return polls


def poll_parts(guarded: Guarded, tokens: Tokens) -> PollParts:
    return PollParts(
        ray=guarded,  # type: ignore[arg-type]  # a part of the Ray job API
        live=guarded.live,
        inbox=guarded.inbox,
        confirmations=guarded.confirmations,
        clock=guarded.clock,
        metrics=guarded.metrics,
        interval_seconds=3,
        threads=1,
        token=tokens.token,
    )


def test_polls_show_it(guarded: Guarded) -> None:
    guarded.make_cluster(mode="token")
    guarded.make_secret()
    assert polls_of(guarded).run_once()
    assert guarded.shown == [TOKEN]


def test_without_it_the_head_counts_as_silent_and_the_secret_is_named(guarded: Guarded) -> None:
    guarded.make_cluster(mode="token")
    assert polls_of(guarded).run_once()
    (told,) = guarded.said()
    assert isinstance(told, PollUnanswered)
    assert NAME in told.trouble
    assert guarded.shown == []


def test_a_token_is_read_anew_after_a_while(guarded: Guarded) -> None:
    """Secrets are rotated."""
    guarded.make_cluster(mode="token")
    guarded.make_secret()
    tokens = Tokens(guarded.cluster, guarded.live, guarded.clock)
    assert tokens.token(guarded.a_job, ADDRESS) == TOKEN
    data = {"auth_token": base64.b64encode(b"another").decode()}
    guarded.cluster.merge_patch(SECRETS, "ml", NAME, {"data": data})
    assert tokens.token(guarded.a_job, ADDRESS) == TOKEN, "not at every question"
    guarded.clock.advance(KEPT_SECONDS + 1)
    assert tokens.token(guarded.a_job, ADDRESS) == "another"


def test_the_token_of_a_long_name_is_in_a_secret_of_its_last_fifty_characters() -> None:
    long = "a" * 10 + "b" * 43
    assert token_secret({"authOptions": {"mode": "token"}}, long) == long[-50:]
    assert token_secret({}, long) == ""
