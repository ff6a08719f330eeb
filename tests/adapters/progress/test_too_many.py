"""Reports that come too often, or from too many: 429, and when to come again."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import urllib3

from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.trainjob.progress.endpoint import RETRY_SECONDS, Endpoint
from jobledger.adapters.kinds.trainjob.progress.speakers import TooManyTokens
from jobledger.adapters.kinds.trainjob.progress.writing import Report, TooManyReports
from jobledger.adapters.progress_wiring import REPORTS_AT_ONCE, REPORTS_PER_SECOND, each_job
from jobledger.core.trainjob.reports import AUDIENCE

ANSWER_SECONDS = 60.0
REPORT = {"progressPercentage": 45, "lastUpdatedTime": "2026-11-21T12:00:00Z"}


class Parts:
    """Every token speaks for the job `uid-<name>`, and every report is kept, until told else."""

    def __init__(self) -> None:
        self.taken: list[Report] = []
        self.too_many_tokens = self.too_many_reports = False

    def job_of(self, token: str, namespace: str, name: str, address: str) -> str:
        assert (token, namespace, bool(address)) == ("a-token", "ml", True)
        if self.too_many_tokens:
            raise TooManyTokens
        return f"uid-{name}"

    def take(self, report: Report) -> Future[None]:
        if self.too_many_reports:
            raise TooManyReports
        self.taken.append(report)
        answer: Future[None] = Future()
        answer.set_result(None)
        return answer


@contextmanager
def served(parts: Parts, may_speak: Callable[[str], bool]) -> Iterator[str]:
    endpoint = Endpoint(parts, parts, may_speak)  # type: ignore[arg-type] # all that is asked of them
    server = HttpServer(endpoint.app(), "127.0.0.1", 0)
    server.start()
    try:
        yield server.url
    finally:
        server.stop()


def post(url: str, job: str = "fit") -> tuple[int, str, str]:
    """Post as a Pod does; return the code, Retry-After, and what is said."""
    reply = urllib3.request(
        "POST",
        f"{url}/apis/{AUDIENCE.format(namespace='ml', name=job)}",
        body=json.dumps({"trainerStatus": REPORT}).encode(),
        headers={"Authorization": "Bearer a-token"},
        retries=False,
        timeout=ANSWER_SECONDS,
    )
    said = reply.json()
    return reply.status, reply.headers.get("Retry-After", ""), said.get("message", "")


def test_a_job_that_reports_too_often_is_told_when_to_come_again_and_another_is_heard() -> None:
    parts, seconds = Parts(), [1000.0]
    with served(parts, each_job(lambda: seconds[0]).may_take) as url:
        answers = [post(url) for _ in range(int(REPORTS_AT_ONCE) + 1)]
        assert answers[:-1] == [(200, "", "")] * int(REPORTS_AT_ONCE)
        refused = (429, str(RETRY_SECONDS), "report at most once in five seconds")
        assert answers[-1] == refused
        assert post(url, "other") == (200, "", "")
        seconds[0] += 1 / REPORTS_PER_SECOND
        assert [post(url), post(url)] == [(200, "", ""), refused]
    assert [one.uid for one in parts.taken].count("uid-fit") == REPORTS_AT_ONCE + 1


def test_too_many_jobs_and_too_many_unknown_tokens_are_told_so_too() -> None:
    parts = Parts()
    with served(parts, lambda _: True) as url:
        parts.too_many_reports = True
        assert post(url) == (429, str(RETRY_SECONDS), "too many jobs report; try later")
        parts.too_many_tokens = True
        assert post(url) == (429, str(RETRY_SECONDS), "too many unknown tokens were sent")
    assert parts.taken == []
