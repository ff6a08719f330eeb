"""The lives of RayJobs: queued or not, attempts that end well or badly, retries, the end."""

from bench.population.habits import Mishap, minutes_of, pick_mishap
from bench.population.life import Life
from jobledger.core.jobs.observations import WatchInterrupted
from jobledger.core.jobs.policy import Policy
from jobledger.core.rayjob.observations.observations import (
    ClusterGone,
    ClusterSeen,
    HeadPodGone,
    HeadPodSeen,
    ManifestGone,
    ManifestSeen,
    PollAnswered,
    SeenStatus,
    SubmitterGone,
    SubmitterSeen,
)
from jobledger.core.rayjob.phases import FINAL, JobStatus
from jobledger.core.rayjob.spec.spec import RayJobSpec, SubmissionMode
from jobledger.core.rayjob.state import RayJobState

STOPS = ("queued", "starting", "running")
"""Where a job may stand that is not over yet."""


class RayJobLife(Life):
    """A RayJob."""

    _mishap: Mishap | None = None
    """How the attempt before failed, if it did."""

    def play(self, stop: str = "") -> None:
        """Play all of it, or up to where it stands when the data end."""
        queued = stop == "queued" or self.dice.random() < 0.35
        self.wait(0.05 + self.dice.expovariate(2))
        self._manifest(1, suspend=queued)
        if queued:
            self.acted()
            self.shown("Suspended")
            if stop == "queued":
                return
            self.wait(60 * minutes_of(self.dice, 6))
            self._manifest(2, suspend=False)
        usual = 60 * minutes_of(self.dice, self.work.minutes)
        while self._attempt(usual, stop):
            self._cleared()
        if stop:
            return
        self.due("ttl_shutdown")
        self._cleared()
        self.wait(3600 * self.dice.expovariate(1 / 20))
        self.see(ManifestGone)

    @property
    def _job(self) -> RayJobState:
        assert isinstance(self.state, RayJobState), "a RayJob"
        return self.state

    @property
    def _names(self) -> tuple[str, str]:
        """Return the names of the RayCluster and of the submission."""
        attempt = self._job.attempt
        return (attempt.cluster_name, attempt.job_id) if attempt is not None else ("", "")

    def _manifest(self, generation: int, *, suspend: bool) -> None:
        self.see(
            ManifestSeen,
            identity=self.identity,
            generation=generation,
            digest=f"{generation:064d}",
            spec=RayJobSpec(
                submission_mode=SubmissionMode(self.work.runtime),
                backoff_limit=2,
                active_deadline_seconds=43_200,
                pre_running_deadline_seconds=1_800,
                shutdown_after_job_finishes=True,
                ttl_seconds_after_finished=300,
                suspend=suspend,
            ),
            problem=None,
            policy=Policy(retry_delay_seconds=20),
            finalizer=False,
            deleting_at=None,
            status=SeenStatus(phase=""),
            document=self.document(suspend=suspend),
        )

    def _attempt(self, usual: float, stop: str) -> bool:
        """Play an attempt; return whether another one follows."""
        mishap = self._mishap = self._what_happens()
        cluster, _ = self._names
        self.acted(uid=f"uid-{cluster}")
        self.shown("Initializing")
        self.wait(1)
        self._cluster_seen("")
        if stop == "starting":
            return False
        if mishap is not None and mishap.name == "image-pull":
            self.due("pre_running_deadline", looked=True)
            return self._judged()
        self.wait(15 + self.dice.lognormvariate(0, 0.7) * 45)
        self._cluster_seen("ready")
        self.wait(0.2)
        self.acted(uid=f"uid-{cluster}-s")
        self.wait(2 + 3 * self.dice.random())
        self.see(PollAnswered, job_id=self._names[1], status=JobStatus.RUNNING)
        self.shown("Running")
        if stop == "running":
            return False
        self._run(usual, mishap)
        return self._judged()

    def _what_happens(self) -> Mishap | None:
        """Return how the attempt is to fail; a program that failed often does so again."""
        last = self._mishap
        if last is not None and last.name == "application" and self.dice.random() < 0.5:
            return last
        return pick_mishap(self.dice) if self.dice.random() < self.work.failing else None

    def _run(self, usual: float, mishap: Mishap | None) -> None:
        cluster, _ = self._names
        length = usual * (1 if mishap is None else mishap.part) + 5
        if mishap is not None and mishap.name == "deadline":
            self.due("active_deadline", looked=True)
            return
        if length > 600:
            self.wait(300)
            self.confirmed("poll", 300)
        if self.dice.random() < 0.015:
            since = self.at
            self.wait(5 + self.dice.expovariate(1 / 40))
            self.see(
                WatchInterrupted, source="RayCluster", since=since, until=self.at, reason="410 Gone"
            )
        self.wait(length)
        if mishap is None:
            self._over("Complete", JobStatus.SUCCEEDED, "", None)
        elif mishap.name == "head-lost":
            pod = {"name": f"{cluster}-head", "uid": f"uid-{cluster}-head"}
            self.see(
                HeadPodSeen, cluster=cluster, cluster_uid=f"uid-{cluster}", deleting=False, **pod
            )
            self.wait(1)
            self.see(HeadPodGone, **pod)
        elif mishap.name == "cluster-lost":
            self.see(ClusterGone, name=cluster, uid=f"uid-{cluster}")
        else:
            self._over("Failed", JobStatus.FAILED, mishap.message, mishap.exit_code)

    def _over(self, submitter: str, status: JobStatus, message: str, code: int | None) -> None:
        cluster, job_id = self._names
        if self.work.runtime == "K8sJobMode":
            self.see(
                SubmitterSeen,
                name=self.identity.name,
                uid=f"uid-{cluster}-s",
                owned=True,
                finished=submitter,
                finished_at=self.at,
                reason="BackoffLimitExceeded" if submitter == "Failed" else "",
                message="",
                deleting=False,
            )
            self.wait(0.4)
        self.see(PollAnswered, job_id=job_id, status=status, message=message, exit_code=code)

    def _judged(self) -> bool:
        """Let what became of the attempt be shown; return whether another one follows."""
        attempt = self._job.attempt
        if self._mishap is not None and attempt is not None:
            self.evidence(attempt.number)
        self.shown(self._job.phase.value)
        return self._job.phase not in FINAL

    def _cleared(self) -> None:
        """Let the RayCluster and the submitter go, and a granted retry begin."""
        cluster, _ = self._names
        self.acted(uid=f"uid-{cluster}")
        self.wait(4 + 10 * self.dice.random())
        self.see(ClusterGone, name=cluster, uid=f"uid-{cluster}")
        if self.work.runtime == "K8sJobMode":
            self.see(SubmitterGone, name=self.identity.name, uid=f"uid-{cluster}-s")
        self.due("retry")
        if self._job.phase.value == "Retrying":
            self.acted(uid=f"uid-{cluster}")
            self.see(ClusterGone, name=cluster, uid=f"uid-{cluster}")

    def _cluster_seen(self, state: str) -> None:
        cluster, _ = self._names
        self.see(
            ClusterSeen,
            name=cluster,
            uid=f"uid-{cluster}",
            owned=True,
            state=state,
            address=f"{cluster}-head-svc.{self.work.namespace}.svc.cluster.local:8265",
            deleting=False,
            status={"state": state} if state else {},
        )
