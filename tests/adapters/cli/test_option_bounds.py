"""No number on a command line is too large for what it is used for."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from jobledger.adapters.cli.main import app
from jobledger.adapters.forensics.signing import make_keys
from jobledger.adapters.postgres.schema.version import NoSuchRevision, upgrade
from jobledger.core.errors import LedgerMisconfigured


def commands(found: Any, path: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 typer's own click is private
    """Yield every command with its name."""
    if not hasattr(found, "list_commands"):
        yield path, found
        return
    for name in found.list_commands(None):
        yield from commands(found.get_command(None, name), f"{path} {name}".strip())


def test_every_whole_number_has_a_greatest() -> None:
    """One without ends as an error of Postgres or of a date, far from what was typed."""
    numbers = {
        f"{name} --{one.name}": one.max
        for name, command in commands(get_command(app))
        for one in command.params
        if one.type_descriptor.annotation is int
    }
    assert len(numbers) > 20, "numbers are found"
    assert [name for name, greatest in numbers.items() if greatest is None] == []


def test_a_key_without_a_name_is_refused_in_a_sentence() -> None:
    with pytest.raises(LedgerMisconfigured, match=r"^\. cannot be made"):
        make_keys(Path())


def test_a_revision_without_a_name_is_none(database_url: str) -> None:
    with pytest.raises(NoSuchRevision, match="no way to revision '': it has no name"):
        upgrade(database_url, "")
