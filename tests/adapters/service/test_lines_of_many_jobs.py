"""When many jobs meet the same trouble, one line says so, not one for each of them."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from starlette.requests import Request
from structlog.testing import capture_logs

from jobledger.adapters.kinds.trainjob.progress.endpoint import Endpoint, Refused
from jobledger.adapters.kinds.trainjob.progress.writing import Report
from jobledger.adapters.kinds.trainjob.watching.listeners import DependentListener
from jobledger.adapters.service.evidence.failing_pods import FailingPods
from jobledger.adapters.service.resync.control_release import StatusLook
from jobledger.adapters.service.resync.first_looks import FirstLooks
from jobledger.adapters.service.resync.lookout import ChildLook, FreshLook, Lookout
from jobledger.adapters.service.status.own_writes import OwnWrites
from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import Repeated
from jobledger.core.errors import ClusterUnreachable, LedgerUnavailable
from jobledger.core.ports.cluster import JOBSETS
from jobledger.core.values.documents import Manifest
from tests.adapters.service.parts import Bench
from tests.adapters.service.test_failing_pods import AtOnce
from tests.adapters.service.test_pod_looks import LookedAt
from tests.adapters.service.watching_desk import Desk

MANY = 50


class Away:
    """An API server, a ledger, or whoever asks them, that is away."""

    def __init__(self) -> None:
        self.asked = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def refuse(*_: object, **__: object) -> object:
            self.asked += 1
            raise ClusterUnreachable(f"GET {self.asked}: no answer")

        if name.startswith("__"):
            raise AttributeError(name)
        return refuse

    def read_stream(self, *_: object) -> object:
        self.asked += 1
        raise LedgerUnavailable(f"stream {self.asked}")


Trouble = Callable[[Any], Callable[[], object]]
"""Given who is away, returns what meets it again and again."""


def lookout(away: Any, bench: Bench) -> Lookout:  # noqa: ANN401  # whatever is asked of it
    unanswered = Repeated(get_logger(__name__), "object_not_looked_at", lambda: 0.0)
    nobody: Any = None
    return Lookout(away, bench.around, bench.clock, nobody, {}, {}, unanswered)


def of_jobsets(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    bench = Bench()
    look = FreshLook(about="a decision", is_pending=lambda: True, then=lambda: None)
    tell = DependentListener(bench.around, JOBSETS.kind).seen
    return ChildLook(lookout(away, bench), JOBSETS, bench.job().identity, tell, look)


def of_refused(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    bench = Bench()
    return StatusLook(lookout(away, bench), bench.job())


def of_unknown(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    bench = Bench()
    job, looks = bench.job(), lookout(away, bench)
    nobody: Any = None
    whom = away, bench.around, bench.clock
    first = FirstLooks(*whom, nobody, nobody, looks.unanswered)
    return lambda: first._look(job.identity, job.kind)  # noqa: SLF001  # what a worker calls


def of_pods(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    bench = LookedAt()
    bench.waits()
    object.__setattr__(bench.looks.context.world, "cluster", away)
    look = bench.offer()
    assert look is not None
    return look


def of_failing_pods(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    bench = Bench()
    pods = FailingPods(away, bench.live, bench.slots, {}, AtOnce(1, "looks"))
    stream = bench.job().identity.stream_id
    return lambda: pods._logged(stream, away.look)  # noqa: SLF001  # what a worker calls


def of_statuses(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    writes, numbers = OwnWrites("here", away), iter(range(MANY))

    def recognise() -> None:
        name = f"job-{next(numbers)}"
        metadata: Manifest = {"name": name, "namespace": "ml", "uid": name}
        writes.recognise("RayJob", {"metadata": metadata, "status": {"jobStatus": "RUNNING"}})

    return recognise


def of_reports(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    endpoint = Endpoint(away, away, lambda _: True)
    report = Report(namespace="ml", name="a", uid="b", trainer_status={})

    def post() -> None:
        with pytest.raises(Refused):
            asyncio.run(endpoint._written(report))  # noqa: SLF001  # what a request comes to

    return post


def of_tokens(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    endpoint = Endpoint(away, away, lambda _: True)
    headers = [(b"authorization", b"Bearer x")]

    def post() -> None:
        request = Request({"type": "http", "headers": headers, "client": None})
        with pytest.raises(Refused):
            asyncio.run(endpoint._speaker(request, "ml", "a"))  # noqa: SLF001  # as above

    return post


def of_kinds(away: Any) -> Callable[[], object]:  # noqa: ANN401  # whatever is asked of it
    desk = Desk()
    desk.watches._cluster = away  # noqa: SLF001  # it went away
    return desk.watches.ask


@pytest.mark.parametrize(
    ("event", "trouble"),
    [
        ("object_not_looked_at", of_jobsets),
        ("object_not_looked_at", of_refused),
        ("object_not_looked_at", of_unknown),
        ("pods_not_listed", of_pods),
        ("pod_not_looked_at", of_failing_pods),
        ("status_not_recognised", of_statuses),
        ("report_not_written", of_reports),
        ("token_not_judged", of_tokens),
        ("kinds_unclear", of_kinds),
    ],
)
def test_the_same_trouble_is_one_line(event: str, trouble: Trouble) -> None:
    away = Away()
    again = trouble(away)
    with capture_logs() as lines:
        for _ in range(MANY):
            again()
    assert away.asked >= MANY, "it was met each time"
    told = [line for line in lines if line["log_level"] == "warning"]
    assert [line["event"] for line in told] == [event]
