"""What `jobledger decisions -n` lists where other namespaces have more that is due sooner."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from jobledger.adapters.cli.jobs.decisions import pending_of
from jobledger.core.ports.history import JobFilter
from tests.support.ledgers import Ledger
from tests.support.records import NOON, StreamWriter, a_decision_row, a_job_row, a_stream

OTHERS = 30


@pytest.mark.parametrize(("namespace", "found"), [("ml", 2), ("none", 0), ("", 3)])
def test_the_limit_counts_what_was_asked_for(ledger: Ledger, namespace: str, found: int) -> None:
    fill(ledger)
    wanted = JobFilter(namespace=namespace, open_only=True)
    assert len(pending_of(ledger.pending, ledger.history, wanted, limit=3)) == found


def fill(ledger: Ledger) -> None:
    """Append a job with a decision that is pending, for each of many names."""
    of_namespaces = {f"other-{number}": "other" for number in range(OTHERS)}
    for minute, (name, where) in enumerate({**of_namespaces, "a": "ml", "b": "ml"}.items()):
        stream = a_stream(name)
        due = a_decision_row(stream, name, due_at=NOON + timedelta(minutes=minute))
        part = StreamWriter(stream).next(decisions=[due])
        job = replace(a_job_row(stream), namespace=where, name=name, open=True)
        ledger.store.append([replace(part, rows=replace(part.rows, job=job))])
