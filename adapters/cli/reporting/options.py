"""The options of `jobledger report`: question, filters, output format."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from jobledger.adapters.cli.options import LIMIT_MAX

Name = Annotated[str, typer.Argument(help="Which report. Without it: a list of them.")]
Listed = Annotated[bool, typer.Option("--list", help="List the reports.")]
Described = Annotated[
    bool,
    typer.Option("--describe", help="Say what the report counts: rule, columns, units. Ask none."),
]
Since = Annotated[
    str,
    typer.Option(
        help="The first instant that counts: a date, a time, or 14d.",
        show_default="7d before the end",
    ),
]
Until = Annotated[
    str, typer.Option(help="The first instant that no longer counts.", show_default="now")
]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="What the rows are grouped by: cluster, namespace, queue, user, image, framework, "
        "kind, hour, day, week, label:NAME, or what the report offers besides; 'nothing' for one "
        "row. Several with commas.",
        show_default="by report",
    ),
]
Timezone = Annotated[
    str,
    typer.Option(
        help="Where hours, days and weeks begin, and times without a zone are: Europe/Berlin."
    ),
]
Cluster = Annotated[str, typer.Option(help="Only this cluster.")]
Namespace = Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace.")]
Queue = Annotated[str, typer.Option(help="Only this queue.")]
User = Annotated[str, typer.Option(help="Only this user.")]
Image = Annotated[str, typer.Option(help="Only this image.")]
Framework = Annotated[str, typer.Option(help="Only this framework.")]
Kind = Annotated[str, typer.Option(help="Only this kind: RayJob, TrainJob or Job.")]
Cause = Annotated[
    str,
    typer.Option(
        help="failures, retries, nodes, waste, cost: only this cause or retry group, as explain "
        "names it."
    ),
]
Within = Annotated[
    str, typer.Option(help="slo: how long a start may take: 90s, 10m.", show_default="5m")
]
Target = Annotated[
    float | None,
    typer.Option(
        help="slo: the share of jobs that has to be good.", show_default="0.95", min=0, max=1
    ),
]
LongerThan = Annotated[
    str,
    typer.Option(
        help="stuck: how long in one state is too long: 6h.", show_default="p99 of its peers"
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="At most so many rows.", show_default="20; by time 1,000", min=1, max=LIMIT_MAX
    ),
]
To = Annotated[
    Path | None, typer.Option("--to", help="File to write the result to, instead of the output.")
]
Charted = Annotated[
    bool | None,
    typer.Option("--chart/--no-chart", help="Draw bars too.", show_default="in a terminal"),
]
Plotted = Annotated[
    Path | None, typer.Option("--plot", help="Also draw a picture: a .png or .svg file.")
]


class ReportForm(StrEnum):
    """The form of an answer."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"


FormOption = Annotated[
    ReportForm, typer.Option("--output", "-o", help="Form of the result.", case_sensitive=False)
]
