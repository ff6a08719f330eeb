"""A report that is not written in time: 503, and no 200 before it is in the status."""

from concurrent.futures import Future

import pytest

from jobledger.adapters.kinds.trainjob.progress import endpoint
from jobledger.adapters.kinds.trainjob.progress.writing import Report
from tests.adapters.progress.test_too_many import Parts, post, served


class Late(Parts):
    """Nothing is written before somebody says so."""

    def __init__(self) -> None:
        super().__init__()
        self.answers: list[Future[None]] = []

    def take(self, report: Report) -> Future[None]:
        self.taken.append(report)
        self.answers.append(Future())
        return self.answers[-1]


def test_a_report_that_is_not_written_in_time_is_to_be_said_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endpoint, "WRITTEN_SECONDS", 0.2)
    parts = Late()
    with served(parts, lambda _: True) as url:
        again = str(endpoint.RETRY_SECONDS)
        assert post(url) == (503, again, "not written yet; report again")
    (answer,) = parts.answers
    assert answer.cancelled(), "the writer need not answer it any more"
    assert len(parts.taken) == 1
