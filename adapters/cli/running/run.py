"""`jobledger run`: runs the controller."""

import gc
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.known_ledgers import is_private, remember, told_of_others
from jobledger.adapters.cli.options import (
    DatabaseUrl,
    DataDir,
    HealthFile,
    HealthHost,
    HealthPort,
    Kubeconfig,
    LogFormat,
    settings_from,
)
from jobledger.adapters.cli.output import fail
from jobledger.adapters.cli.running.ready_file import tell_ready
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.ledger_wiring import ledger, require_rights
from jobledger.adapters.postgres.connection.errors import describe
from jobledger.adapters.process.huge_pages import in_huge_pages
from jobledger.adapters.process.interpreter import SWITCH_INTERVAL_SECONDS
from jobledger.adapters.process.one_core import on_one_core
from jobledger.adapters.settings import Settings
from jobledger.adapters.telemetry.logging import configure_logging, get_logger
from jobledger.adapters.wiring import service

log = get_logger(__name__)


ObserveOnly = Annotated[
    bool,
    typer.Option("--observe-only", help="Only record what other controllers do; write nothing."),
]
ControlOption = Annotated[
    str, typer.Option("--control", help="Control all jobs, or those of: namespaces, managed-by.")
]
ControlNamespaces = Annotated[
    list[str] | None,
    typer.Option(
        "--control-namespace",
        help="Control the jobs of this namespace, only record the others. Repeat it for several.",
    ),
]
TakeOver = Annotated[
    bool,
    typer.Option(
        "--take-over", help="Take over jobs of another controller that is switched off by now."
    ),
]


JobKinds = Annotated[
    list[str] | None,
    typer.Option(
        "--job-kind",
        help="Control this kind of job only: RayJob, TrainJob or Job. Repeat it for several.",
        show_default="JOBLEDGER_JOB_KINDS, or RayJob and TrainJob",
    ),
]


def chosen_control(control: str, namespaces: list[str] | None, *, observe_only: bool) -> str:
    """Return which jobs are to be controlled; empty if nothing was said.

    Ends with a message if two options contradict each other.
    """
    if observe_only and (control or namespaces):
        fail("--observe-only controls nothing: leave out --control", ExitCode.USAGE)
    if namespaces and control not in ("", "namespaces"):
        fail(f"--control-namespace does not go with --control {control}", ExitCode.USAGE)
    if observe_only:
        return "nothing"
    return "namespaces" if namespaces else control


def contradiction(settings: Settings) -> str:
    """Return how settings about control contradict each other, and what to do; else nothing.

    Each of these would run, and control fewer jobs, or more, than was meant.
    """
    named, control = settings.control_namespaces, settings.control
    if control == "namespaces" and not named:
        return (
            "control is namespaces, and control_namespaces names none: say which "
            "(--control-namespace), or managed-by if jobs are handed over by name"
        )
    if control == "all" and named:
        return (
            "control_namespaces names some, and control is all: set control to namespaces, "
            "or name none"
        )
    return ""


def run(
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
    kubeconfig: Kubeconfig = "",
    context: Annotated[str, typer.Option(help="Context of the kubeconfig.")] = "",
    cluster: Annotated[
        str,
        typer.Option(
            help="What the ledger calls this cluster; never change it.",
            show_default="JOBLEDGER_CLUSTER, or default",
        ),
    ] = "",
    namespace: Annotated[
        list[str] | None,
        typer.Option(
            "--namespace",
            "-n",
            help="Only jobs of this namespace. Repeat it for several.",
            show_default="JOBLEDGER_NAMESPACES, or all",
        ),
    ] = None,
    job_kind: JobKinds = None,
    observe_only: ObserveOnly = False,
    control: ControlOption = "",
    control_namespace: ControlNamespaces = None,
    take_over: TakeOver = False,
    replica: Annotated[
        str,
        typer.Option(
            help="Name of this replica.", show_default="JOBLEDGER_REPLICA, or the host's name"
        ),
    ] = "",
    host: HealthHost = "",
    port: HealthPort = None,
    log_format: LogFormat = "",
    ready_file: HealthFile = None,
) -> None:
    """Control RayJobs, TrainJobs and, if asked for, Jobs until told to stop (SIGTERM, SIGINT).

    Killed at any instant, it resumes.
    """
    settings = settings_from(
        database_url,
        data_dir,
        kubeconfig=kubeconfig,
        context=context,
        cluster=cluster,
        namespaces=tuple(namespace) if namespace else None,
        job_kinds=tuple(job_kind) if job_kind else None,
        control=chosen_control(control, control_namespace, observe_only=observe_only),
        control_namespaces=tuple(control_namespace) if control_namespace else None,
        take_over=take_over or None,
        replica=replica,
        host=host,
        port=port,
        log_format=log_format,
    )
    if told := contradiction(settings):
        fail(f"settings contradict each other: {told}", ExitCode.MISCONFIGURED)
    _serve(settings, ready_file)


def _serve(settings: Settings, ready_file: Path | None) -> None:
    configure_logging(settings.log_format, settings.log_level)
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    if told := told_of_others(settings):
        log.warning("other_private_ledger", told=told, ledger=str(settings.data_dir))
    remember(settings)
    with (
        ledger(settings) as opened,
        on_one_core() if settings.one_core else nullcontext(),
        in_huge_pages() if settings.huge_pages else nullcontext(),
    ):
        require_rights(opened)
        running = service(settings, opened)
        gc.collect()
        gc.freeze()
        stop = StopSignals()
        running.start()
        where = str(settings.data_dir) if is_private(settings) else describe(opened.engine.url)
        log.info("started", http=running.http.url, cluster=settings.cluster, ledger=where)
        tell_ready(ready_file, running.http.url)
        stop.wait()
        log.info("stopping")
        running.stop()
        log.info("stopped")
