"""A start with many existing jobs: how soon the first act, how much memory, which requests.

Twice: the jobs are new to the ledger (the first installation, or a ledger that was lost), and the
ledger knows them (every restart). All are suspended: nothing is left to do for them but to show so,
and all are held, as open jobs are.

The API server of 100,000 RayJobs needs more memory than it gets otherwise, and its etcd a larger
quota: `GOMEMLIMIT=10GiB ETCD_QUOTA_BACKEND_BYTES=8589934592 make bench ARGS="start --jobs 100000"`.
"""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from bench.dataplane import NotHere
from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.real_cluster import READS, Requests, real_cluster
from bench.several import Replica, Several
from bench.throwaway import open_directory, postgres

JOBS, JOBS_FULL = 300, 10_000
DATABASE = "start"
SECONDS_FOR_EACH = 0.1
"""As much longer is waited for each job; of 25,000 new ones each took a fifth of it."""


def measure(report: Report) -> None:
    """Start on jobs that are new to the ledger, then on the same, known by then."""
    count = report.jobs or (JOBS_FULL if report.full else JOBS)
    try:
        with (
            real_cluster(report) as cluster,
            postgres(report) as server,
            open_directory() as directory,
        ):
            report.setting("existing jobs", f"{count:,} RayJobs, suspended")
            several = Several(report, server, cluster, directory, server.database(DATABASE))
            several.limit_seconds += count * SECONDS_FOR_EACH
            report.say(f"creating {count:,} RayJobs")
            several.create_suspended([f"existing-{number}" for number in range(count)])
            _start(several, f"{count:,} jobs new to the ledger", count, is_known=False)
            _start(several, f"{count:,} jobs that the ledger knows", count, is_known=True)
    except NotHere as missing:
        report.remark(f"skipped: {missing}")


def _start(several: Several, name: str, count: int, *, is_known: bool) -> None:
    """Start a controller and measure until nothing is left to do.

    Where all jobs are known, one more is created before: the first act is for it.
    """
    report, served = several.report, count
    if is_known:
        several.create_suspended(["late"])
        served += 1
    before, told = several.cluster.requests(), _written(several)
    report.say(name)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as beside, ExitStack() as stack:
        acts = beside.submit(several.wait, lambda: _acts(several) > _acts_in(before), "an act")
        replica = stack.enter_context(several.replica())
        ready, cpu = time.monotonic() - began, tree_cpu_seconds(replica.process.pid)
        act = acts.result() - began
        status = several.wait(lambda: _written(several) > told, "a status is told") - began
        done = several.wait(lambda: _written(several) == served, "all are served") - began
        several.cluster.wait_until_quiet()
        after = several.cluster.requests()
        _tell(several, name, replica, after - before)
    report.figure(f"{name}: until it is ready", ready, "s")
    report.figure(f"{name}: CPU of the controller until then", cpu, "s")
    report.figure(f"{name}: until the first act", act, "s")
    report.figure(f"{name}: until the first status is in the log as written", status, "s")
    if not is_known:
        report.figure(f"{name}: until every job shows its status", done, "s")


def _acts(several: Several) -> int:
    """Return how often jobs have been written to, by the API server."""
    return _acts_in(several.cluster.requests())


def _acts_in(asked: Requests) -> int:
    return sum(
        count
        for (verb, resource, _), count in asked.items()
        if resource.startswith("rayjobs") and verb in ("PATCH", "PUT")
    )


def _written(several: Several) -> int:
    """Return how many statuses of jobs have been written, by the ledger."""
    query = "SELECT count(DISTINCT stream_id) FROM event WHERE type = 'StatusPublished'"
    return int(several.rows(query)[0][0])


def _tell(several: Several, name: str, replica: Replica, asked: Requests) -> None:
    """Say what memory it holds, and what was asked of the API server."""
    report = several.report
    report.figure(f"{name}: memory", replica.resident_mib(), "MiB")
    counted: Counter[tuple[str, str]] = Counter()
    for (verb, resource, _), number in asked.items():
        counted[verb, resource] += number
    for (verb, resource), number in sorted(counted.items()):
        report.figure(f"{name}: {verb} {resource}", number, "requests")
    reads = sum(number for (verb, _), number in counted.items() if verb in READS)
    report.figure(f"{name}: of all these reads", reads, "requests")
