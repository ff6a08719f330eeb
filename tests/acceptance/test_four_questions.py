"""A ledger in which a job of every class of failure lies, and whose clusters are all gone.

What happened, what did the controller know, why did it decide so, what would another policy have
done: for each, from the command line alone.
"""

import json
from collections.abc import Iterator
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from typer.main import get_command

from jobledger.adapters.cli.files import dossiers
from jobledger.adapters.cli.main import app
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.postgres.log.evidence import PostgresEvidence
from jobledger.adapters.settings import Settings
from jobledger.core.jobs.failures.rules import RULES
from tests.rules.forensics.corpus.cases import Case
from tests.rules.forensics.corpus.jobs import JOBS
from tests.rules.forensics.corpus.pods import PODS
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.support.batch_lives import BATCH_LIVES, recorded_job
from tests.support.ledgers import postgres_ledger
from tests.support.processes import Terminal
from tests.support.recorded import append_lives, append_records
from tests.support.records import NOON
from tests.support.train_lives import LOG, recorded_training

pytestmark = pytest.mark.postgres

ONE_OF_EACH: dict[str, Case] = {case.expected: case for case in reversed((*PROGRAMS, *PODS, *JOBS))}
"""Class -> the first case of it; the job is named by its class."""

TRAININGS = {
    "training-failed": "missing-file",
    "training-lost-its-jobset": "jobset-deleted",
    "training-of-an-unknown-runtime": "runtime-missing",
    "training-out-of-restarts": "restarts-used-up",
    "training-past-its-deadline": "deadline",
}
"""TrainJob -> its class."""

A_JOB = "etl"
"""A batch Job in a namespace of its own: the Job of its attempt was deleted."""

COMMAND = get_command(app)
FAILURES = {"JobFailed", "TrainJobFailed", "BatchJobFailed", "ManifestRejected"}
FAILED = {"Failed", "ValidationFailed"}

NEVER_RETRIED = {"deadline", "head-silent", "invalid-manifest"}
"""Classes of RayJobs that no backoffLimit gives a second attempt."""

CLASSES = {name: name for name in ONE_OF_EACH} | TRAININGS | {A_JOB: "job-deleted"}
"""Job -> its class."""


@pytest.fixture
def morgue(terminal: Terminal, engine: Engine, ledger_url: str) -> Terminal:
    """A terminal at that ledger."""
    ledger, evidence = postgres_ledger(engine), PostgresEvidence(engine)
    ledger.take_all_shards()
    append_lives(ledger, ((name, case.story) for name, case in ONE_OF_EACH.items()))
    for name in TRAININGS:
        append_records(ledger, recorded_training(name))
    append_records(ledger, recorded_job(BATCH_LIVES["lost"]))
    contents = [text for case in ONE_OF_EACH.values() for text in case.capture.contents.values()]
    for content in (*contents, LOG.encode()):
        evidence.put(content, NOON)
    return terminal.with_environment(DATABASE_URL=ledger_url)


@pytest.fixture
def opened_once(ledger_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the commands of this process share one opened ledger: to open it costs most of each."""
    with ledger(Settings(database_url=SecretStr(ledger_url))) as opened:
        monkeypatch.setattr(dossiers, "ledger", lambda _: nullcontext(opened))
        yield


def test_there_is_a_job_of_every_class() -> None:
    assert set(CLASSES.values()) == {rule.name for rule in RULES}


@pytest.mark.usefixtures("opened_once")
def test_the_four_questions_are_answered_for_every_class_of_failure(morgue: Terminal) -> None:
    for name, failure_class in CLASSES.items():
        failed_at, last = what_happened(name)
        why(name, failure_class, last)
        what_was_known(name, failed_at)
    what_another_policy_would_have_done(morgue)
    count = len(CLASSES)
    assert f"{count} of {count} jobs are decided as they were" in morgue.jobledger("replay").out
    for some in ("out-of-memory", "training-failed"):
        assert "evidence is kept" in morgue.jobledger("history", some).out
        assert "failure class" in morgue.jobledger("explain", some).out
    assert "retry refused" in morgue.jobledger("history", "out-of-memory").out
    morgue.jobledger("verify")


def place(name: str) -> str:
    return f"data/{name}" if name == A_JOB else f"ml/{name}"


def answer(*arguments: str) -> Any:  # noqa: ANN401 any JSON
    """Return what a command answers; without a process of its own, for there are many."""
    with redirect_stdout(StringIO()) as out:
        COMMAND.main([*arguments, "-o", "json"], standalone_mode=False)
    return json.loads(out.getvalue())


def what_happened(name: str) -> tuple[int, int]:
    """Ask for the timeline; return the version of the failure, and the last one."""
    told = answer("history", place(name), "--all")
    assert [line["version"] for line in told] == list(range(1, len(told) + 1))
    assert all(line["words"] for line in told)
    (failed_at,) = [line["version"] for line in told if line["event"] in FAILURES]
    return failed_at, len(told)


def why(name: str, failure_class: str, last: int) -> None:
    account = answer("explain", place(name))
    assert account["failure_class"] == failure_class
    assert account["advice"]
    for sentence in account["sentences"]:
        assert sentence["versions"], sentence
        assert max(sentence["versions"]) <= last


def what_was_known(name: str, failed_at: int) -> None:
    """Ask for the state that the failure was decided in: the one before it was written down."""
    before = answer("history", place(name), "--at", str(failed_at - 1))["known"]
    assert before["version"] == failed_at - 1
    assert before["job"]["phase"] not in FAILED


def what_another_policy_would_have_done(morgue: Terminal) -> None:
    """Two retries more: an attempt that never ran is unknown; some are never retried."""
    asked = morgue.jobledger("what-if", "--backoff-limit", "2", "-o", "json").out
    told = json.loads(asked)
    assert told["totals"]["jobs"] == len(CLASSES)
    assert told["assumptions"]
    others = {row["job"].removeprefix("ml/"): row for row in told["jobs"]}
    assert set(others) == (set(ONE_OF_EACH) - NEVER_RETRIED) | {place(A_JOB)}
    for row in others.values():
        assert (row["attempts_were"], row["attempts"], row["would_be"]) == (1, 2, "unknown")
        assert row["unknown"] == "attempt 2 never ran"
        assert "would have been retried" in row["why"]
