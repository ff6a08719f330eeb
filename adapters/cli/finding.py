"""Which job a user means by JOB: a name, `namespace/name`, or a UID."""

from adapters.cli.exit_codes import ExitCode
from adapters.cli.output import fail
from core.jobs.rows import JobRow
from core.ports.history import History, JobFilter

MATCHES_MAX = 20


def find_job(history: History, name: str, namespace: str = "") -> JobRow:
    """Return the youngest job that is meant.

    Ends with a message if there is none, or if several clusters or namespaces have one.
    """
    if "/" in name:
        namespace, name = name.split("/", 1)
    wanted = JobFilter(namespace=namespace, name=name)
    found = list(history.jobs(wanted, MATCHES_MAX))
    if not found:
        found = list(history.jobs(JobFilter(uid=name), MATCHES_MAX))
    if not found:
        where = f" in namespace {namespace}" if namespace else ""
        fail(f"no job {name}{where} in the ledger; `jobledger get` lists them", ExitCode.NOT_FOUND)
    places = sorted({f"{row.cluster}/{row.namespace}" for row in found})
    if len(places) > 1:
        fail(
            f"{name} is in {', '.join(places)}; name one with --namespace or its UID",
            ExitCode.USAGE,
        )
    return found[0]
