"""What goes on being wrong for many things at once is a line each minute, not one for each."""

from structlog.testing import capture_logs

from jobledger.adapters.telemetry.logging import get_logger
from jobledger.adapters.telemetry.repeated import AGAIN_SECONDS, Repeated
from jobledger.core.errors import ClusterUnreachable, NoWayToCluster


def test_one_of_many_that_fail_alike_is_named_and_the_others_are_counted() -> None:
    now = 0.0
    told = Repeated(get_logger(__name__), "not_done", lambda: now)
    with capture_logs() as lines:
        for job in range(100):
            told.warn_of_one(ClusterUnreachable(f"GET {job}: no answer"), job=f"job-{job}")
        told.warn_of_one(NoWayToCluster("GET 1: 401"), job="job-1")
        now = AGAIN_SECONDS
        told.warn_of_one(ClusterUnreachable("GET 7: no answer"), job="job-7")
        told.over()
        told.warn_of_one(ClusterUnreachable("GET 8: no answer"), job="job-8")
    assert [(line["job"], line.get("times_untold", 0)) for line in lines] == [
        ("job-0", 0),
        ("job-1", 99),
        ("job-7", 0),
        ("job-8", 0),
    ]
