"""Makes checks, tells what they found with what to do about it, and ends by the worst of it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TypeVar

import typer

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import Output, console, marked, show
from jobledger.core.errors import JobledgerError
from jobledger.core.forensics.findings import Check, Finding, Severity, error, worst

World = TypeVar("World")

Answer = tuple[str, str, list[Finding]]
"""Name of a check, what it asks, and what it found."""

STYLES = {
    Severity.OK: "green",
    Severity.NOTE: "dim",
    Severity.WARNING: "yellow",
    Severity.ERROR: "red",
}
CODES = {
    Severity.OK: ExitCode.OK,
    Severity.NOTE: ExitCode.OK,
    Severity.WARNING: ExitCode.FOUND_WRONG,
    Severity.ERROR: ExitCode.FOUND_WRONG,
}


def asked(checks: Iterable[Check[World]], world: Callable[[], World]) -> Iterator[Answer]:
    """Make checks, one after the other; one that cannot be made has found that."""
    for check in checks:
        try:
            findings = list(check.run(world()))
        except JobledgerError as problem:
            remedy = "mend that first; the check is not made"
            findings = [error(check.name, f"it could not be asked: {problem}", remedy)]
        yield check.name, check.asks, findings


def end_by(done: Sequence[Answer]) -> None:
    """End with 1 if anything was found that somebody should do something about.

    Raises:
        typer.Exit: it was.
    """
    code = CODES[worst(finding for _, _, findings in done for finding in findings)]
    if code is not ExitCode.OK:
        raise typer.Exit(code)


def tell(done: Sequence[Answer], output: Output) -> None:
    """Print each check with what it found, and what to do."""
    rows = [
        {
            "check": check,
            "asks": asks,
            "state": worst(findings).name.lower(),
            "findings": [as_row(finding) for finding in findings],
        }
        for check, asks, findings in done
    ]
    if output is not Output.TABLE:
        show(output, rows, ())
        return
    for check, asks, findings in done:
        state = worst(findings)
        console.print(marked(f"{state.name.lower():<8}", STYLES[state], f"{check:<20} {asks}"))
        for finding in findings:
            console.print(f"         {finding.what}", soft_wrap=True)
            console.print(f"         -> {finding.remedy}", style="dim", soft_wrap=True)


def as_row(finding: Finding) -> dict[str, object]:
    """Return a finding for a machine."""
    return {**asdict(finding), "severity": finding.severity.name.lower()}
