"""Prints results: tables for people, JSON and YAML for programs, errors in one line."""

import errno
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NoReturn
from uuid import UUID

import typer
from msgspec import Struct, structs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.tables import table, too_wide, whole_lines
from jobledger.adapters.files.yaml_texts import yaml_text
from jobledger.core.errors import (
    BrokenChain,
    ClusterError,
    ClusterUnreachable,
    JobledgerError,
    LedgerMisconfigured,
    LedgerUnavailable,
    NoWayToCluster,
    RequestThrottled,
)
from jobledger.core.values.visible_text import visible, visible_json

WIDTH_MIN = 150
"""Cells of a line that is not shown in a terminal, where anything is wrapped at all."""


UNCUT = 100_000
"""Cells of a line that is never wrapped or cut."""


class _Console(Console):
    """A console that shows what a text would have it do, and does not do it.

    Its reader may go away: the command ends then, as `main` says how.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield what is shown; styles are not part of a text and stay."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError(errno.EPIPE, "nobody reads any more")


def _console(*, stderr: bool) -> Console:
    """Return a console that shows data as it is: nothing in a message is markup."""
    found = _Console(stderr=stderr, markup=False, emoji=False)
    if found.is_terminal or found.width >= WIDTH_MIN:
        return found
    return _Console(stderr=stderr, width=WIDTH_MIN, markup=False, emoji=False)


console = _console(stderr=False)
errors = _console(stderr=True)


def uncut() -> Console:
    """Return the console for tables: as wide as any, where no terminal says how wide it is."""
    if console.is_terminal:
        return console
    return _Console(file=console.file, width=UNCUT, markup=False, emoji=False)


class Output(StrEnum):
    """The form of a result."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def marked(word: str, style: str, rest: str = "") -> Text:
    """Return a line that begins with a word in a style of its own."""
    return Text.assemble((word, style), rest)


DIGEST_SHOWN = 12
"""Characters of a digest that a terminal is shown."""

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
    if isinstance(value, Struct):
        return plain(structs.asdict(value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def show(
    output: Output,
    rows: Sequence[Mapping[str, object]],
    columns: Iterable[str],
    none: str = "none found",
) -> None:
    """Print rows: the named columns as a table, or everything in a machine's form.

    Without rows a reader of tables is told `none`, on standard error, as kubectl does.
    """
    if output is Output.JSON:
        print_json([plain(row) for row in rows])
    elif output is Output.YAML:
        sys.stdout.write(yaml_text([plain(row) for row in rows], ascii_only=True))
    elif rows:
        print_table(rows, list(columns))
    else:
        errors.print(Text(none, style="dim"), soft_wrap=True)


def show_document(output: Output, document: Mapping[str, object]) -> None:
    """Print one document: as it is in JSON, as a list of one in YAML."""
    if output is Output.JSON:
        print_json(document)
    else:
        show(output, [document], ())


def print_json(document: object) -> None:
    """Print a document as JSON, for machines: nothing else goes to standard output."""
    told = json.dumps(plain(document), indent=2, ensure_ascii=False)
    sys.stdout.write(visible_json(told) + "\n")


def print_json_lines(documents: Iterable[object]) -> None:
    """Print documents as JSON, each on a line of its own, and at once."""
    for document in documents:
        sys.stdout.write(visible_json(json.dumps(plain(document), ensure_ascii=False)) + "\n")
    sys.stdout.flush()


def print_table(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> None:
    """Print the rows as a table in the manner of kubectl, with no cell cut.

    A terminal gets the columns that it has room for, and is told which it has not.
    """
    cells = {name: [heading(name), *(_cell(row.get(name)) for row in rows)] for name in columns}
    if not console.is_terminal:
        for line in whole_lines(cells):
            console.print(line, soft_wrap=True)
        return
    cells = {name: [_short(name, cell) for cell in column] for name, column in cells.items()}
    left_out = too_wide(cells, console.width)
    kept = {name: cells[name] for name in columns if name not in left_out}
    console.print(table(kept, console.width))
    if left_out:
        names = ", ".join(name.replace("_", " ") for name in left_out)
        told = f"left out for want of room: {names}; --output json has all"
        console.print(Text(told, style="dim"), soft_wrap=True)


def heading(column: str) -> Text:
    """Return what stands over a column."""
    return Text(column.replace("_", " ").upper(), style="bold")


def _short(column: str, cell: Text) -> Text:
    """Return the beginning of a digest, which commands take for the whole; else the cell."""
    return cell[:DIGEST_SHOWN] if column == "digest" else cell


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
    if isinstance(error, NoWayToCluster):
        return ExitCode.MISCONFIGURED
    if isinstance(error, LedgerUnavailable | ClusterUnreachable | RequestThrottled):
        return ExitCode.UNAVAILABLE
    if isinstance(error, BrokenChain):
        return ExitCode.FOUND_WRONG
    if isinstance(error, LedgerMisconfigured):
        return ExitCode.MISCONFIGURED
    return ExitCode.REFUSED if isinstance(error, ClusterError) else ExitCode.MISCONFIGURED
