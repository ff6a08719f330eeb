"""Resolves the argument JOB: a name, `namespace/name`, a UID, or the id of a stream."""

import re
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from rich.text import Text

from jobledger.adapters.cli.exit_codes import ExitCode
from jobledger.adapters.cli.output import errors, fail
from jobledger.core.jobs.identity import JobIdentity
from jobledger.core.jobs.rows import JobRow
from jobledger.core.ports.history import History, JobFilter
from jobledger.core.values.ids import StreamId

MATCHES_MAX = 20
JOBS_MAX = 100_000
"""As many jobs are looked at by what asks for all of them."""

EVERY = JobFilter()

_UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def find_job(history: History, name: str, namespace: str = "", cluster: str = "") -> JobRow:
    """Return the youngest job that is meant.

    Ends with a message if there is none, or if several clusters or namespaces have one.
    """
    found = matches(history, name, namespace, cluster)
    if not found:
        space, shown = named(name, namespace)
        where = f" in namespace {space}" if space else ""
        where += f" of cluster {cluster}" if cluster else ""
        fail(f"no job {shown}{where} in the ledger; `jobledger get` lists them", ExitCode.NOT_FOUND)
    return choose(found, name)


def named(job: str, namespace: str = "") -> tuple[str, str]:
    """Return the namespace (empty: any) and the name, UID or stream that a JOB means."""
    space, slash, name = job.partition("/")
    return (space, name) if slash else (namespace, job)


def called(history: History, row: JobRow) -> str:
    """Return how a job is asked for: by its name where that means no other job, else by its UID."""
    name = f"{row.namespace}/{row.name}"
    same = JobFilter(namespace=row.namespace, name=row.name)
    found = _youngest_first(history.jobs(same, MATCHES_MAX))
    places = {(one.cluster, one.kind) for one in found}
    is_meant = not found or found[0].stream_id == row.stream_id
    return name if is_meant and len(places) <= 1 else row.uid


def called_so(identity: JobIdentity, job: str, cluster: str) -> str:
    """Return how to ask again for the job that was asked for as `job`, perhaps of a cluster.

    Its name means the youngest of that name: it does only where the name has found it.
    """
    by_name = named(job)[1] == identity.name and not cluster
    return f"{identity.namespace}/{identity.name}" if by_name else identity.uid


def matches(
    history: History,
    name: str,
    namespace: str = "",
    cluster: str = "",
    narrowed: JobFilter = EVERY,
    most: int = MATCHES_MAX,
) -> Sequence[JobRow]:
    """Return the jobs that may be meant, the youngest first; `narrowed` says what else they are.

    Ends with a message if the name is empty, or says another namespace than `namespace`.
    """
    asked, (namespace, given) = namespace, named(name, namespace)
    if asked not in {"", namespace}:
        fail(f"{name} is in namespace {namespace}, and not in {asked}; say one", ExitCode.USAGE)
    if not given.strip():
        fail(f"{name!r} names no job; say a name, namespace/name, UID or stream", ExitCode.USAGE)
    anywhere = replace(narrowed, cluster=cluster, namespace="")
    found = history.jobs(replace(anywhere, namespace=namespace, name=given), most)
    found = _youngest_first(found) or history.jobs(replace(anywhere, uid=given), most)
    if found or not _UUID.fullmatch(given):
        return found
    return history.jobs(replace(anywhere, stream_id=StreamId(UUID(given))), most)


def tell_more(limit: int, what: str) -> None:
    """Say that a list was cut off."""
    told = f"there are more than {limit:,} {what}; a higher --limit shows them"
    errors.print(Text(told, style="yellow"), soft_wrap=True)


def youngest(history: History, wanted: JobFilter, most: int = JOBS_MAX) -> Sequence[JobRow]:
    """Return jobs, the youngest first; say so if there are more than are looked at."""
    rows = history.jobs(wanted, most + 1)
    if len(rows) > most:
        line = f"only the youngest {most:,} jobs are looked at; narrow it with --namespace"
        errors.print(Text(line, style="yellow"), soft_wrap=True)
    return rows[:most]


def _youngest_first(found: Sequence[JobRow]) -> Sequence[JobRow]:
    """Return jobs by age; Kubernetes tells it in seconds, so of two of one second by who came."""
    return sorted(found, key=lambda row: (row.created_at, row.first_seen_at), reverse=True)


def choose(found: Sequence[JobRow], name: str) -> JobRow:
    """Return the youngest of several; end with a message if they are in several places.

    Jobs of one place and name that followed each other are one place; a RayJob and a TrainJob of
    the same name are two.
    """
    places: dict[tuple[str, str, str], JobRow] = {}
    for row in found:
        places.setdefault((row.cluster, row.namespace, row.kind), row)
    if len(places) > 1:
        told = (
            f"{row.kind} {row.namespace}/{row.name} of cluster {row.cluster} (UID {row.uid})"
            for _, row in sorted(places.items())
        )
        clusters, namespaces, _ = (set(each) for each in zip(*places, strict=True))
        options = {"--cluster": clusters, "--namespace": namespaces}
        ways = [option for option, values in options.items() if len(values) > 1]
        advice = f"say which with {' or '.join([*ways, 'its UID'])}"
        fail(f"{name} may be {', or '.join(told)}; {advice}", ExitCode.USAGE)
    return found[0]
