"""Which job a user means by JOB: a name, `namespace/name`, or a UID."""

from collections.abc import Sequence

from adapters.cli.exit_codes import ExitCode
from adapters.cli.output import fail
from core.jobs.rows import JobRow
from core.ports.history import History, JobFilter

MATCHES_MAX = 20


def find_job(history: History, name: str, namespace: str = "") -> JobRow:
    """Return the youngest job that is meant.

    Ends with a message if there is none, or if several clusters or namespaces have one.
    """
    found = matches(history, name, namespace)
    if not found:
        space, _, plain = name.rpartition("/")
        where = f" in namespace {space or namespace}" if space or namespace else ""
        shown = plain if space else name
        fail(f"no job {shown}{where} in the ledger; `jobledger get` lists them", ExitCode.NOT_FOUND)
    return choose(found, name)


def matches(history: History, name: str, namespace: str = "") -> Sequence[JobRow]:
    """Return the jobs that may be meant, the youngest first."""
    given = name
    if "/" in name:
        namespace, given = name.split("/", 1)
    found = history.jobs(JobFilter(namespace=namespace, name=given), MATCHES_MAX)
    return found or history.jobs(JobFilter(uid=given), MATCHES_MAX)


def choose(found: Sequence[JobRow], name: str) -> JobRow:
    """Return the youngest of several; end with a message if they are in several places."""
    places = sorted({f"{row.cluster}/{row.namespace}" for row in found})
    if len(places) > 1:
        fail(
            f"{name} is in {', '.join(places)}; name one with --namespace or its UID",
            ExitCode.USAGE,
        )
    return found[0]
