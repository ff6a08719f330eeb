"""Failure rules for the course of the job itself: lost objects, unreachable heads, deadlines."""

from jobledger.core.forensics.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source

TALK = (Source.RAY, Source.LOG, Source.SUBMITTER, Source.MESSAGE, Source.CONTAINER)
"""Where programs, and Ray, speak."""

OF_JOBS: tuple[FailureRule, ...] = (
    FailureRule(
        name="head-lost",
        because="the head Pod went while the job was running",
        advice="see what became of its node; do not let the head run on spot nodes",
        tests=(clue(r"^head$", Source.LOSS),),
    ),
    FailureRule(
        name="cluster-deleted",
        because="its RayCluster was deleted while the job was running on it",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(clue(r"^cluster$", Source.LOSS),),
    ),
    FailureRule(
        name="jobset-deleted",
        because="its JobSet was deleted while the job was running",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(clue(r"^jobset$", Source.LOSS), clue(r".", Source.REASON)),
    ),
    FailureRule(
        name="job-deleted",
        because="the Job of the attempt was deleted while it was running",
        advice="ask who deleted it: the API server's audit log names them",
        tests=(clue(r"^attempt's Job$", Source.LOSS), clue(r"^JobDeleted$", Source.REASON)),
    ),
    FailureRule(
        name="head-restarted",
        because="the head was restarted and lost its jobs",
        advice="see why: memory of the head, its node, or its liveness probe",
        tests=(
            clue(r"^ray job$", Source.LOSS),
            clue(r"no longer known|head was restarted", Source.MESSAGE),
        ),
    ),
    FailureRule(
        name="never-started",
        because="the submitter ended and the Ray job never came to be",
        advice="the submitter's log says what it met",
        tests=(clue(r"Ray job not found", Source.MESSAGE),),
    ),
    FailureRule(
        name="head-silent",
        because="the head did not answer for too long",
        advice="see whether the head was overloaded: its CPU, its memory, its dashboard",
        tests=(clue(r"^JobStatusCheckTimeoutExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="never-ran",
        because="it did not get to run before its deadline for that",
        advice="see what its Pods waited for; or let preRunningDeadlineSeconds be longer",
        tests=(clue(r"^PreRunningDeadlineExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="deadline",
        because="it ran for longer than its deadline allows",
        advice="raise activeDeadlineSeconds (or jobledger.dev/job-deadline-seconds, which bounds "
        "all attempts together), or find out what took so long",
        tests=(clue(r"^DeadlineExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="submission",
        general=True,
        because="its entrypoint could not be handed in",
        advice="the submitter's log says what it met",
        tests=(clue(r"^SubmissionFailed$", Source.REASON),),
    ),
    FailureRule(
        name="no-agreement",
        because="the Ray job and its submitter did not end together in time",
        advice="see what became of the submitter's Pod",
        tests=(clue(r"TransitionGracePeriodExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="killed",
        telling=r"exit (137|143)\b|Signal \d{1,2} \(",
        because="a process was killed by a signal",
        advice="see who sent it: the kernel for memory (dmesg), or whoever stopped the Pod",
        tests=(clue(r"exit (137|143)\b|\bSIG(KILL|TERM)\b|killed by signal", Source.EXIT, *TALK),),
    ),
    FailureRule(
        name="restarts-used-up",
        general=True,
        because="its JobSet used up its restarts",
        advice="see why the first Job failed; the restarts only repeated it",
        tests=(clue(r"ReachedMaxRestarts|reached max restarts", Source.REASON, Source.MESSAGE),),
    ),
    FailureRule(
        name="application",
        because="the program itself failed",
        advice="read the end of its log",
        general=True,
        tests=(
            clue(
                r"^(AppFailed|JobSetFailed|FailedJobs|BackoffLimitExceeded|PodFailurePolicy)$|"
                r"Traceback|\w(Error|Exception):|exit \d",
                Source.REASON,
                *TALK,
                Source.EXIT,
            ),
        ),
    ),
)
