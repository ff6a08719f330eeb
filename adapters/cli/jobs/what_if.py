"""`jobledger what-if`: computes what another policy would have done with the same observations."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict

import typer
from rich.text import Text

from jobledger.adapters.cli.files.dossiers import dossier
from jobledger.adapters.cli.jobs import what_if_options as given
from jobledger.adapters.cli.options import (
    ClusterOption,
    DatabaseUrl,
    DataDir,
    NamespaceOption,
    OutputOption,
    settings_from,
)
from jobledger.adapters.cli.output import Output, console, print_json, show
from jobledger.adapters.cli.periods import instant
from jobledger.adapters.ledger_wiring import Ledger, ledger
from jobledger.adapters.settings import Settings
from jobledger.core.catalogue import read_event
from jobledger.core.forensics.replay.what_if import (
    ASSUMPTIONS,
    EXPERIENCE_MIN,
    Answer,
    Change,
    Experience,
    ask,
    experience,
    totals,
)
from jobledger.core.forensics.story.attempts import facts
from jobledger.core.jobs.history.attempt_facts import JobFacts
from jobledger.core.jobs.retries.failures import FailureClass
from jobledger.core.jobs.retries.options import Answer as Verdict
from jobledger.core.jobs.retries.options import RetryRule
from jobledger.core.ports.history import JobFilter

JOBS_MAX = 100_000
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
    )
    if change == Change():
        message = "say what is to be different, for example --backoff-limit 3"
        raise typer.BadParameter(message)
    settings = settings_from(database_url, data_dir)
    if job:
        jobs = [_one(settings, job, namespace, cluster)]
    else:
        with ledger(settings) as opened:
            jobs = list(_of_period(opened, (namespace, cluster), since, until))
    answers = [(name, ask(known, change)) for name, known in jobs]
    known = experience(item for _, item in jobs) if estimate else None
    _tell(answers, known, output, everything=everything or bool(job))


def rule(text: str) -> RetryRule:
    """Return one rule of a retry policy as it is typed."""
    subject, _, answer = text.partition("=")
    failure, _, code = subject.partition(":")
    try:
        return RetryRule(
            failure=FailureClass(failure),
            answer=Verdict(answer),
            exit_code=int(code) if code else None,
        )
    except ValueError as error:
        classes, verdicts = ", ".join(FailureClass), ", ".join(Verdict)
        message = f"{text!r}: classes are {classes}; answers are {verdicts}"
        raise typer.BadParameter(message) from error


def _one(settings: Settings, job: str, namespace: str, cluster: str) -> tuple[str, JobFacts]:
    with dossier(settings, job, namespace, cluster) as found:
        identity = found.identity
        return f"{identity.namespace}/{identity.name}", facts(item.event for item in found.read())


def _of_period(
    opened: Ledger, where: tuple[str, str], since: str, until: str
) -> Iterator[tuple[str, JobFacts]]:
    first, last = instant(since) if since else None, instant(until) if until else None
    for row in opened.history.jobs(JobFilter(namespace=where[0], cluster=where[1]), JOBS_MAX):
        if (first and row.created_at < first) or (last and row.created_at >= last):
            continue
        events = (read_event(item.record) for item in opened.store.read_stream(row.stream_id))
        yield f"{row.namespace}/{row.name}", facts(events)


def _tell(
    answers: Sequence[tuple[str, Answer]],
    known: Experience | None,
    output: Output,
    *,
    everything: bool,
) -> None:
    shown = [(name, answer) for name, answer in answers if everything or answer.is_different]
    summed = totals([answer for _, answer in answers])
    if output is not Output.TABLE:
        document = {
            "jobs": [{"job": name, **asdict(answer)} for name, answer in shown],
            "totals": asdict(summed),
            "estimate": _estimate(known, summed.unknown),
            "assumptions": list(ASSUMPTIONS),
        }
        if output is Output.JSON:
            print_json(document)
        else:
            show(output, [document], ())
        return
    if shown:
        show(output, [_row(name, answer) for name, answer in shown], COLUMNS)
    console.print(
        f"{summed.different} of {summed.jobs} jobs would be different: "
        f"attempts -{summed.attempts_saved} +{summed.attempts_added}, "
        f"cluster-hours -{summed.hours_saved:.2f} +{summed.hours_added:.2f} as far as is known; "
        f"{summed.unknown} have an unknown outcome",
        soft_wrap=True,
    )
    _tell_estimate(known, summed.unknown)
    for line in _listed("Assumed:", ASSUMPTIONS):
        console.print(Text(line, style="dim"), soft_wrap=True)


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
        console.print(f"no estimate: only {known.seen} attempts after a failure were observed")
        return
    console.print(
        f"estimated, not observed: of {known.seen} attempts after a failure {known.chance:.0%} "
        f"succeeded; one more for each of {unknown} jobs: {known.chance * unknown:.1f} successes "
        f"for {known.mean_hours * unknown:.2f} cluster-hours",
        soft_wrap=True,
    )
