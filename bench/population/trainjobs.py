"""The lives of TrainJobs: queued or not, restarts of the JobSet, the end by its JobSet."""

from bench.population.habits import JOBSET_MESSAGES, minutes_of
from bench.population.life import Life
from jobledger.core.trainjob.building.outcomes import ApplyOutcome, write_outcome
from jobledger.core.trainjob.observations import (
    JobCounts,
    JobSetEnd,
    JobSetSeen,
    ProgressSeen,
    RuntimeSeen,
    SeenTrainStatus,
    TrainJobGone,
    TrainJobSeen,
)
from jobledger.core.trainjob.policy import TrainPolicy
from jobledger.core.trainjob.progress import TrainerProgress
from jobledger.core.trainjob.spec import RuntimeRef, TrainJobSpec

RUNTIME_DIGEST = "5" * 64


class TrainJobLife(Life):
    """A TrainJob."""

    def play(self, stop: str = "") -> None:
        """Play all of it, or up to where it stands when the data end."""
        queued = stop == "queued" or self.dice.random() < 0.5
        self._generation, self._restarts = 1, 0
        self.wait(0.05 + self.dice.expovariate(2))
        self._manifest(suspend=queued)
        self.see(RuntimeSeen, digest=RUNTIME_DIGEST)
        self._applied(suspend=queued)
        if queued:
            self.shown("Suspended=True")
            if stop == "queued":
                return
            self.wait(60 * minutes_of(self.dice, 14))
            self._generation = 2
            self._manifest(suspend=False)
            self._applied(suspend=False)
        self.shown("Created=True")
        usual = 60 * minutes_of(self.dice, self.work.minutes)
        self._run(usual, stop)

    def _run(self, usual: float, stop: str) -> None:
        failing = self.dice.random() < self.work.failing
        self.wait(2)
        self._jobset(JobCounts(name="node", active=1))
        if stop == "starting":
            return
        self.wait(10 + self.dice.lognormvariate(0, 0.7) * 60)
        self._jobset(JobCounts(name="node", active=1, ready=1))
        if stop == "running":
            return
        if usual > 900:
            self.wait(600)
            self.confirmed("JobSet", 600)
            self.seen_aside(ProgressSeen, progress=TrainerProgress(percentage=1))
        if failing and self.dice.random() < 0.6:
            self.wait(usual * 0.4)
            self._restarts = 1
            self._jobset(JobCounts(name="node"))
            self.wait(30)
            self._jobset(JobCounts(name="node", active=1, ready=1))
            failing = self.dice.random() < 0.4
        self.wait(usual)
        self._conclude(failing=failing)
        self.shown("Complete" if not failing else "Failed")
        self.wait(3600 * self.dice.expovariate(1 / 30))
        self.see(TrainJobGone)

    def _conclude(self, *, failing: bool) -> None:
        end = JobSetEnd(
            completed=not failing,
            reason="FailedJobs" if failing else "AllJobsCompleted",
            message=JOBSET_MESSAGES[self._restarts] if failing else "jobset completed successfully",
            ended_at=self.at.replace(microsecond=0),
        )
        counts = (
            JobCounts(name="node", failed=1) if failing else JobCounts(name="node", succeeded=1)
        )
        self._jobset(counts, end)
        if failing:
            self.evidence(self._restarts + 1)

    def _manifest(self, *, suspend: bool) -> None:
        self.see(
            TrainJobSeen,
            identity=self.identity,
            generation=self._generation,
            digest=f"{self._generation:064d}",
            spec=TrainJobSpec(runtime=RuntimeRef(name=self.work.runtime), suspend=suspend),
            policy=TrainPolicy(),
            deleting_at=None,
            status=SeenTrainStatus(),
            document=self.document(suspend=suspend),
        )

    def _applied(self, *, suspend: bool) -> None:
        name = self.identity.name
        outcome = ApplyOutcome(
            runtime=RUNTIME_DIGEST,
            jobset_uid=f"uid-{name}-js",
            jobset_generation=self._generation,
            jobset_suspend=suspend,
            names=(f"JobSet/{name}",),
            snapshot=self._generation == 1,
        )
        self.acted(uid=f"uid-{name}-js", details=write_outcome(outcome))

    def _jobset(self, counts: JobCounts, end: JobSetEnd | None = None) -> None:
        self.see(
            JobSetSeen,
            name=self.identity.name,
            uid=f"uid-{self.identity.name}-js",
            owned=True,
            generation=self._generation,
            suspend=False,
            restarts=self._restarts,
            deleting=False,
            jobs=(counts,),
            end=end,
        )
