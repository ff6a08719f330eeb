"""The service in this process: started in no time, and its limits can be made short."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from prometheus_client import CollectorRegistry
from pydantic import SecretStr
from structlog.testing import capture_logs

from jobledger.adapters import ledger_wiring, wiring
from jobledger.adapters.cluster_wiring import cluster_connection
from jobledger.adapters.kube.connection import ConnectionSettings
from jobledger.adapters.kube.watching.timing import WatchPace
from jobledger.adapters.kube.watching.watches import KubernetesWatches
from jobledger.adapters.postgres.connection.engine import EngineOptions
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SteadyClock
from jobledger.adapters.telemetry.metrics import Metrics
from tests.acceptance.site import QUICK, Site
from tests.support.processes import START_SECONDS, Controller, Terminal
from tests.support.waiting import wait_until


class InsideController(Controller):
    """Seen from outside as the process is."""

    def __init__(
        self,
        terminal: Terminal,
        replica: str = "controller",
        patience: float = 0.0,
        ledger_patience: int = 0,
        ahead: timedelta = timedelta(),
    ) -> None:
        """Take how long it waits for the API server, and for the ledger; 0: as it always does.

        And how far its clock is ahead of the true time.
        """
        super().__init__(terminal, replica)
        self._patience = patience
        self._ledger_patience = ledger_patience
        self._ahead = ahead
        self._settings = _settings(terminal.environment, replica)
        self._open = ExitStack()
        self._service: wiring.Service | None = None
        self._lines: list[Any] = []

    def start(self, *, until_ready: bool = True) -> None:
        """Start every thread; return when it is ready if that is asked for."""
        self._lines = self._open.enter_context(capture_logs())
        with self._impatient_with_ledger() if self._ledger_patience else nullcontext():
            opened = self._open.enter_context(ledger_wiring.ledger(self._settings))
        with (
            patch.dict(os.environ, self._terminal.environment),  # where the Ray heads are
            patch.object(wiring, "Metrics", lambda: Metrics(CollectorRegistry())),
            patch.object(wiring, "SteadyClock", lambda: SteadyClock(self._wall)),
            self._impatient() if self._patience else nullcontext(),
        ):
            self._service = wiring.service(self._settings, opened)
        self._service.start()
        if until_ready:
            wait_until(lambda: self.get("/readyz")[0] == 200, "it is ready", START_SECONDS)

    def _wall(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def _impatient_with_ledger(self) -> AbstractContextManager[object]:
        seconds = self._ledger_patience
        short = partial(EngineOptions, statement_timeout_seconds=seconds, grace_seconds=seconds)
        return patch.object(ledger_wiring, "EngineOptions", short)

    @contextmanager
    def _impatient(self) -> Iterator[None]:
        usual = cluster_connection
        watches = partial(KubernetesWatches, pace=WatchPace(silence_seconds=self._patience))

        def connection(settings: Settings) -> ConnectionSettings:
            return replace(usual(settings), read_timeout_seconds=self._patience)

        with (
            patch.object(wiring, "cluster_connection", connection),
            patch.object(wiring, "KubernetesWatches", watches),
        ):
            yield

    def kill(self) -> None:
        """Stop it, if it runs."""
        if self._service is not None:
            self._service.stop()
            self._service = None
        self._open.close()

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._service is not None

    @property
    def url(self) -> str:
        """The address it serves."""
        return self._service.http.url if self._service is not None else ""

    @property
    def log(self) -> str:
        """Everything it wrote."""
        lines = [line for line in self._lines if line.get("log_level") != "debug"]
        return "\n".join(
            f"Traceback {line}" if line.get("exc_info") else str(line) for line in lines
        )


def inside(
    site: Site,
    *,
    replica: str = "controller",
    patience: float = 0.0,
    ledger_patience: int = 0,
    ahead: timedelta = timedelta(),
    **settings: str,
) -> InsideController:
    """Return a controller of a site, not started yet."""
    mine = {"JOBLEDGER_NAMESPACES": json.dumps([site.api.namespace])}
    terminal = site.terminal.with_environment(**{**QUICK, **mine, **settings})
    return InsideController(terminal, replica, patience, ledger_patience, ahead)


def _settings(environment: Mapping[str, str], replica: str) -> Settings:
    return Settings(
        database_url=SecretStr(environment["DATABASE_URL"]),
        kubeconfig=environment["KUBECONFIG"],
        data_dir=Path(environment["JOBLEDGER_DATA_DIR"]),
        namespaces=tuple(json.loads(environment["JOBLEDGER_NAMESPACES"])),
        poll_interval_seconds=float(environment["JOBLEDGER_POLL_INTERVAL_SECONDS"]),
        effect_retry_seconds=int(environment.get("JOBLEDGER_EFFECT_RETRY_SECONDS", "10")),
        lease_seconds=float(environment.get("JOBLEDGER_LEASE_SECONDS", "15")),
        replica=replica,
        port=0,
    )
