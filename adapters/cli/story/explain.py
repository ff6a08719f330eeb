"""`jobledger explain JOB`: explains in a few sentences why a job ended, citing its events."""

from dataclasses import asdict

from rich.text import Text

from jobledger.adapters.cli.files.dossiers import JobArgument, dossier, is_file
from jobledger.adapters.cli.jobs.standing import tell_standing
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, print_json, show
from jobledger.core.forensics.story.explain import Account
from jobledger.core.forensics.story.explain import explain as account_of
from jobledger.core.forensics.story.sentence import Sentence
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.projections.view import View, advance

DIGEST_SHOWN = 12


def explain(
    job: JobArgument,
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Tell why a job ended as it did, or what it waits for; [7] is version 7 of its history."""
    settings = settings_from(database_url, data_dir)
    with dossier(settings, job, namespace, cluster) as found:
        account = account_of(found)
        events = found.read() if output is Output.TABLE else ()
    if output is Output.JSON:
        print_json(asdict(account))
    elif output is Output.YAML:
        show(output, [asdict(account)], ())
    else:
        _tell(account)
        _suggest(account, found.identity, job if is_file(job) else "")
        _, rows = advance(View(), (read.event for read in events))
        tell_standing(rows.job, events)


def _tell(account: Account) -> None:
    for sentence in account.sentences:
        text = Text.assemble(sentence.text, " ", (_cited(sentence), "dim"))
        console.print(text, soft_wrap=True)
    if account.failure_class:
        group = account.failure_group
        of = "" if group == account.failure_class else f" (retry group {group})"
        line = f"failure class {account.failure_class}{of}: {account.advice}"
        console.print(Text(line, style="yellow"), soft_wrap=True)


def _suggest(account: Account, identity: JobIdentity, file: str) -> None:
    """Print the command that shows the whole of the log that was quoted, or else the history."""
    named = file or f"{identity.namespace}/{identity.name}"
    for digest in account.logs[:1]:
        line = f"the whole log: jobledger evidence {named} {digest[:DIGEST_SHOWN]}"
        console.print(Text(line, style="cyan"), soft_wrap=True)
    if account.failure_class and not account.logs:
        line = f"no log was kept; everything that was seen: jobledger history {named} --all"
        console.print(Text(line, style="cyan"), soft_wrap=True)


def _cited(sentence: Sentence) -> str:
    versions = ", ".join(str(version) for version in sentence.versions)
    kept = ", ".join(digest[:DIGEST_SHOWN] for digest in sentence.evidence)
    return f"[{versions}]" + (f" [evidence {kept}]" if kept else "")
