"""Failure rules for the course of the job itself: silent heads, deadlines, what only failed."""

from jobledger.core.jobs.failures.rule import FailureRule, clue
from jobledger.core.jobs.history.signs import Source
from jobledger.core.jobs.retries.failures import FailureClass

TALK = (Source.RAY, Source.LOG, Source.SUBMITTER, Source.MESSAGE, Source.CONTAINER)
"""Where programs, and Ray, speak."""

OF_JOBS: tuple[FailureRule, ...] = (
    FailureRule(
        name="never-started",
        reads_log=True,
        group=FailureClass.SUBMISSION,
        because="the submitter ended and the Ray job never came to be",
        advice="the submitter's log says what it met",
        tests=(clue(r"Ray job not found", Source.MESSAGE),),
    ),
    FailureRule(
        name="head-silent",
        group=FailureClass.OTHER,
        because="the head did not answer for too long",
        advice="see whether the head was overloaded: its CPU, its memory, its dashboard; if no "
        "head answers, `jobledger doctor` (ray-heads) says what to open",
        tests=(clue(r"^JobStatusCheckTimeoutExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="never-ran",
        group=FailureClass.OTHER,
        because="it did not get to run before its deadline for that",
        advice="see what its Pods waited for; or let preRunningDeadlineSeconds be longer",
        tests=(clue(r"^PreRunningDeadlineExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="deadline",
        group=FailureClass.OTHER,
        because="it ran for longer than its deadline allows",
        advice="raise activeDeadlineSeconds (or jobledger.dev/job-deadline-seconds, which bounds "
        "all attempts together), or find out what took so long",
        tests=(clue(r"^DeadlineExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="submission",
        reads_log=True,
        general=True,
        group=FailureClass.SUBMISSION,
        because="its entrypoint could not be handed in",
        advice="the submitter's log says what it met",
        tests=(clue(r"^SubmissionFailed$", Source.REASON),),
    ),
    FailureRule(
        name="no-agreement",
        group=FailureClass.OTHER,
        because="the Ray job and its submitter did not end together in time",
        advice="see what became of the submitter's Pod, and whether the head answered to the end; "
        "if no head answers, `jobledger doctor` (ray-heads) says what to open",
        tests=(clue(r"TransitionGracePeriodExceeded$", Source.REASON),),
    ),
    FailureRule(
        name="killed",
        telling=r"exit (137|143)\b|Signal \d{1,2} \(|by SIG(KILL|TERM)\b",
        group=FailureClass.APPLICATION,
        because="a process was killed by a signal",
        advice="see who sent it: the kernel for memory (dmesg), or whoever stopped the Pod",
        tests=(
            clue(
                r"exit (137|143|-9|-15)\b|\bSIG(KILL|TERM)\b|killed by signal", Source.EXIT, *TALK
            ),
        ),
    ),
    FailureRule(
        name="restarts-used-up",
        general=True,
        group=FailureClass.APPLICATION,
        because="its JobSet used up its restarts",
        advice="see why the first Job failed; the restarts only repeated it",
        tests=(clue(r"ReachedMaxRestarts|reached max restarts", Source.REASON, Source.MESSAGE),),
    ),
    FailureRule(
        name="application",
        reads_log=True,
        group=FailureClass.APPLICATION,
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
