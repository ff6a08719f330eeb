"""Which jobs are asked for before anything is decided: none that are listed after their shard."""

from types import SimpleNamespace
from typing import Any

from jobledger.adapters.service.resync.first_looks import FirstLooks
from jobledger.adapters.service.watches.kind_watches import SyncedKinds
from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest
from jobledger.core.values.ids import shard_of
from tests.adapters.service.parts import Bench
from tests.support.plugged import watchings

KINDS = watchings()


class Gained:
    """A shard that is gained, and how often the API server is asked for the job in it."""

    def __init__(self) -> None:
        self.bench, self.asked = Bench(), 0
        self.synced = SyncedKinds(1, list(KINDS.values()))
        job = self.bench.job()
        self.bench.hold(job)
        self.shard = shard_of(job.identity.stream_id)
        epochs: Any = SimpleNamespace(epoch=lambda _: 1)
        told: Any = None
        cluster: Any = self
        self.looks = FirstLooks(
            cluster, self.bench.around, self.bench.clock, epochs, self.synced, told
        )

    def get(self, resource: Resource, namespace: str, name: str) -> Manifest | None:
        """Count a question, and answer it."""
        self.asked += 1
        return self.bench.cluster.get(resource, namespace, name)

    def list(self, kind: str) -> None:
        """List what is watched for a kind of job."""
        self.synced.expect(KINDS[kind].watched)
        for one in KINDS[kind].watched:
            self.synced.note(one.name)

    def asks(self) -> bool:
        """Take the shard's jobs up; return whether the API server was asked for the one in it."""
        self.looks.look_anew(self.bench.slots, [self.shard])
        return self.asked > 0


def test_jobs_are_not_asked_for_whose_list_comes_after_their_shard() -> None:
    """Also where it is not known yet which of the kinds are served: none is listed then."""
    gained = Gained()
    gained.looks.begin({gained.shard: 1})
    gained.list("RayJob")
    assert not gained.asks()


def test_jobs_that_were_listed_before_are_asked_for() -> None:
    gained = Gained()
    gained.list("RayJob")
    gained.looks.begin({gained.shard: 1})
    assert gained.asks()


def test_batch_jobs_are_listed_by_their_own_watch() -> None:
    """That of RayJobs' submitters is called by their kind."""
    gained = Gained()
    assert "Job" in gained.synced.unlisted()
    gained.list("RayJob")
    assert "Job" in gained.synced.unlisted()
    gained.list("Job")
    assert "Job" not in gained.synced.unlisted()
