"""A log line has a constant name in snake_case; what differs between two lines are fields."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEVELS = {"debug", "info", "warning", "error", "exception", "critical"}
NAME = re.compile(r"[a-z]+(_[a-z0-9]+)*")


def names() -> Iterator[tuple[str, str]]:
    """Yield where a line is written, and under which name."""
    for file in sorted((ROOT / "adapters").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="log"), attr=level),
                    args=[name, *_],
                ) if level in LEVELS:
                    yield f"{file.relative_to(ROOT)}:{node.lineno}", ast.unparse(name).strip("'")


@pytest.mark.parametrize(("place", "name"), list(names()))
def test_a_log_line_has_a_name_in_snake_case(place: str, name: str) -> None:
    assert NAME.fullmatch(name), f"{place}: {name!r}; docs/howto/operate.md promises snake_case"
