"""What a write asks for besides its body."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from jobledger.sandbox.model.field_ownership import Writer
from jobledger.sandbox.model.queries import is_asked
from jobledger.sandbox.model.refusals import bad_request
from jobledger.sandbox.model.targets import Target

_VALIDATIONS: Final = ("", "Ignore", "Warn", "Strict")
LONGEST_MANAGER: Final = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The query of a create, update or patch, checked."""

    writer: Writer
    dry_run: bool = False
    force: bool = False
    validation: str = "Warn"
    warnings: list[str] = field(default_factory=list)
    """Collected on the way; sent as `Warning` headers."""


def write_options(target: Target, query: Mapping[str, str], agent: str, how: str) -> WriteOptions:
    """Return the options of a write.

    Args:
        target: What is written.
        query: The request's query.
        agent: The User-Agent, whose first word is the field manager unless the query names one.
        how: `Update` or `Apply`.

    Raises:
        Refusal: 400, an option has a value it cannot have.
    """
    dry_run = query.get("dryRun", "")
    if dry_run not in ("", "All"):
        raise bad_request(f'dryRun: Unsupported value: "{dry_run}": supported values: "All"')
    validation = query.get("fieldValidation", "")
    if validation not in _VALIDATIONS:
        raise bad_request(f'fieldValidation: Unsupported value: "{validation}"')
    name = query.get("fieldManager") or agent.partition("/")[0][:LONGEST_MANAGER] or "unknown"
    writer = Writer(
        name=name,
        operation=how,
        api_version=target.kind.api_version,
        subresource=target.subresource if target.subresource == "status" else "",
    )
    return WriteOptions(
        writer=writer,
        dry_run=bool(dry_run),
        force=is_asked(query, "force"),
        validation=validation or "Warn",
    )
