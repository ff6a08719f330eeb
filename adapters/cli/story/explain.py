"""`jobledger explain JOB`: explains in a few sentences why a job ended, citing its events."""

from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from jobledger.adapters.cli.files.dossiers import (
    IN_THE_LEDGER,
    JobArgument,
    found_in,
    is_file,
    ledger_for,
)
from jobledger.adapters.cli.files.job_names import complete_job
from jobledger.adapters.cli.finding import called_so
from jobledger.adapters.cli.jobs.standing import tell_standing
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, show_document
from jobledger.adapters.cli.story.comparison import compare_runs
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.postgres.reports.asking.similar import similar_to
from jobledger.core.forensics.bundles.dossier import Dossier
from jobledger.core.forensics.story.account import Account, Sentence
from jobledger.core.forensics.story.causes import counted_as
from jobledger.core.forensics.story.explain import explain as account_of
from jobledger.core.forensics.story.similar import Similar
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.ports.history import JobFilter
from jobledger.core.projections.view import View, advance

DIGEST_SHOWN = 12


def explain(
    job: JobArgument,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    other: Annotated[
        str,
        typer.Option(
            "--compare",
            metavar="OTHER",
            help="Tell instead what differs from another run: a job as JOB, or a bundle's file.",
            autocompletion=complete_job,
        ),
    ] = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Tell why a job ended as it did, or what it waits for; [7] is version 7 of its history."""
    settings = settings_from(database_url, data_dir)
    if other:
        compare_runs(settings, (job, other), (namespace, cluster), output)
        return
    with ledger_for(settings, job) as opened:
        found = found_in(opened, job, namespace, cluster)
        account = account_of(found)
        worked = _worked(opened, found.identity) if account.failure_class else ""
        alike = _alike(opened, found, account.failure_class)
        events = found.read()
    counted = counted_as(account, [read.event for read in events])
    told = {**asdict(account), "counted_as": counted, "similar": alike and asdict(alike)}
    if output is not Output.TABLE:
        show_document(output, told)
        return
    _tell(account, counted)
    for sentence in alike.sentences if alike is not None else ():
        console.print(Text(sentence), soft_wrap=True)
    named_so = job if is_file(job) else called_so(found.identity, job, cluster)
    _suggest(account, named_so, worked, is_live=found.origin == IN_THE_LEDGER)
    _, rows = advance(View(), (read.event for read in events))
    tell_standing(rows.job, events)


RUNS_MAX = 50
"""So many runs of the same name are looked through for one that worked."""


def _worked(opened: Ledger | None, identity: JobIdentity) -> str:
    """Return the UID of the youngest other run of the same name that is complete; empty: none."""
    if opened is None:
        return ""
    same = JobFilter(
        cluster=identity.cluster,
        namespace=identity.namespace,
        name=identity.name,
        phase="Complete",
    )
    runs = opened.history.jobs(same, RUNS_MAX)
    return next((row.uid for row in runs if row.uid != identity.uid), "")


def _alike(opened: Ledger | None, found: Dossier, told_as: str) -> Similar | None:
    """Return what else failed so in the month before; None where nothing is known of it."""
    if opened is None or not told_as:
        return None
    return similar_to(opened.engine, found.events[0].record.stream_id, told_as)


def _tell(account: Account, counted: str) -> None:
    for sentence in account.sentences:
        text = Text.assemble(sentence.text, " ", (_cited(sentence), "dim"))
        console.print(text, soft_wrap=True)
    if account.failure_class:
        group = account.failure_group
        of = "" if group == account.failure_class else f" (retry group {group})"
        line = f"failure class {account.failure_class}{of}: {account.advice}"
        if counted not in {"", account.failure_class}:
            line += f" (reports, which read no kept logs, count it as {counted})"
        console.print(Text(line, style="yellow"), soft_wrap=True)


def _suggest(account: Account, named_so: str, worked: str, *, is_live: bool) -> None:
    """Print what to ask next: the whole of the log, else the history; a run that worked.

    `is_live` tells whether the job is one of this ledger, and may still go on.
    """
    for digest in account.logs[:1]:
        line = f"the whole log: jobledger evidence {named_so} {digest[:DIGEST_SHOWN]}"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    if account.outcome == "going on" and is_live:
        line = f"as it goes on: jobledger history {named_so} --follow"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    elif account.outcome == "going on":
        line = f"a copy, as it was exported; all of it: jobledger history {named_so} --all"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    elif (account.failure_class or account.outcome != "complete") and not account.logs:
        line = f"no log was kept; everything that was seen: jobledger history {named_so} --all"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    elif account.outcome == "complete":
        line = f"attempt by attempt: jobledger history {named_so} --table"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    if worked:
        line = f"a run of it that worked: jobledger explain {named_so} --compare {worked}"
        console.print(Text(line, style="cyan"), soft_wrap=True)


def _cited(sentence: Sentence) -> str:
    versions = ", ".join(str(version) for version in sentence.versions)
    kept = ", ".join(digest[:DIGEST_SHOWN] for digest in sentence.evidence)
    return f"[{versions}]" + (f" [evidence {kept}]" if kept else "")
