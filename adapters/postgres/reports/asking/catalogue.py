"""The catalogue of reports, in the order in which they are listed."""

from collections.abc import Mapping

from jobledger.adapters.postgres.reports.asking.durations import DURATIONS
from jobledger.adapters.postgres.reports.asking.questions.busiest import BUSIEST
from jobledger.adapters.postgres.reports.asking.questions.cost import COST
from jobledger.adapters.postgres.reports.asking.questions.failures import FAILURES
from jobledger.adapters.postgres.reports.asking.questions.flaky import FLAKY
from jobledger.adapters.postgres.reports.asking.questions.idle import IDLE
from jobledger.adapters.postgres.reports.asking.questions.nodes import NODES
from jobledger.adapters.postgres.reports.asking.questions.retries import RETRIES
from jobledger.adapters.postgres.reports.asking.questions.slo import SLO
from jobledger.adapters.postgres.reports.asking.questions.start_latency import START_LATENCY
from jobledger.adapters.postgres.reports.asking.questions.stuck import STUCK
from jobledger.adapters.postgres.reports.asking.questions.waste import WASTE
from jobledger.adapters.postgres.reports.asking.regressions import REGRESSIONS
from jobledger.adapters.postgres.reports.asking.report import Report

REPORTS: Mapping[str, Report] = {
    report.name: report
    for report in (
        FAILURES,
        RETRIES,
        REGRESSIONS,
        NODES,
        WASTE,
        START_LATENCY,
        DURATIONS,
        SLO,
        FLAKY,
        STUCK,
        BUSIEST,
        COST,
        IDLE,
    )
}
