"""Throughput with 1, 2 and 3 replicas, and how soon others act for the jobs of one that is gone.

All replicas, Postgres, the API server, etcd and the load share the cores of one machine. Where they
are busy already more replicas bring no more jobs per second; the CPU of each part says so. A
takeover is measured from the moment of the trouble until the first status of a job is written that
was of the replica in trouble, with leases as they are by default.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench import dataplane
from bench.dataplane import NotHere
from bench.figures import Report
from bench.machine import tree_cpu_seconds
from bench.real_cluster import real_cluster
from bench.several import Replica, Several
from bench.throwaway import open_directory, postgres
from jobledger.adapters.settings import Settings
from jobledger.core.values.ids import StreamId, shard_of

AT_ONCE, AT_ONCE_FULL = 90, 600
REPLICAS = (1, 2, 3)
TRIALS, TRIALS_FULL = 1, 5
"""How often each kind of trouble is made."""

WARM_UP = 10
PROXY = "127.0.0.1:18266"
DATABASE = "replicas"
MARKS = 48
"""Jobs created at the moment of a trouble: each shard has some."""


def measure(report: Report) -> None:
    """Measure throughput, then takeovers."""
    try:
        program = dataplane.built()
        with (
            real_cluster(report) as cluster,
            postgres(report) as server,
            open_directory() as directory,
        ):
            report.setting("each RayJob", "fails once, then succeeds; shut down at once")
            report.setting("lease", f"{Settings().lease_seconds:g} s")
            database, heads = server.database(DATABASE), {"HTTP_PROXY": f"http://{PROXY}"}
            several = Several(report, server, cluster, directory, database, heads)
            for count in REPLICAS:
                _throughput(several, program, count, AT_ONCE_FULL if report.full else AT_ONCE)
            _takeovers(several, TRIALS_FULL if report.full else TRIALS)
    except NotHere as missing:
        report.remark(f"skipped: {missing}")


def _throughput(several: Several, program: Path, count: int, jobs: int) -> None:
    """Measure so many RayJobs at once with so many replicas."""
    report, name = several.report, f"{count} replica{'s' * (count > 1)}"
    with ExitStack() as stack:
        replicas = [stack.enter_context(several.replica()) for _ in range(count)]
        several.wait_until_shared()
        _load(several, program, replicas[0], WARM_UP).finish()
        several.cluster.wait_until_quiet()
        report.say(f"{name}: {jobs} RayJobs at once")
        before, began = _cpu(several), time.monotonic()
        outcome = _load(several, program, replicas[0], jobs).finish()
        seconds = time.monotonic() - began
        spent = {who: used - before[who] for who, used in _cpu(several).items()}
        report.figure(f"{name}: complete", outcome.done, f"of {jobs:,}")
        report.figure(f"{name}: throughput", outcome.done / outcome.seconds, "jobs/s")
        for who, used in spent.items():
            report.figure(f"{name}: CPU of {who}", used / jobs * 1e3, "ms per job")
        busy = sum(spent.values()) / seconds
        report.figure(f"{name}: all of these together", busy, f"cores, of {os.cpu_count()}")
        for replica in replicas:
            shards = len(several.shards_of(replica))
            report.figure(f"{name}: shards of {_place(several, replica)}", shards, "of 16")
            resident = replica.resident_mib()
            report.figure(f"{name}: memory of {_place(several, replica)}", resident, "MiB")
        several.cluster.wait_until_quiet()


def _place(several: Several, replica: Replica) -> str:
    return f"replica {several.running.index(replica) + 1}"


def _cpu(several: Several) -> dict[str, float]:
    """Return the CPU seconds of every part so far."""
    found = {
        _place(several, replica): tree_cpu_seconds(replica.process.pid)
        for replica in several.running
    }
    return found | {
        "Postgres": tree_cpu_seconds(several.server.pid),
        "the API server": tree_cpu_seconds(several.cluster.pid("kube-apiserver")),
        "etcd": tree_cpu_seconds(several.cluster.pid("etcd")),
        "the load": time.process_time() + _children(),
    }


def _children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _load(several: Several, program: Path, replica: Replica, jobs: int) -> dataplane.Load:
    return dataplane.start(
        program,
        server=several.cluster.url,
        token=several.cluster.admin_token,
        proxy=PROXY,
        pid=replica.process.pid,
        limit="20m",
        jobs=jobs,
        rate=100.0,
    )


def _cut_both(replica: Replica) -> None:
    replica.ledger.hold()
    replica.api.hold()


Trouble = Callable[[Replica], None]

TROUBLES: dict[str, Trouble] = {
    "SIGTERM": lambda replica: os.kill(replica.process.pid, signal.SIGTERM),
    "SIGKILL": lambda replica: replica.process.kill(),
    "SIGSTOP": lambda replica: os.kill(replica.process.pid, signal.SIGSTOP),
    "cut off from Postgres": lambda replica: replica.ledger.hold(),
    "cut off from the API server": lambda replica: replica.api.hold(),
    "cut off from both": _cut_both,
}


def _takeovers(several: Several, trials: int) -> None:
    """Make every trouble a few times: of two replicas one is in it, the other takes over."""
    with several.replica():
        for what, trouble in TROUBLES.items():
            found: list[tuple[float, float]] = []
            for trial in range(trials):
                several.report.say(f"takeover: {what}, {trial + 1} of {trials}")
                with several.replica(is_cuttable=True) as victim:
                    several.wait_until_shared()
                    found.append(_takeover(several, victim, trouble, f"{trial}-{len(what)}"))
                    _end(victim)
            first = [seconds for seconds, _ in found]
            every = [seconds for _, seconds in found]
            several.report.figure(f"{what}: first act for a job of the other", max(first), "s")
            several.report.figure(f"{what}: every job of the other served", max(every), "s")


def _takeover(
    several: Several, victim: Replica, trouble: Trouble, mark: str
) -> tuple[float, float]:
    """Return after how many seconds the first, and every, job of the victim is served."""
    shards = several.shards_of(victim)
    began = time.time()
    trouble(victim)
    names = [f"mark-{victim.name}-{mark}-{number}" for number in range(MARKS)]
    made = several.create_suspended(names)
    wanted = [stream for stream in made if shard_of(stream) in shards]
    several.wait(lambda: len(_served(several, wanted, victim)) == len(wanted), "all are served")
    served = [at - began for at in _served(several, wanted, victim)]
    return min(served), max(served)


def _served(several: Several, streams: list[StreamId], victim: Replica) -> list[float]:
    """Return when the first status of each of these jobs was written, by anybody but the victim."""
    query = (
        "SELECT extract(epoch FROM min(recorded_at))::float FROM event WHERE stream_id = ANY (%s) "
        "AND type = 'StatusPublished' AND actor NOT LIKE %s GROUP BY stream_id"
    )
    return [row[0] for row in several.rows(query, streams, f"{victim.name}/%")]


def _end(victim: Replica) -> None:
    """Leave nothing of a victim running, whatever state it is in."""
    victim.process.kill()
    victim.ledger.restore()
    victim.api.restore()
