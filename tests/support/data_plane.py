"""KubeRay, the Job controller and the kubelet as far as a RayJob notices, one thing at a time."""

import base64
from dataclasses import dataclass, field

from jobledger.core.errors import RayApiError
from jobledger.core.ports.cluster import BATCH_JOBS, RAYCLUSTERS, SECRETS
from jobledger.core.ports.ray_jobs import Submission
from jobledger.core.rayjob.observations.children import dashboard_address
from jobledger.core.values.documents import Manifest, items, text
from jobledger.core.values.instants import rfc3339
from tests.support.memory.ray_jobs import TERMINAL, MemoryRayJobs
from tests.support.records import NOON
from tests.support.references import missing_references
from tests.support.stepped_cluster import SteppedCluster


@dataclass
class DataPlane:
    """Makes RayClusters ready, runs entrypoints, ends them with the exit codes of the script."""

    cluster: SteppedCluster
    ray: MemoryRayJobs
    exit_codes: list[int]
    heads: dict[str, str] = field(default_factory=dict)
    """RayCluster UID -> address."""
    runs: list[tuple[str, str]] = field(default_factory=list)
    """Every run of an entrypoint: address and submission id."""
    holds: bool = False
    """Whether entrypoints go on for ever."""

    def step(self) -> bool:
        """Do one thing; return whether there was one."""
        return (
            self._start_head()
            or self._stop_head()
            or self._run_submitter()
            or self._end_entrypoint()
            or self._end_submitter()
        )

    def _start_head(self) -> bool:
        for made in self.cluster.peek(RAYCLUSTERS):
            uid = text(made, "metadata", "uid")
            if uid in self.heads or text(made, "metadata", "deletionTimestamp"):
                continue
            self.heads[uid] = address = dashboard_address(made)
            self._make_token(made)
            self.ray.start_head(address)
            self._set_status(RAYCLUSTERS.plural, made, {"state": "ready"})
            return True
        return False

    def _make_token(self, made: Manifest) -> None:
        """Make the Secret with the token of a RayCluster that asks for one, as KubeRay does."""
        namespace, name = text(made, "metadata", "namespace"), text(made, "metadata", "name")
        if text(made, "spec", "authOptions", "mode") != "token":
            return
        secret: Manifest = {
            "metadata": {"namespace": namespace, "name": name},
            "data": {"auth_token": base64.b64encode(b"a token of KubeRay").decode()},
        }
        self.cluster.create(SECRETS, secret)

    def _stop_head(self) -> bool:
        there = {text(made, "metadata", "uid") for made in self.cluster.peek(RAYCLUSTERS)}
        for uid, address in self.heads.items():
            if uid not in there:
                self.ray.stop_head(address)
                del self.heads[uid]
                return True
        return False

    def _run_submitter(self) -> bool:
        for job in self.cluster.peek(BATCH_JOBS):
            address, job_id = _target(job)
            if text(job, "metadata", "deletionTimestamp") or address not in self.heads.values():
                continue
            if (address, job_id) in self.runs or missing_references(self.cluster, job):
                continue  # its container has been started, or is not
            submission = Submission(
                entrypoint="python train.py",
                submission_id=job_id,
                metadata={},
                runtime_env={},
                resources={},
            )
            self.ray.submit(address, submission)
            self.runs.append((address, job_id))
            return True
        return False

    def _end_entrypoint(self) -> bool:
        if self.holds:
            return False
        for address in self.heads.values():
            head = self.ray._heads[address]  # noqa: SLF001 the inside of a head
            for job_id, job in head.jobs.items():
                if job.info.status in TERMINAL:
                    continue
                if (address, job_id) not in self.runs:
                    self.runs.append((address, job_id))
                number = self.runs.index((address, job_id))
                script = self.exit_codes
                self.ray.end(address, job_id, script[number] if number < len(script) else 0)
                return True
        return False

    def _end_submitter(self) -> bool:
        for job in self.cluster.peek(BATCH_JOBS):
            if items(job, "status", "conditions"):
                continue
            try:
                info = self.ray.info(*_target(job))
            except RayApiError:
                continue
            if info.status in TERMINAL:
                ended = "Complete" if info.status == "SUCCEEDED" else "Failed"
                condition = {
                    "type": ended,
                    "status": "True",
                    "lastTransitionTime": rfc3339(NOON),
                    "reason": "BackoffLimitExceeded" if ended == "Failed" else "",
                }
                self._set_status(BATCH_JOBS.plural, job, {"conditions": [condition]})
                return True
        return False

    def _set_status(self, plural: str, made: Manifest, status: Manifest) -> None:
        resource = RAYCLUSTERS if plural == RAYCLUSTERS.plural else BATCH_JOBS
        namespace, name = text(made, "metadata", "namespace"), text(made, "metadata", "name")
        self.cluster.merge_patch(
            resource, namespace, name, {"status": status}, subresource="status"
        )


def _target(job: Manifest) -> tuple[str, str]:
    """Return address and submission id, as the submitter's environment names them."""
    containers = items(job, "spec", "template", "spec", "containers")
    env = {text(item, "name"): text(item, "value") for item in items(containers[0], "env")}
    address = env.get("RAY_DASHBOARD_ADDRESS", "").removeprefix("http://")
    return address, env.get("RAY_JOB_SUBMISSION_ID", "")
