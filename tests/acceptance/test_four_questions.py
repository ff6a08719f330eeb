"""A ledger in which a job of every class of failure lies, and whose clusters are all gone.

What happened, what did the controller know, why did it decide so, what would another policy have
done: for each, from the command line alone.
"""

import json

import pytest
from sqlalchemy import Engine

from adapters.postgres.evidence import PostgresEvidence
from core.forensics.failure_rules import RULES
from tests.rules.forensics.corpus.cases import Case
from tests.rules.forensics.corpus.jobs import JOBS
from tests.rules.forensics.corpus.pods import PODS
from tests.rules.forensics.corpus.programs import PROGRAMS
from tests.support.ledgers import postgres_ledger
from tests.support.processes import Terminal
from tests.support.recorded import append_lives
from tests.support.records import NOON

pytestmark = pytest.mark.postgres

ONE_OF_EACH: dict[str, Case] = {case.expected: case for case in reversed((*PROGRAMS, *PODS, *JOBS))}
"""Class -> the first case of it."""


@pytest.fixture
def morgue(terminal: Terminal, engine: Engine, ledger_url: str) -> Terminal:
    """A terminal at that ledger."""
    ledger, evidence = postgres_ledger(engine), PostgresEvidence(engine)
    ledger.take_all_shards()
    append_lives(ledger, ((name, case.story) for name, case in ONE_OF_EACH.items()))
    for case in ONE_OF_EACH.values():
        for content in case.capture.contents.values():
            evidence.put(content, NOON)
    return terminal.with_environment(DATABASE_URL=ledger_url)


def test_the_four_questions_are_answered_for_every_class_of_failure(morgue: Terminal) -> None:
    assert len(ONE_OF_EACH) >= len(RULES) - 4
    for name in ONE_OF_EACH:
        account = json.loads(morgue.jobledger("explain", f"ml/{name}", "-o", "json").out)
        assert account["failure_class"] == name
        assert all(sentence["versions"] for sentence in account["sentences"])
    some = "out-of-memory"
    assert "evidence is kept" in morgue.jobledger("history", some).out
    known = json.loads(morgue.jobledger("history", some, "--at", "12", "-o", "json").out)
    assert known["known"]["version"] == 12
    assert "retry refused" in morgue.jobledger("history", some).out
    everything = json.loads(morgue.jobledger("what-if", "--backoff-limit", "2", "-o", "json").out)
    assert everything["totals"]["jobs"] == len(ONE_OF_EACH)
    assert everything["totals"]["unknown"] > 0
    count = len(ONE_OF_EACH)
    assert f"{count} of {count} jobs are decided as they were" in morgue.jobledger("replay").out
    morgue.jobledger("verify")
