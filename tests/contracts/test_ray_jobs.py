"""Every head that tests speak to keeps the contract, and so does a real one of Ray.

Those in memory, the simulation's, and over HTTP a small one and the sandbox's.
"""

import os
import shlex
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.core.errors import RayJobNotFound
from jobledger.core.ports.ray_jobs import RayJobs
from jobledger.core.values.instants import EPOCH
from tests.contracts.ray_jobs import RayHead, RayJobsContract, submitted
from tests.simulation.heads import SimulatedHeads
from tests.support.memory.clock import SimulatedClock
from tests.support.memory.ray_jobs import MemoryRayJobs
from tests.support.ray_head import FakeRayHead
from tests.support.sandbox_head import sandbox_head

REAL_HEAD = os.environ.get("RAY_REAL", "")


@dataclass(frozen=True)
class HeadInMemory:
    """A head whose inside we hold."""

    jobs: RayJobs
    address: str
    nowhere: str
    inside: MemoryRayJobs

    def entrypoint(self, submission_id: str) -> str:
        return f"run {submission_id}"

    def end(self, submission_id: str, exit_code: int, output: str = "") -> None:
        self.inside.write_log(self.address, submission_id, output)
        self.inside.end(self.address, submission_id, exit_code)


@dataclass(frozen=True)
class RealHead:
    """A head whose jobs are processes of this machine; they wait for a file."""

    jobs: RayJobs
    address: str
    nowhere: str
    directory: Path

    def entrypoint(self, submission_id: str) -> str:
        signal = shlex.quote(str(self.directory / submission_id))
        return f"until [ -e {signal} ]; do sleep 0.1; done; . {signal}"

    def end(self, submission_id: str, exit_code: int, output: str = "") -> None:
        script = self.directory / f"{submission_id}.new"
        script.write_text(f"printf %s {shlex.quote(output)}\nexit {exit_code}\n")
        script.rename(self.directory / submission_id)


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address that refuses connections, held so that nobody else gets it."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{held.getsockname()[1]}"


HEADS = ["memory", "simulated", "http", "sandbox", pytest.param("ray", marks=pytest.mark.ray)]


@pytest.fixture(params=HEADS)
def ray_head(request: pytest.FixtureRequest, nowhere: str, tmp_path: Path) -> Iterator[RayHead]:
    if request.param == "memory":
        inside = MemoryRayJobs(SimulatedClock(EPOCH).now)
        inside.start_head("head:8265")
        yield HeadInMemory(inside, "head:8265", nowhere, inside)
        return
    if request.param == "simulated":
        heads = SimulatedHeads(SimulatedClock(EPOCH).now)
        heads.start("head:8265")
        yield HeadInMemory(heads, "head:8265", nowhere, heads.inside)
        return
    if request.param == "ray" and not REAL_HEAD:
        pytest.skip("set RAY_REAL to host:port of a Ray head on this machine (ray start --head)")
    api = RayJobApi(call_seconds=60.0, proxies={})
    try:
        if request.param == "ray":
            yield RealHead(api, REAL_HEAD, nowhere, tmp_path)
        elif request.param == "sandbox":
            with sandbox_head(tmp_path) as running:
                yield RealHead(api, running.host, nowhere, tmp_path)
        else:
            with FakeRayHead() as fake:
                yield HeadInMemory(api, fake.address, nowhere, fake.inside)
    finally:
        api.close()


class TestRayJobs(RayJobsContract):
    """An implementation does what the port says."""


@pytest.mark.parametrize("over_http", [False, True], ids=["memory", "http"])
def test_a_head_that_was_started_again_has_forgotten_its_jobs(
    over_http: bool, nowhere: str
) -> None:
    with FakeRayHead() as fake:
        api = RayJobApi(proxies={})
        jobs: RayJobs = api if over_http else fake.inside
        head = HeadInMemory(jobs, fake.address, nowhere, fake.inside)
        name = submitted(head)
        fake.restart()
        with pytest.raises(RayJobNotFound):
            jobs.info(fake.address, name)
        api.close()
