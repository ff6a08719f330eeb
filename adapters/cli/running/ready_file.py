"""Tells whoever waits for a server where it listens: `--ready-file`."""

from pathlib import Path

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import fail
from jobledger.adapters.files.written_once import in_place_of


def tell_ready(file: Path | None, url: str) -> None:
    """Write the address into the file, if one was named: whole, since somebody waits for it.

    Ends with a message if it cannot be written.
    """
    if file is None:
        return
    try:
        with in_place_of(file) as fresh:
            fresh.write_text(url, encoding="utf-8")
    except OSError as error:
        fail(f"--ready-file {file} cannot be written: {error.strerror}", ExitCode.MISCONFIGURED)
