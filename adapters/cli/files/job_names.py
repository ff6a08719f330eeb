"""Completes the names of jobs in a shell, from the ledger that the command would read.

A shell takes what is offered into the command that is being typed, so only what can be the name of
a job is. Nothing is made by it: where there is no ledger yet, and where Postgres does not answer,
no name is offered and nothing is said.
"""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from jobledger.adapters.cli.files.known_ledgers import is_private, is_there
from jobledger.adapters.settings import Settings
from jobledger.core.errors import JobledgerError

_NAME = re.compile(r"[a-z0-9.-]+/[a-z0-9.-]+")
"""Namespace and name. Source: RFC 1123, as Kubernetes asks for it."""

NAMES_MAX = 200
"""So many names are offered; a shell asks what more is typed of it."""

JOBS_READ_MAX = 5_000
"""Among so many of the youngest jobs they are looked for."""


def complete_job(ctx: Any, incomplete: str) -> list[str]:  # noqa: ANN401 typer's own click is private
    """Return names of jobs that begin with what is typed, the youngest first.

    With a slash in it they are `namespace/name`.
    """
    try:
        return list(dict.fromkeys(_names(ctx.params, incomplete)))[:NAMES_MAX]
    except (JobledgerError, OSError, ValueError):
        return []


def _names(given: dict[str, Any], incomplete: str) -> Iterator[str]:
    settings = _settings(given)
    if is_private(settings) and not is_there(settings.data_dir):
        return
    # By name: whoever completes anything else does not load what reads a ledger.
    wiring = import_module("jobledger.adapters.ledger_wiring")
    history = import_module("jobledger.core.ports.history")
    wanted = history.JobFilter(
        namespace=given.get("namespace") or "", cluster=given.get("cluster") or ""
    )
    with wiring.ledger(settings) as opened:
        rows = opened.history.jobs(wanted, JOBS_READ_MAX)
    for row in rows:
        name = f"{row.namespace}/{row.name}"
        if _NAME.fullmatch(name) is None:
            continue
        if "/" not in incomplete:
            name = row.name
        if name.startswith(incomplete):
            yield name


def _settings(given: dict[str, Any]) -> Settings:
    values: dict[str, Any] = {}
    if given.get("database_url"):
        values["database_url"] = given["database_url"]
    if given.get("data_dir"):
        values["data_dir"] = Path(given["data_dir"]).absolute()
    return Settings(**values)
