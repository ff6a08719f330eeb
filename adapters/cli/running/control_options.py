"""Options of `jobledger run` that choose which jobs are controlled and which only recorded."""

from typing import Annotated

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail

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
