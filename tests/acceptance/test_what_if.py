"""Another policy over a ledger: a table of what would be different, and nothing is changed."""

import json
from collections.abc import Callable, Mapping

import pytest

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.core.jobs.retries.options import RetryOptions
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.processes import Terminal
from tests.support.rayjob_builders import poll, submitter
from tests.support.recorded import append_lives
from tests.support.rows import Step

pytestmark = pytest.mark.postgres


LABELLED = RetryOptions(label_attempts=True)
TWICE = {"backoff_limit": 1}


def second_time_lucky() -> tuple[Step, ...]:
    return (
        *stories.failed_attempts(1, backoff_limit=1),
        *stories.built(2),
        *stories.readied(2),
        poll("SUCCEEDED", 140, attempt=2, started_at=125, ended_at=139),
        submitter("Complete", 142, attempt=2),
    )


def fill(ledger_url: str, lives: Mapping[str, Callable[[], tuple[Step, ...]]]) -> None:
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, lives.items())


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with three jobs."""
    lives = {
        "lucky": second_time_lucky,
        "given-up": lambda: (*stories.working(), *stories.failing()),
        "done": stories.succeeded,
    }
    fill(ledger_url, lives)
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_all_jobs_under_another_limit(filled: Terminal) -> None:
    before = filled.jobledger("get", "--output", "json").out
    told = json.loads(filled.jobledger("what-if", "--backoff-limit", "0", "--output", "json").out)
    (different,) = told["jobs"]
    assert different["job"] == "ml/lucky"
    assert (different["kind"], different["uid"]) == ("RayJob", "uid-of-lucky")
    assert (different["was"], different["would_be"]) == ("Complete", "Failed (AppFailed)")
    assert told["totals"]["attempts_saved"] == 1
    assert told["totals"]["jobs"] == 3
    assert told["assumptions"]
    assert filled.jobledger("get", "--output", "json").out == before
    filled.jobledger("verify")


def test_what_never_ran_is_said_to_be_unknown(filled: Terminal) -> None:
    told = filled.jobledger("what-if", "given-up", "--backoff-limit", "2").out
    assert "attempt 2 never ran" in told
    assert "1 has an unknown outcome" in told
    estimated = filled.jobledger("what-if", "--backoff-limit", "2", "--estimate").out
    assert "no estimate: only 1 attempt after a failure was observed" in estimated


def test_a_retry_on_the_same_raycluster_says_what_it_would_have_saved(filled: Terminal) -> None:
    asked = ("what-if", "--retry-on", "same-cluster")
    told = json.loads(filled.jobledger(*asked, "--output", "json").out)
    (lucky,) = told["jobs"]
    assert (lucky["job"], lucky["would_be"]) == ("ml/lucky", "Complete")
    assert (lucky["clusters_saved"], lucky["waiting_saved_seconds"]) == (1, 10.0)
    assert (told["totals"]["clusters_saved"], told["totals"]["new_clusters"]) == (1, 0)
    assert "RayClusters -1: 10 s of waiting" in filled.jobledger(*asked).out
    without = filled.jobledger("what-if", "--backoff-limit", "0").out
    assert "RayClusters" not in without.partition("Assumed:")[0]


def test_a_retry_that_needs_a_new_raycluster_is_told_with_the_reason(
    terminal: Terminal, ledger_url: str
) -> None:
    fill(ledger_url, {"apart": lambda: stories.failed_attempts(1, options=LABELLED, **TWICE)})
    at_ledger = terminal.with_environment(DATABASE_URL=ledger_url)
    asked = ("what-if", "--retry-on", "same-cluster")
    told = at_ledger.jobledger(*asked).out
    assert "1 retry would have had a new one all the same" in told
    assert "ml/apart, attempt 2: jobledger.dev/label-attempts asks for Pods" in told
    (apart,) = json.loads(at_ledger.jobledger(*asked, "--output", "json").out)["jobs"]
    (new,) = apart["new_clusters"]
    assert new["attempt"] == 2
    assert new["why"].startswith("jobledger.dev/label-attempts")


def test_a_period_without_jobs_is_empty(filled: Terminal) -> None:
    told = filled.jobledger("what-if", "--backoff-limit", "0", "--until", "2020-01-01").out
    assert "0 of 0 jobs would be different" in told


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--retry", "bad luck=never"),
        ("--retry", "preemption=perhaps"),
        ("--retry", "application:x=never"),
        ("--backoff-limit", "1", "--since", "yesterday"),
    ],
)
def test_a_question_that_is_none_is_told(filled: Terminal, arguments: tuple[str, ...]) -> None:
    ended = filled.jobledger("what-if", *arguments, code=ExitCode.USAGE)
    assert "Traceback" not in ended.everything
