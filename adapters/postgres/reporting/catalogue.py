"""Which reports there are, by name, in the order in which they are listed."""

from collections.abc import Mapping

from adapters.postgres.reporting.busiest import BUSIEST
from adapters.postgres.reporting.durations import DURATIONS
from adapters.postgres.reporting.failures import FAILURES
from adapters.postgres.reporting.flaky import FLAKY
from adapters.postgres.reporting.report import Report
from adapters.postgres.reporting.retries import RETRIES
from adapters.postgres.reporting.slo import SLO
from adapters.postgres.reporting.start_latency import START_LATENCY
from adapters.postgres.reporting.stuck import STUCK
from adapters.postgres.reporting.waste import WASTE

REPORTS: Mapping[str, Report] = {
    report.name: report
    for report in (
        FAILURES,
        RETRIES,
        WASTE,
        START_LATENCY,
        DURATIONS,
        SLO,
        FLAKY,
        STUCK,
        BUSIEST,
    )
}
