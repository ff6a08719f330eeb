"""The options of `jobledger what-if`: the policy values to change."""

from enum import StrEnum
from typing import Annotated

import typer

from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.options import LIMIT_MAX
from jobledger.core.jobs.retries.options import Growth
from jobledger.core.values.durations import SECONDS_MAX


class Cluster(StrEnum):
    """On which cluster a retry is to run; its text is that of the annotation."""

    SAME = "same-cluster"


Job = Annotated[
    str,
    typer.Argument(
        autocompletion=complete_job,
        help="Name, namespace/name, UID or stream; or a bundle. "
        "Without it: all jobs of the period.",
    ),
]
Since = Annotated[str, typer.Option(help="Jobs created from then on: a date, a time, or 14d.")]
Until = Annotated[str, typer.Option(help="Jobs created before then.")]
BackoffLimit = Annotated[
    int | None, typer.Option(help="Another backoffLimit.", min=0, max=LIMIT_MAX)
]
RetryDelay = Annotated[
    int | None, typer.Option(help="Seconds before the first retry.", min=0, max=SECONDS_MAX)
]
RetryDelayMax = Annotated[
    int | None, typer.Option(help="Longest pause in seconds.", min=0, max=SECONDS_MAX)
]
PauseGrowth = Annotated[Growth | None, typer.Option(help="How the pause grows.")]
Retry = Annotated[
    list[str] | None,
    typer.Option(
        help="What to say to a class of failures, CLASS[:EXIT CODE]=ANSWER: "
        "preemption=uncounted, application:2=never; RayJobs alone. Repeat it for several."
    ),
]
UncountedMax = Annotated[
    int | None, typer.Option(help="Retries that may go uncounted.", min=0, max=LIMIT_MAX)
]
ActiveDeadline = Annotated[
    int | None, typer.Option(help="Another activeDeadlineSeconds; 0: none.", min=0, max=SECONDS_MAX)
]
PreRunningDeadline = Annotated[
    int | None,
    typer.Option(help="Another preRunningDeadlineSeconds; 0: none.", min=0, max=SECONDS_MAX),
]
JobDeadline = Annotated[
    int | None,
    typer.Option(
        help="Another deadline in seconds over all attempts; 0: none.", min=0, max=SECONDS_MAX
    ),
]
RetryOn = Annotated[
    Cluster | None,
    typer.Option(help="Retry on the same RayCluster, where that can be; RayJobs alone."),
]
Ttl = Annotated[
    int | None,
    typer.Option(
        help="Shutdown, with this ttlSecondsAfterFinished; -1: no shutdown.",
        min=-1,
        max=SECONDS_MAX,
    ),
]
Estimate = Annotated[
    bool,
    typer.Option(
        "--estimate", help="Also estimate what is unknown, from what retries of these jobs did."
    ),
]
Everything = Annotated[
    bool, typer.Option("--all", help="Also the jobs for which nothing would be different.")
]
