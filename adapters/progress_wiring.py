"""Composition root of the trainer-status server: a process of its own, without a ledger."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from threading import Event

from jobledger.adapters.admission import tls
from jobledger.adapters.admission.kept_certificate import KeptCertificate
from jobledger.adapters.admission.looking_after import ServerOptions, certified, keep_fresh
from jobledger.adapters.cluster_wiring import judging_cluster
from jobledger.adapters.http.server import HttpServer
from jobledger.adapters.kinds.trainjob.progress.endpoint import Endpoint
from jobledger.adapters.kinds.trainjob.progress.speakers import Speakers
from jobledger.adapters.kinds.trainjob.progress.writing import Writer
from jobledger.adapters.serving.pace import Each, Pace
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.clock import SystemClock

WRITERS = 4
"""Threads that write reports: a write that takes long does not keep the others."""
LOOK_SECONDS = 0.05
"""Pause between two looks at reports whose turn has not come."""
IDLE_SECONDS = 1.0
"""Between two looks where none waits."""
VALID = timedelta(days=3650)
"""Of our certificate, as of upstream's: a Pod that runs cannot be told of another authority."""

REPORTS_PER_SECOND, REPORTS_AT_ONCE = 1.0, 20.0
"""Of the Pods of one TrainJob; the Kubeflow SDK sends one in five seconds."""
JOBS_MAX = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusOptions(ServerOptions):
    """How the endpoint is served."""

    @property
    def authority(self) -> str:
        """Return the name of the ConfigMap that says by whom the certificate is signed."""
        return f"{self.service}-ca"


@dataclass(frozen=True, slots=True)
class StatusServer:
    """The server, what keeps its certificate fresh, and what writes the reports that wait."""

    http: HttpServer
    refresh: Callable[[], None]
    writer: Writer

    def serve(self, stopped: Event) -> None:
        """Serve until told to stop; what waits then is written, and answered."""
        answered = Event()
        writing = [
            threading.Thread(target=self._write, args=(answered,), daemon=True)
            for _ in range(WRITERS)
        ]
        for thread in writing:
            thread.start()
        self.http.start()
        threading.Thread(target=keep_fresh, args=(self.refresh, stopped), daemon=True).start()
        stopped.wait()
        self.http.stop()
        answered.set()
        for thread in writing:
            thread.join()
        self.writer.write_last()

    def _write(self, answered: Event) -> None:
        while not answered.is_set():
            self.writer.wait_for_reports(IDLE_SECONDS)
            self.writer.write_waiting()
            answered.wait(LOOK_SECONDS)


def each_job(monotonic: Callable[[], float]) -> Each:
    """Return how often the Pods of each TrainJob, by its UID, are heard."""
    return Each(monotonic, REPORTS_PER_SECOND, REPORTS_AT_ONCE, JOBS_MAX)


def status_server(settings: Settings, options: StatusOptions) -> StatusServer:
    """Return the server with a certificate; nothing is served yet.

    Raises:
        ClusterError: the API server does not answer, or refuses.
        ForeignSecret: the Secret that we would keep is somebody else's.
        NoCertificate: `cert_dir` holds none that can be used.
        CannotServe: nobody can listen there.
    """
    cluster, secured = judging_cluster(settings), tls.context()
    kept = KeptCertificate(
        cluster=cluster,
        now=SystemClock().now,
        namespace=options.namespace,
        service=options.service,
        other_names=options.dns_names,
        authority=options.authority,
        valid=VALID,
    )
    refresh = certified(secured, kept, options.cert_dir)
    writer = Writer(cluster, time.monotonic, SystemClock().now)
    speakers = Speakers(cluster, time.monotonic, Pace(time.monotonic).may_ask)
    endpoint = Endpoint(speakers, writer, each_job(time.monotonic).may_take)
    http = HttpServer(endpoint.app(), options.host, options.port, tls=secured)
    return StatusServer(http, refresh, writer)
