"""An attempt with a head and a worker whose Pods are there to be captured, for tests."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from jobledger.adapters.service.evidence.capture import Capturer
from jobledger.adapters.service.evidence.one_capture import CaptureParts
from jobledger.adapters.service.objects.object_cache import CachedJob
from jobledger.core.errors import RequestForbidden, RequestInvalid
from jobledger.core.jobs.observations import EvidenceSeen
from jobledger.core.jobs.pending.effects import EffectKind, OpenEffect
from jobledger.core.ports.cluster import PODS, RAYCLUSTERS
from jobledger.core.rayjob.state import Attempt, RayJobState
from jobledger.core.values.documents import Manifest
from jobledger.core.values.instants import Instant, rfc3339
from tests.adapters.service.owned import a_child, controller
from tests.adapters.service.parts import JOB_ID, SECRET, Bench
from tests.rules.rayjob.jobs import HEAD_ENV
from tests.support.evidence import MemoryEvidence
from tests.support.kubelet_logs import Kubelet
from tests.support.records import NOON

CLUSTER, ADDRESS = "train-x2x2x", "head:8265"
SOON = timedelta(seconds=2)


@dataclass
class Witness:
    """What a cluster tells of Pods: logs by Pod, Events by object; a silent Pod answers never."""

    logs: dict[str, str] = field(default_factory=dict)
    previous: dict[str, str] = field(default_factory=dict)
    """What containers wrote before they were started again, by Pod."""
    events: dict[str, list[Manifest]] = field(default_factory=dict)
    asked_about: set[str] = field(default_factory=set)
    silent: frozenset[str] = frozenset()
    forbidden: bool = False
    has_no_previous: bool = False
    has_no_present: bool = False
    has_silent_previous: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def pod_log(
        self,
        namespace: str,
        name: str,
        container: str = "",
        *,
        previous: bool = False,
        **limits: int | None,
    ) -> str:
        del namespace, container
        if name in self.silent:
            self.over.wait(60)
        if self.forbidden:
            raise RequestForbidden(f"pods/log is forbidden for {SECRET}")
        if previous and self.has_silent_previous:
            self.over.wait(60)
        if self.has_no_previous if previous else self.has_no_present:
            raise RequestInvalid("unable to retrieve container logs")
        logs = self.previous if previous else self.logs
        return Kubelet(logs.get(name, "")).read(**limits)

    def events_about(self, namespace: str, kind: str, name: str) -> list[Manifest]:
        del namespace
        self.asked_about.add(f"{kind}/{name}")
        return self.events.get(f"{kind}/{name}", [])


@dataclass
class Scene:
    """A bench with a running attempt, Pods of it, and somebody who captures."""

    bench: Bench
    job: CachedJob
    witness: Witness
    store: MemoryEvidence
    capturer: Capturer
    cluster: Manifest
    """The RayCluster of the attempt."""

    def state(self, **fields: Any) -> RayJobState:  # noqa: ANN401 any field
        attempt = Attempt(
            number=1,
            cluster_name=CLUSTER,
            job_id=JOB_ID,
            generation=1,
            started_at=NOON,
            address=ADDRESS,
        )
        return RayJobState(identity=self.job.identity, attempt=attempt, **fields)

    def deletion(self) -> OpenEffect:
        return self.bench.effect(self.job, EffectKind.DELETE_CLUSTER, CLUSTER)

    def captured(self, **state: Any) -> EvidenceSeen:  # noqa: ANN401 any field
        stream = self.job.identity.stream_id
        self.capturer.before(stream, self.job, self.state(**state), self.deletion())
        (seen,) = self.bench.said()
        assert isinstance(seen, EvidenceSeen)
        return seen

    def pod(
        self,
        name: str,
        *,
        code: int | None = None,
        role: str = "worker",
        began: Instant | None = None,
        owner: Manifest | None = None,
    ) -> None:
        ended: Manifest = {"terminated": {"exitCode": code, "reason": "Error", "message": SECRET}}
        since = rfc3339(began) if began else None
        status: Manifest = {
            "name": "ray",
            "restartCount": 0,
            "state": ended if code is not None else {"running": {"startedAt": since}},
        }
        self.bench.cluster.plant(
            PODS,
            {
                "metadata": {
                    "name": name,
                    "namespace": "ml",
                    "labels": {"ray.io/cluster": CLUSTER, "ray.io/node-type": role},
                    "ownerReferences": [owner or controller(self.cluster)],
                },
                "spec": {"nodeName": "gpu-7"},
            },
        )
        phase = "Failed" if code else "Running"
        shown: Manifest = {"phase": phase, "containerStatuses": [status]}
        self.bench.cluster.edit(PODS, "ml", name, status=shown)


@pytest.fixture
def scene() -> Iterator[Scene]:
    bench = Bench()
    job = bench.job({HEAD_ENV: [{"name": "TOKEN", "value": SECRET}]})
    witness, store = Witness(), MemoryEvidence()
    parts = CaptureParts(
        cluster=bench.cluster,
        witness=witness,
        ray=bench.ray,
        live=bench.live,
        store=store,
        inbox=bench.inbox,
        clock=bench.clock,
        limit=SOON,
    )
    cluster = a_child(bench, RAYCLUSTERS, CLUSTER, job.manifest)
    made = Scene(bench, job, witness, store, Capturer(parts), cluster)
    made.pod("head-1", role="head")
    made.pod("worker-1", code=137)
    witness.logs["worker-1"] = f"Traceback\nKeyError: {SECRET}\n"
    yield made
    witness.over.set()
    made.capturer.stop()
