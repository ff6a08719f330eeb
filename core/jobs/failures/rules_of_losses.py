"""Failure rules for what an attempt runs on: heads, RayClusters, JobSets and Jobs that went.

They come before what programs write: a program whose head goes says that something could not be
reached. What went once the attempt had failed is no sign (`core.jobs.failures.diagnosis`).
"""

from jobledger.core.jobs.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass

OF_LOSSES: tuple[FailureRule, ...] = (
    FailureRule(
        name="head-out-of-memory",
        telling=r"OOMKilled",
        group=FailureClass.HEAD_LOST,
        because="the head used more memory than its limit, was killed and lost its jobs",
        advice="raise the memory limit of the head; let the entrypoint run on a worker",
        tests=(
            clue(r"^head$|head of RayCluster .{0,200} was restarted", Source.LOSS, Source.MESSAGE),
            clue(r"OOMKilled", Source.POD, Source.CONTAINER, Source.MESSAGE),
        ),
    ),
    FailureRule(
        name="cluster-deleted",
        group=FailureClass.HEAD_LOST,
        because="its RayCluster was deleted while the job was running on it",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(clue(r"^cluster$", Source.LOSS),),
    ),
    FailureRule(
        name="head-lost",
        group=FailureClass.HEAD_LOST,
        because="the head Pod went while the job was running",
        advice="see what became of its node; do not let the head run on spot nodes",
        tests=(clue(r"^head$", Source.LOSS),),
    ),
    FailureRule(
        name="jobset-deleted",
        group=FailureClass.HEAD_LOST,
        because="its JobSet was deleted while the job was running",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(
            clue(r"^jobset$|^JobSetDeleted$", Source.LOSS, Source.REASON),
            clue(r".", Source.REASON),
        ),
    ),
    FailureRule(
        name="job-deleted",
        group=FailureClass.HEAD_LOST,
        because="the Job of the attempt was deleted while it was running",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(clue(r"^attempt's Job$", Source.LOSS), clue(r"^JobDeleted$", Source.REASON)),
    ),
    FailureRule(
        name="head-restarted",
        group=FailureClass.HEAD_LOST,
        because="the head was restarted and lost its jobs",
        advice="see why: memory of the head, its node, or its liveness probe",
        tests=(
            clue(
                r"no longer known to the head|head (of RayCluster .{0,200} )?was restarted",
                Source.MESSAGE,
            ),
        ),
    ),
)
