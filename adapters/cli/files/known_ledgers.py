"""Remembers which private ledgers a user has, so that a forgotten data directory is told.

Without `--data-dir` a command reads the ledger of the default directory, and makes it if there is
none. Somebody who controls a cluster with another directory would see an empty ledger.
"""

import os
from pathlib import Path

from rich.text import Text

from jobledger.adapters.cli.output import errors
from jobledger.adapters.files.written_once import in_place_of
from jobledger.adapters.settings import Settings, default_data_dir

KEPT_MAX = 50
"""Directories that are remembered, the latest."""


def is_private(settings: Settings) -> bool:
    """Return whether the ledger is one in the data directory."""
    return not settings.database_url.get_secret_value()


def private_name(settings: Settings, *, is_new: bool) -> str:
    """Return what a private ledger is called, and whether a command has just made it."""
    return f"the private one in {settings.data_dir}" + (", made just now" if is_new else "")


def is_there(data_dir: Path) -> bool:
    """Return whether a directory holds a ledger, as far as this user may look into it."""
    try:
        return (data_dir / "postgres" / "PG_VERSION").exists()
    except OSError:
        return False


def remember(settings: Settings) -> None:
    """Write down where a private ledger is; where that cannot be written, nothing is lost."""
    file = _file()
    known = _known(file)
    if file is None or not is_private(settings) or settings.data_dir in known:
        return
    lines = [str(one) for one in (*known, settings.data_dir)][-KEPT_MAX:]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with in_place_of(file) as fresh:
            fresh.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError:
        return


def others(settings: Settings) -> tuple[Path, ...]:
    """Return the data directories of this user's other private ledgers that are still there."""
    known = dict.fromkeys((*_known(_file()), default_data_dir()))
    return tuple(one for one in known if one != settings.data_dir and is_there(one))


def told_of_others(settings: Settings) -> str:
    """Return that there are other private ledgers and how they are read, or nothing."""
    found = [f"--data-dir {one}" for one in others(settings)] if is_private(settings) else []
    return f"another ledger is there: {' or '.join(found)}" if found else ""


def tell_if_made(settings: Settings) -> None:
    """Say, on standard error, that a command makes the ledger that it reads: it finds nothing.

    Whoever forgets the data directory takes that for an answer.
    """
    if not is_private(settings) or is_there(settings.data_dir):
        return
    errors.print(
        Text(f"ledger: {private_name(settings, is_new=True)}", style="dim"), soft_wrap=True
    )
    if told := told_of_others(settings):
        errors.print(Text(told, style="yellow"), soft_wrap=True)


def _file() -> Path | None:
    given = Path(os.environ.get("XDG_STATE_HOME", ""))
    try:
        home = given if given.is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:  # no HOME, and no entry in passwd
        return None
    return home / "jobledger" / "ledgers"


def _known(file: Path | None) -> tuple[Path, ...]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None else []
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(Path(line) for line in lines if line.startswith("/"))
