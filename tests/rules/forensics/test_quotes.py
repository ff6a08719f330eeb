"""What an account quotes: the line that decided the class, and how the log ends."""

import pytest

from jobledger.core.forensics.story.account import Account
from jobledger.core.forensics.story.explain import explain
from jobledger.core.jobs.evidence.evidence import ContainerEnd, PodEvidence
from tests.rules.forensics.corpus.cases import Capture, Case, program, taken

STEPS = "".join(
    f"step {number}: loss 0.{number}, a line of the training loop\n" for number in range(150)
)
FRAMES = "Traceback (most recent call last):\n" + "".join(
    f'  File "/app/layer_{number}.py", line {number}, in forward\n    x = self.inner(x)\n'
    for number in range(60)
)

QUOTED: tuple[tuple[Case, str], ...] = (
    (
        program("a long traceback", "application", FRAMES + "KeyError: 'encoder.layer.3'\n"),
        "because the program itself failed: KeyError: 'encoder.layer.3'.",
    ),
    (
        program(
            "a message of Ray with a whole log in it",
            "missing-module",
            "",
            message="Job entrypoint command failed with exit code 1, last available logs "
            f"(truncated to 20,000 chars):\n{FRAMES}ModuleNotFoundError: No module named 'apex'",
        ),
        "imports a module that is not there: ModuleNotFoundError: No module named 'apex'.",
    ),
    (
        program(
            "a message of Ray whose log names no error, beside a coloured line of the submitter",
            "application",
            "14:34:47,863\tERR cli.py:75 -- \x1b[31mJob 'ray-13-x' failed\x1b[39m\n",
            message="Job entrypoint command failed with exit code 1, last available logs "
            "(truncated to 20,000 chars):\nstep 7\n",
        ),
        "because the program itself failed: Job entrypoint command failed with exit code 1.",
    ),
    (
        program(
            "a line that is much too long, with the reason at its end",
            "gpu-out-of-memory",
            "rank 0: " + "x" * 900 + " CUDA out of memory. Tried to allocate 2.00 GiB\n",
        ),
        "CUDA out of memory. Tried to allocate 2.00 GiB.",
    ),
    (
        program(
            "more at the end than the line that decided",
            "diverged",
            STEPS + "loss is nan at step 150\nstopped by the guard of the trainer\n",
        ),
        "The log of the driver ends: stopped by the guard of the trainer.",
    ),
    (
        taken(
            "the container, its Pod and its node",
            "out-of-memory",
            Capture(
                pods=(
                    PodEvidence(
                        name="train-worker-7",
                        uid="u",
                        role="worker",
                        phase="Failed",
                        node="gpu-12",
                        containers=(
                            ContainerEnd(name="ray", state="terminated", reason="OOMKilled"),
                        ),
                    ),
                )
            ),
        ),
        "(container ray of Pod train-worker-7 on node gpu-12).",
    ),
)


@pytest.mark.parametrize(("case", "quote"), QUOTED, ids=[case.name for case, _ in QUOTED])
def test_the_sentence_that_answers_the_question_is_quoted(case: Case, quote: str) -> None:
    account = explain(case.dossier())
    told = [sentence.text for sentence in account.sentences]
    assert account.failure_class == case.expected, told
    assert any(text.endswith(quote) for text in told), told
    assert all(len(text) < 500 for text in told), told


def log_of(case: Case) -> tuple[str, ...]:
    return tuple(case.capture.contents)


def test_the_log_that_was_quoted_is_named_so_that_the_whole_can_be_read() -> None:
    case, _ = QUOTED[0]
    account = explain(case.dossier())
    assert account.logs == log_of(case)
    cited = {digest for sentence in account.sentences for digest in sentence.evidence}
    assert cited == set(account.logs)


def test_where_no_log_was_kept_none_is_named() -> None:
    account: Account = explain(QUOTED[1][0].dossier())
    assert account.logs == ()
