"""`jobledger what-if` and `decisions` say so where they leave out jobs of a large ledger."""

import pytest
from msgspec.structs import replace

from jobledger.adapters.cli.finding import youngest
from jobledger.core.ports.history import JobFilter
from tests.support.ledgers import Ledger
from tests.support.records import StreamWriter, a_job_row, a_stream


@pytest.mark.parametrize(("most", "warned"), [(2, True), (3, False)])
def test_only_jobs_that_are_left_out_are_told_of(
    ledger: Ledger, capsys: pytest.CaptureFixture[str], most: int, *, warned: bool
) -> None:
    """It said so where all were looked at, if they were just as many as it looks at."""
    for name in ("a", "b", "c"):
        part = StreamWriter(a_stream(name)).next()
        job = replace(a_job_row(a_stream(name)), name=name)
        ledger.store.append([replace(part, rows=replace(part.rows, job=job))])
    assert len(youngest(ledger.history, JobFilter(), most)) == most
    told = capsys.readouterr().err
    assert ("only the youngest 2 jobs are looked at" in told) is warned
