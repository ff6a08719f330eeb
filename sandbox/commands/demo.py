"""`jobledger demo`: shows the main job, from nothing, in about a minute."""

from typing import Annotated

import typer
from pydantic import SecretStr

from jobledger.adapters.cli.output import console, marked
from jobledger.adapters.cli.running.stopping import StopSignals
from jobledger.adapters.cli.story.history import story
from jobledger.adapters.cli.story.story_lines import print_story
from jobledger.adapters.ledger_wiring import ledger
from jobledger.adapters.telemetry.logging import configure_logging
from jobledger.core.forensics.story.timeline import QUIET
from jobledger.core.ports.history import JobFilter
from jobledger.sandbox.demo.afterwards import check_ends, prove, tell_by_sql, where_next
from jobledger.sandbox.demo.play import NAMESPACE, RETRIED, play, stage

INTRODUCTION = """\
Five RayJobs and four TrainJobs on a local Kubernetes-style API, run as real processes; Postgres and
the controller beside them.
  third-time-lucky   fails twice, succeeds on its third RayCluster (backoffLimit 2)
  never-converges    fails on five RayClusters (backoffLimit 4)
  too-slow           passes its deadline of 8 s, and is not retried (backoffLimit 3)
  on-hold            is suspended while it runs, and resumed
  mistaken           is not valid
  fits-a-line        a TrainJob: two nodes fit a line together, for real
  too-early          its runtime comes after it
  cannot-be-built    sets what the torch plugin sets
  second-wind        both nodes fail, its JobSet restarts them
"""


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the page open at the end, until Ctrl-C.")
    ] = False,
) -> None:
    """Watch RayJobs fail, be retried and succeed while the controller is killed.

    At the end the log tells the story, and is verified.
    """
    configure_logging("console", "error")
    console.print(INTRODUCTION, highlight=False)
    console.print("Starting Postgres, the sandbox and the controller …", style="dim")
    with stage(console) as on:
        play(on)
        settings = on.settings.model_copy(update={"database_url": SecretStr(on.database_url)})
        with ledger(settings) as opened:
            check_ends(opened)
            row = opened.history.jobs(JobFilter(namespace=NAMESPACE, name=RETRIED), 1)[0]
            _headline("jobledger history third-time-lucky")
            print_story(row, [line for line in story(opened, row) if line.event not in QUIET])
            _headline("psql    # the same story from one query")
            tell_by_sql(console, opened)
            _headline("jobledger verify; jobledger rebuild --check")
            prove(console, opened)
        where_next(console, on, keep=keep)
        if keep:
            StopSignals().wait()


def _headline(command: str) -> None:
    console.print(marked(f"\n$ {command}", "bold"))
