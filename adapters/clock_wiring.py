"""Composition root of the clocks: this machine's, the database's and the API server's."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from sqlalchemy import Engine

from jobledger.adapters.kube.api_clock import api_server_now
from jobledger.adapters.kube.transport import Transport
from jobledger.adapters.postgres.connection.statements import database_now
from jobledger.adapters.scheduler.alarms import SchedulerAlarms
from jobledger.adapters.service.clocks import Clocks, Told
from jobledger.adapters.service.control.control_policy import ControlPolicy
from jobledger.adapters.service.resync.control_release import where_met
from jobledger.adapters.telemetry.clock import SteadyClock
from jobledger.adapters.telemetry.metrics import Metrics

COMPARE_EVERY = timedelta(seconds=10)


def clocks_of(own: SteadyClock, engine: Engine, transport: Transport) -> Clocks:
    """Return the clocks by which jobs are judged."""
    others: dict[str, Told] = {
        "database": partial(database_now, engine),
        "API server": partial(api_server_now, transport),
    }
    return Clocks(own, others)


def keep_comparing(clocks: Clocks, alarms: SchedulerAlarms, metrics: Metrics) -> None:
    """Let them be compared from the start on, and tell what waited once they agree."""
    clocks.agree = alarms.wake
    alarms.add_duty("compare clocks", clocks.compare, COMPARE_EVERY, at_once=True)
    metrics.clocks_disagree.set_function(lambda: float(clocks.trouble != ""))
    for name in clocks.names:
        ahead = partial(clocks.ahead_of, name)
        metrics.clock_ahead_seconds.labels(name.replace(" ", "-").lower()).set_function(ahead)


def notes_of(control_policy: ControlPolicy, clocks: Clocks) -> Callable[[], list[str]]:
    """Return what `/readyz` notes though the service is ready."""
    return lambda: [*where_met(control_policy), *clocks.notes()]
