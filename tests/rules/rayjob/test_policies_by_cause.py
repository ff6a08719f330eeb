"""A retry policy by cause: told by what is known when the retry is judged."""

from jobledger.core.jobs.failures.naming import read_subject
from jobledger.core.jobs.retries.options import Answer, RetryOptions, RetryRule
from jobledger.core.rayjob.decide.decide import RAYJOB
from tests.support.rayjob_builders import HTTP, pod, pods, poll, silence, submitter
from tests.support.rayjob_heads import head_pod
from tests.support.rayjob_stories import Story, initializing, readied, working
from tests.support.rows import Outlook, check_outlook, table


def asking(*rules: tuple[str, Answer]) -> RetryOptions:
    """Return a policy."""
    read = [(read_subject(what), answer) for what, answer in rules]
    return RetryOptions(
        rules=tuple(
            RetryRule(failure=one.group, cause=one.cause, exit_code=one.exit_code, answer=answer)
            for one, answer in read
        )
    )


def ended(said: str, *rules: tuple[str, Answer]) -> Story:
    """Return a job in HTTPMode whose entrypoint has failed with a message."""
    running = working(submission_mode=HTTP, options=asking(*rules), backoff_limit=3)
    return (*running, poll("FAILED", 40, started_at=25, ended_at=39, message=said, exit_code=1))


MISSING = "last available logs: ModuleNotFoundError: No module named 'torch'"
NO_MODULE = ("missing-module", Answer.NEVER)
OVER_LIMIT = pod("worker", "Failed", reason="OOMKilled", exit_code=137)


@table(
    Outlook(
        rule="what Ray says of the log tells the cause",
        story=(*ended(MISSING, NO_MODULE), pods(41, pod())),
        status={"jobDeploymentStatus": "Failed", "failed": 1},
    ),
    Outlook(
        rule="a cause that the policy does not name is treated as without a policy",
        story=(*ended("ValueError: no", NO_MODULE), pods(41, pod())),
        status={"jobDeploymentStatus": "Retrying", "failed": 1},
    ),
    Outlook(
        rule="the Pods tell the cause",
        story=(
            *ended("boom", ("out-of-memory", Answer.NEVER), ("application", Answer.UNCOUNTED)),
            pods(41, OVER_LIMIT),
        ),
        status={"jobDeploymentStatus": "Failed", "failed": 1},
    ),
    Outlook(
        rule="a submitter that fails under a head that is being deleted is a lost head",
        story=(
            *initializing(options=asking(("head-lost", Answer.NEVER)), backoff_limit=3),
            head_pod(),
            *readied(1),
            poll("RUNNING", 30, started_at=25),
            head_pod(50, deleting=True),
            submitter("Failed", 55, reason="BackoffLimitExceeded"),
            silence(56),
            pods(57, pod()),
        ),
        status={"jobDeploymentStatus": "Failed", "reason": "SubmissionFailed"},
    ),
)
def test_policies_by_cause(row: Outlook) -> None:
    check_outlook(RAYJOB, row)
