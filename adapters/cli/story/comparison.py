"""`explain --compare`: prints what differs between two runs."""

from dataclasses import asdict

from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.files.dossiers import found_in, is_file, ledger_for
from jobledger.adapters.cli.finding import named
from jobledger.adapters.cli.output import Output, console, fail, show_document
from jobledger.adapters.settings import Settings
from jobledger.core.forensics.comparing.compare import Comparison, Difference, compare

SHOWN_MAX = 12
"""Differences of one facet that are printed; a machine gets all."""


def compare_runs(
    settings: Settings, jobs: tuple[str, str], where: tuple[str, str], output: Output
) -> None:
    """Compare two jobs, each as JOB or OTHER of the command, and print what differs.

    `where` is the namespace and the cluster that were given; OTHER is of the namespace of JOB.
    """
    job, other = jobs
    namespace, cluster = where
    space = namespace or ("" if is_file(job) else named(job)[0])
    with ledger_for(settings, *jobs) as opened:
        here = found_in(opened, job, namespace, cluster)
        there = found_in(opened, other, "" if "/" in other else space, cluster)
        if here.identity == there.identity:
            same = f"{here.identity.namespace}/{here.identity.name} (UID {here.identity.uid})"
            advice = "`jobledger get NAME --output json` has the UIDs of all runs of a name"
            fail(f"both are the same run, {same}; {advice}", ExitCode.USAGE)
        comparison = compare(here, there)
    if output is Output.TABLE:
        _tell(comparison)
    else:
        show_document(output, asdict(comparison))


def _tell(comparison: Comparison) -> None:
    console.print(Text(comparison.text), soft_wrap=True)
    facets = dict.fromkeys(one.facet for one in comparison.differences)
    for facet in facets:
        found = [one for one in comparison.differences if one.facet == facet]
        for one in found[:SHOWN_MAX]:
            console.print(_line(one), soft_wrap=True)
        if len(found) > SHOWN_MAX:
            told = f"{facet:<9} {len(found) - SHOWN_MAX} more differences; --output json has all"
            console.print(Text(told, style="dim"), soft_wrap=True)
    if not facets:
        console.print("Nothing that was seen of them differs.", soft_wrap=True)
    if comparison.same:
        console.print(Text(f"alike: {', '.join(comparison.same)}", style="green"), soft_wrap=True)
    if comparison.not_known:
        told = f"not compared: {'; '.join(comparison.not_known)}"
        console.print(Text(told, style="dim"), soft_wrap=True)


def _line(one: Difference) -> Text:
    here, there = (", ".join(map(str, some)) for some in (one.versions, one.other_versions))
    return Text.assemble(
        (f"{one.facet:<9} ", "cyan"),
        f"{one.text.removeprefix('image: ')} ",
        (f"[{here}] [there {there}]", "dim"),
    )
