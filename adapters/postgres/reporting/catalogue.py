"""The catalogue of reports, in the order in which they are listed."""

from collections.abc import Mapping

from jobledger.adapters.postgres.reporting.durations import DURATIONS
from jobledger.adapters.postgres.reporting.questions.busiest import BUSIEST
from jobledger.adapters.postgres.reporting.questions.failures import FAILURES
from jobledger.adapters.postgres.reporting.questions.flaky import FLAKY
from jobledger.adapters.postgres.reporting.questions.retries import RETRIES
from jobledger.adapters.postgres.reporting.questions.slo import SLO
from jobledger.adapters.postgres.reporting.questions.start_latency import START_LATENCY
from jobledger.adapters.postgres.reporting.questions.stuck import STUCK
from jobledger.adapters.postgres.reporting.questions.waste import WASTE
from jobledger.adapters.postgres.reporting.report import Report

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
