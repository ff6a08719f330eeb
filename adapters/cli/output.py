"""How results are shown: a table for people, JSON and YAML for machines. Errors are one line."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn
from uuid import UUID

import typer
import yaml
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adapters.cli.exit_codes import ExitCode
from core.errors import (
    BrokenChain,
    ClusterError,
    ClusterUnreachable,
    JobledgerError,
    LedgerMisconfigured,
    LedgerUnavailable,
    RequestThrottled,
)

WIDTH_MIN = 150
"""Columns of a table that is not shown in a terminal."""


def _console(*, stderr: bool) -> Console:
    """Return a console that shows data as it is: nothing in a message is markup."""
    found = Console(stderr=stderr, markup=False, emoji=False)
    if found.is_terminal or found.width >= WIDTH_MIN:
        return found
    return Console(stderr=stderr, width=WIDTH_MIN, markup=False, emoji=False)


console = _console(stderr=False)
errors = _console(stderr=True)


class Output(StrEnum):
    """The form of a result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def marked(word: str, style: str, rest: str = "") -> Text:
    """Return a line that begins with a word in a style of its own."""
    return Text.assemble((word, style), rest)


WORDY = frozenset(
    {"message", "cause", "resolution", "words", "found", "expected", "why", "unknown", "source"}
)
"""Columns that may be wrapped."""

PHASE_STYLES = {
    "Complete": "green",
    "Failed": "red",
    "ValidationFailed": "red",
    "JobsBuildFailed": "red",
    "JobsCreationFailed": "red",
    "Retrying": "yellow",
    "Suspended": "magenta",
    "Suspending": "magenta",
    "Running": "cyan",
}


def plain(value: object) -> object:
    """Return a value as JSON and YAML can hold it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, UUID | StrEnum):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def show(output: Output, rows: Sequence[Mapping[str, object]], columns: Iterable[str]) -> None:
    """Print rows: the named columns as a table, or everything in a machine's form."""
    if output is Output.JSON:
        print_json([plain(row) for row in rows])
    elif output is Output.YAML:
        sys.stdout.write(yaml.safe_dump([plain(row) for row in rows], sort_keys=False))
    else:
        console.print(table(rows, list(columns)))


def print_json(document: object) -> None:
    """Print a document as JSON, for machines: nothing else goes to standard output."""
    sys.stdout.write(json.dumps(plain(document), indent=2, ensure_ascii=False) + "\n")


def table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> Table:
    """Return the rows as a table in the manner of kubectl."""
    made = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    for column in columns:
        made.add_column(column.replace("_", " ").upper(), no_wrap=column not in WORDY)
    for row in rows:
        made.add_row(*(_cell(row.get(column)) for column in columns))
    return made


def _cell(value: object) -> Text:
    if isinstance(value, datetime):
        return Text(value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"))
    shown = "" if value is None else str(value)
    return Text(shown, style=PHASE_STYLES.get(shown, ""))


def fail(message: str, code: ExitCode) -> NoReturn:
    """Print one line and end."""
    errors.print(Text(f"jobledger: {message}", style="red"), soft_wrap=True)
    raise typer.Exit(code)


def exit_code(error: JobledgerError) -> ExitCode:
    """Return the exit code of an error of ours."""
    if isinstance(error, LedgerUnavailable | ClusterUnreachable | RequestThrottled):
        return ExitCode.UNAVAILABLE
    if isinstance(error, BrokenChain):
        return ExitCode.FOUND_WRONG
    if isinstance(error, LedgerMisconfigured):
        return ExitCode.MISCONFIGURED
    return ExitCode.REFUSED if isinstance(error, ClusterError) else ExitCode.MISCONFIGURED
