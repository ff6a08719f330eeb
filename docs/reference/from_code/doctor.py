"""The page of the checks of `jobledger doctor`: where each looks, and what it asks."""  # noqa: INP001 see generate.py

from collections.abc import Iterator

from docs.reference.from_code.attributes import attributes, cell
from jobledger.adapters.cli.ledger.doctor import catalogue
from jobledger.core.forensics.findings import Severity

HEAD = """\
# What the doctor asks

`jobledger doctor` makes these checks, in this order; it only reads. How it is used:
[ask the doctor](../howto/doctor.md).
"""


def doctor_page() -> str:
    """Return the page."""
    return "\n".join((HEAD, *_checks(), *_severities()))


def _checks() -> Iterator[str]:
    for place in ("database", "cluster"):
        yield f"## Of the {place}\n"
        yield "| check | question |"
        yield "|---|---|"
        for where, name, asks in catalogue():
            if where == place:
                yield f"| `{name}` | {cell(asks)} |"
        yield ""


def _severities() -> Iterator[str]:
    yield "## How bad a finding is\n"
    yield "| state | meaning |"
    yield "|---|---|"
    words = {member.name: member.words for member in attributes(Severity)}
    for member in Severity:
        yield f"| `{member.name.lower()}` | {cell(words[member.name])} |"
