"""Checks that functions, triggers and grants are those that the migrations made."""

from collections.abc import Iterator, Mapping

from sqlalchemy import Engine

from jobledger.adapters.postgres.schema.guards import GuardsFound, guards_of
from jobledger.adapters.postgres.verifying.condition import SERVICE_FUNCTIONS
from jobledger.core.forensics.findings import Check, Finding, error, note

_OURS = ("jobledger_app", "jobledger_report")
_AS_IT_WAS = (
    "find out who changed it, as the log may have been changed under it: `jobledger verify` with "
    "copies of the seals; a ledger restored from a dump into a migrated database has it as it was"
)


def guards(engine: Engine) -> Iterator[Finding]:
    """Yield functions and triggers that are not as the migrations make them, and ways around."""
    found = guards_of(engine)
    if found.there.revision != found.wanted.revision:
        what = (
            f"the schema is {found.there.revision}: what its functions and triggers should be is "
            f"known of {found.wanted.revision} only"
        )
        yield note("guards", what, "ask with a program of the release that migrated it")
        return
    for what in (
        *_functions(found),
        *_differences("the trigger", found.there.triggers, found.wanted.triggers),
        *_of_partitions(found),
        *found.bypasses,
        *found.powers,
    ):
        yield error("guards", what, _AS_IT_WAS)


def _functions(found: GuardsFound) -> Iterator[str]:
    there, wanted = found.there.functions, found.wanted.functions
    for name in sorted({*there, *wanted}):
        if name not in there:
            yield f"the function {name} is missing"
        elif name not in wanted:
            yield f"the function {name} is none of the ledger's, though it has the name of one"
        else:
            changed = sorted(key for key in wanted[name] if there[name][key] != wanted[name][key])
            if changed:
                yield f"the function {name} is not as it was made: {', '.join(changed)}"
    for name in found.foreign_functions:
        yield f"the function {name} is none of the ledger's and runs with the rights of its owner"


def _of_partitions(found: GuardsFound) -> Iterator[str]:
    for table, triggers in found.partitions.items():
        yield from _differences(f"of {table} the trigger", triggers, found.wanted.partition)


def _differences(what: str, there: Mapping[str, str], wanted: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*there, *wanted}):
        if name not in there:
            yield f"{what} {name} is missing"
        elif name not in wanted:
            yield f"{what} {name} is none of the ledger's: {there[name]}"
        elif there[name] != wanted[name]:
            yield f"{what} {name} is not as it was made: {there[name]}"


def grants(engine: Engine) -> Iterator[Finding]:
    """Yield who may do more, or less, than the migrations granted, what `rights` asks aside."""
    found = guards_of(engine)
    if found.there.revision != found.wanted.revision:
        return
    there, wanted = set(found.there.grants), set(found.wanted.grants)
    for grant in sorted(wanted - there):
        if not _asked_by_rights(grant):
            remedy = f"as the owner of the tables: GRANT {grant}"
            yield error("grants", f"this right is missing: {grant}", remedy)
    for grant in sorted(there - wanted):
        who = grant.rpartition(" TO ")[2]
        remedy = f"as the owner of the tables: REVOKE {grant.replace(' TO ', ' FROM ')}"
        if grant.startswith("SELECT ") and who not in _OURS:
            yield note(
                "grants", f"somebody else may read: {grant}", f"if it is not meant, {remedy}"
            )
        elif not _asked_by_rights(grant):
            yield error("grants", f"this right was not granted by a migration: {grant}", remedy)


def _asked_by_rights(grant: str) -> bool:
    """Return whether the check `rights` tells of it: what the service needs, writes to tables."""
    what, _, who = grant.rpartition(" TO ")
    if who != "jobledger_app":
        return False
    _, is_function, name = what.partition("EXECUTE ON FUNCTION ")
    return name in SERVICE_FUNCTIONS if is_function else not what.startswith(("REFER", "TRIGGER"))


CHECKS: tuple[Check[Engine], ...] = (
    Check(
        name="guards",
        asks="Are the functions and triggers that guard the log as the migrations made them?",
        run=guards,
    ),
    Check(
        name="grants",
        asks="Has nobody more rights on the ledger than the migrations granted, or less?",
        run=grants,
    ),
)
