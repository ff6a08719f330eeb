"""`jobledger what-if`: computes what another policy would have done with the same observations."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import NamedTuple

import typer
from rich.text import Text

from jobledger.adapters.cli.files.dossiers import dossier, ledger_to_read
from jobledger.adapters.cli.finding import youngest
from jobledger.adapters.cli.jobs import what_if_options as given
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, show, show_document
from jobledger.adapters.cli.periods import bounds
from jobledger.adapters.ledger_wiring import Ledger
from jobledger.adapters.settings import Settings
from jobledger.core.catalogue import JobEvent, read_event
from jobledger.core.forensics.attempts import facts
from jobledger.core.forensics.replay.changes import Change
from jobledger.core.forensics.replay.experience import EXPERIENCE_MIN, Experience, experience
from jobledger.core.forensics.replay.same_cluster import judged_facts
from jobledger.core.forensics.replay.what_if import ASSUMPTIONS, Answer, Totals, ask, totals
from jobledger.core.forensics.story.causes import with_causes
from jobledger.core.jobs.failures.naming import read_rule
from jobledger.core.jobs.history.attempt_facts import JobFacts
from jobledger.core.jobs.retries.options import RetryRule
from jobledger.core.ports.history import JobFilter
from jobledger.core.values.counted import counted
from jobledger.core.values.instants import Instant

Reader = Callable[[Iterable[JobEvent]], JobFacts]
COLUMNS = ("job", "was", "would_be", "attempts", "cluster_hours", "why", "unknown")


def what_if(
    job: given.Job = "",
    namespace: NamespaceOption = "",
    cluster: ClusterOption = "",
    since: given.Since = "",
    until: given.Until = "",
    backoff_limit: given.BackoffLimit = None,
    retry_delay: given.RetryDelay = None,
    retry_delay_max: given.RetryDelayMax = None,
    growth: given.PauseGrowth = None,
    retry: given.Retry = None,
    uncounted_max: given.UncountedMax = None,
    active_deadline: given.ActiveDeadline = None,
    pre_running_deadline: given.PreRunningDeadline = None,
    job_deadline: given.JobDeadline = None,
    retry_on: given.RetryOn = None,
    ttl: given.Ttl = None,
    estimate: given.Estimate = False,
    everything: given.Everything = False,
    output: OutputOption = Output.TABLE,
    database_url: DatabaseUrl = "",
    data_dir: DataDir = None,
) -> None:
    """Show which jobs would have ended otherwise under another policy. Nothing is changed."""
    change = Change(
        backoff_limit=backoff_limit,
        delay_seconds=retry_delay,
        delay_max_seconds=retry_delay_max,
        growth=growth,
        rules=tuple(rule(text) for text in retry) if retry else None,
        uncounted_max=uncounted_max,
        active_deadline_seconds=active_deadline,
        pre_running_deadline_seconds=pre_running_deadline,
        job_deadline_seconds=job_deadline,
        ttl_seconds=ttl,
        same_cluster=retry_on is not None,
    )
    if change == Change():
        raise typer.BadParameter("say what is to be different, for example --backoff-limit 3")
    period = bounds(since, until)
    settings = settings_from(database_url, data_dir)

    def read(events: Iterable[JobEvent]) -> JobFacts:
        gathered = list(events)
        told = (judged_facts if change.same_cluster else facts)(gathered)
        return with_causes(told, gathered) if change.rules is not None else told

    if job:
        jobs = [_one(settings, job, (namespace, cluster), read)]
    else:
        with ledger_to_read(settings) as opened:
            jobs = list(_of_period(opened, (namespace, cluster), period, read))
    answers = [(named, ask(known, change)) for named, known in jobs]
    known = experience(item for _, item in jobs) if estimate else None
    _tell(answers, known, output, everything=everything or bool(job))


class _Named(NamedTuple):
    """Which job an answer is about; several may have one name."""

    job: str
    kind: str
    uid: str


def rule(text: str) -> RetryRule:
    """Return one rule of a retry policy as it is typed."""
    try:
        return read_rule(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _one(
    settings: Settings, job: str, where: tuple[str, str], read: Reader
) -> tuple[_Named, JobFacts]:
    with dossier(settings, job, *where) as found:
        who = found.identity
        named = _Named(f"{who.namespace}/{who.name}", found.kind, who.uid)
        return named, read(item.event for item in found.read())


def _of_period(
    opened: Ledger,
    where: tuple[str, str],
    period: tuple[Instant | None, Instant | None],
    read: Reader,
) -> Iterator[tuple[_Named, JobFacts]]:
    first, last = period
    for row in youngest(opened.history, JobFilter(namespace=where[0], cluster=where[1])):
        if (first and row.created_at < first) or (last and row.created_at >= last):
            continue
        events = (read_event(item.record) for item in opened.store.read_stream(row.stream_id))
        yield _Named(f"{row.namespace}/{row.name}", row.kind, row.uid), read(events)


def _tell(
    answers: Sequence[tuple[_Named, Answer]],
    known: Experience | None,
    output: Output,
    *,
    everything: bool,
) -> None:
    told = [(named, answer) for named, answer in answers if everything or _tells(answer)]
    shown = [(named.job, answer) for named, answer in told]
    summed = totals([answer for _, answer in answers])
    if output is not Output.TABLE:
        document = {
            "jobs": [{**named._asdict(), **asdict(answer)} for named, answer in told],
            "totals": asdict(summed),
            "estimate": _estimate(known, summed.unknown),
            "assumptions": list(ASSUMPTIONS),
        }
        show_document(output, document)
        return
    if shown:
        show(output, [_row(name, answer) for name, answer in shown], COLUMNS)
    console.print(
        f"{summed.different} of {counted(summed.jobs, 'job')} would be different: "
        f"attempts -{summed.attempts_saved} +{summed.attempts_added}, "
        f"cluster-hours -{summed.hours_saved:.2f} +{summed.hours_added:.2f} as far as is known; "
        f"{summed.unknown} {'has' if summed.unknown == 1 else 'have'} an unknown outcome",
        soft_wrap=True,
    )
    _tell_clusters(shown, summed)
    _tell_estimate(known, summed.unknown)
    for line in _listed("Assumed:", ASSUMPTIONS):
        console.print(Text(line, style="dim"), soft_wrap=True)


def _tells(answer: Answer) -> bool:
    """Return whether an answer says anything that the observed life does not."""
    return answer.is_different or bool(answer.new_clusters)


def _tell_clusters(shown: Sequence[tuple[str, Answer]], summed: Totals) -> None:
    """Tell of the RayClusters that would have stayed for a retry, and why others would not."""
    if not summed.clusters_saved and not summed.new_clusters:
        return
    console.print(
        f"RayClusters -{summed.clusters_saved}: {summed.waiting_saved_seconds:.0f} s of waiting "
        "for them saved, as far as those were ready; "
        f"{counted(summed.new_clusters, 'retry', 'retries')} would have had a new one all the same",
        soft_wrap=True,
    )
    for name, answer in shown:
        for new in answer.new_clusters:
            console.print(Text(f"  {name}, attempt {new.attempt}: {new.why}"), soft_wrap=True)


def _listed(head: str, lines: Iterable[str]) -> Iterator[str]:
    yield head
    yield from (f"  {line}" for line in lines)


def _row(name: str, answer: Answer) -> dict[str, object]:
    return {
        "job": name,
        "was": answer.was,
        "would_be": answer.would_be,
        "attempts": f"{answer.attempts_were} -> {answer.attempts}",
        "cluster_hours": f"{answer.hours_were:.3f} -> {answer.hours:.3f}",
        "why": answer.why,
        "unknown": answer.unknown,
    }


def _estimate(known: Experience | None, unknown: int) -> dict[str, object] | None:
    """Return what attempts that never ran might have done; None if nobody asked, or may say."""
    if known is None or known.seen < EXPERIENCE_MIN:
        return None
    return {
        "rests_on_attempts": known.seen,
        "chance_of_success": known.chance,
        "jobs": unknown,
        "successes": known.chance * unknown,
        "cluster_hours": known.mean_hours * unknown,
    }


def _tell_estimate(known: Experience | None, unknown: int) -> None:
    if known is None:
        return
    said = _estimate(known, unknown)
    if said is None:
        was = "was" if known.seen == 1 else "were"
        console.print(
            f"no estimate: only {counted(known.seen, 'attempt')} after a failure {was} observed"
        )
        return
    console.print(
        f"estimated, not observed: of {counted(known.seen, 'attempt')} after a failure "
        f"{known.chance:.0%} "
        f"succeeded; one more for each of {counted(unknown, 'job')}: "
        f"{known.chance * unknown:.1f} successes "
        f"for {known.mean_hours * unknown:.2f} cluster-hours",
        soft_wrap=True,
    )
