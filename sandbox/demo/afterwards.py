"""Prints what the log says after the demonstration.

One job's story, the same from one query, and the proof that nothing was changed.
"""

from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from sqlalchemy import text as sql

from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.refolding.rebuilding import compare
from jobledger.adapters.postgres.verifying.verify import verify
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.counted import counted
from jobledger.sandbox.demo.play import NAMESPACE, RETRIED, DemoFailed, Stage
from jobledger.sandbox.demo.trainings import ENDS
from jobledger.sandbox.kubeconfig import write_environment

QUERY = """\
SELECT a.number AS attempt, a.ray_cluster_name, a.outcome, a.reason, a.job_status,
       round(extract(epoch FROM a.ended_at - a.started_at), 1) AS seconds,
       d.cause AS retried_because
  FROM job j JOIN attempt a USING (stream_id)
  LEFT JOIN decision d ON d.stream_id = a.stream_id AND d.attempt = a.number AND d.kind = 'retry'
 WHERE j.name = 'third-time-lucky'
 ORDER BY a.number"""


def tell_by_sql(console: Console, opened: Ledger) -> None:
    """Print a query that tells the story of the retried job, and its answer."""
    console.print(Syntax(QUERY, "sql", background_color="default"))
    with opened.engine.connect() as connection:
        answer = connection.execute(sql(QUERY))
        shown = Table(box=None, header_style="bold", pad_edge=False)
        for column in answer.keys():  # noqa: SIM118 a result has no other way to name its columns
            shown.add_column(column, no_wrap=True)
        for row in answer:
            shown.add_row(*("" if value is None else str(value) for value in row))
    console.print(shown)


def _no_progress(done: int, total: int) -> None:
    """Take no note: it is over before anyone could look."""


def prove(console: Console, opened: Ledger) -> None:
    """Verify the log and hold the tables against it.

    Raises:
        DemoFailed: something is not as it was written.
    """
    report = verify(opened.engine, _no_progress)
    if report.fault is not None:
        raise DemoFailed(f"verify found: {report.fault}")
    console.print(
        Text.assemble(
            ("verified", "green"),
            f"  {counted(report.events, 'event')} of {counted(report.streams, 'job')}: "
            "every hash, link, version and position is as written",
        )
    )
    streams = opened.history.streams()
    differences = [found for stream in streams for found in compare(opened, stream)]
    if differences:
        raise DemoFailed(f"the tables differ from the log: {differences[0]}")
    told = f"   {counted(len(streams), 'job')}: all rows equal the fold of the log"
    console.print(Text.assemble(("rebuilt", "green"), told))


def check_ends(opened: Ledger) -> None:
    """Check that every job ended as its sample says.

    Raises:
        DemoFailed: one did not.
    """
    expected = {
        RETRIED: ("Complete", 3, 2),
        "never-converges": ("Failed", 5, 5),
        "too-slow": ("Failed", 1, 1),
        "on-hold": ("Complete", 2, 0),
        "mistaken": ("ValidationFailed", 0, 0),
        **ENDS,
    }
    for row in opened.history.jobs(JobFilter(namespace=NAMESPACE), 100):
        found = (row.phase, row.attempt, row.failed)
        if expected.get(row.name, found) != found:
            raise DemoFailed(f"{row.name} ended as {found}, not {expected[row.name]}")


def where_next(console: Console, on: Stage, *, keep: bool) -> None:
    """Say how to go on; `keep`: that the page stays open."""
    if keep:
        sourced = write_environment(
            on.sandbox.kubeconfig,
            on.sandbox.data_plane.proxy_url,
            DATABASE_URL=on.database_url,
            JOBLEDGER_DATA_DIR=str(on.settings.data_dir),
        )
        console.print(Text("\nThe page", "bold"))
        console.print(f"  {on.controller.url}/page/jobs", highlight=False)
        console.print(Text("In another terminal", "bold"))
        for line in (sourced, "jobledger explain never-converges", "kubectl get rayjobs,trainjobs"):
            console.print(Text(f"  {line}"), soft_wrap=True)
        console.print("  until Ctrl-C here", style="dim")
        return
    console.print(Text("\nWhere next", "bold"))
    for line in (
        f"the page                 was at {on.controller.url}/page/jobs until now;",
        "                         make demo ARGS=--keep leaves it open",
        "jobledger sandbox        a local API to try your own manifests on; says how to go on",
        "jobledger run            control the RayJobs of the cluster in your kubeconfig",
        "jobledger serve          a page on what is in a ledger, without a controller",
        "jobledger history JOB    what happened to a job, also long after it is gone",
        "docs/tutorial            the same by hand, step by step",
    ):
        console.print(f"  {line}", highlight=False)
