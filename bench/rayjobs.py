"""RayJobs with one retry each on a real API server: ours and KubeRay's controller in one run.

Each is measured twice, on an API server of its own, the first also last: what a machine does
otherwise as time goes by falls on both. The load, and everything below the controllers, is one Go
program. All of it shares the cores of one machine, so requests and CPU per job say more than jobs
per second.
"""

from collections.abc import Sequence
from statistics import mean

from bench import dataplane
from bench.controllers import WORKERS, jobledger, kuberay, kuberay_program
from bench.dataplane import NotHere
from bench.figures import Report
from bench.rayjob_rig import Rig, Size
from bench.real_cluster import real_cluster
from bench.throwaway import postgres
from tests.operators.build import KUBERAY

SIZE, SIZE_FULL = Size(at_once=150, steady=60, running=300), Size(1_000, 600, 3_000)
OURS, THEIRS = "Jobledger", "KubeRay"
TURNS = (OURS, THEIRS, THEIRS, OURS)

Figures = dict[str, tuple[float, str]]


def measure(report: Report) -> None:
    """Measure both, and say how many times theirs ours is."""
    found: dict[str, list[Figures]] = {OURS: [], THEIRS: []}
    size = SIZE_FULL if report.full else SIZE
    try:
        program, theirs = dataplane.built(), kuberay_program()
        with postgres(report) as server:
            report.setting("each RayJob", "fails once, then succeeds; shut down at once")
            what = (
                f"KubeRay {KUBERAY.release}'s RayJob controller alone, {WORKERS} workers, no limit"
            )
            report.setting("beside it", what)
            report.setting("turns", ", ".join(TURNS))
            for number, name in enumerate(TURNS, start=1):
                with real_cluster(report) as cluster:
                    rig = Rig(report, cluster, program, f"{number} of {len(TURNS)}, {name}")
                    ours = name == OURS
                    database = server.database(f"rayjobs_{number}") if ours else ""
                    rig.measure(jobledger(server, database) if ours else kuberay(theirs), size)
                    found[name].append(rig.figures)
    except NotHere as missing:
        report.remark(f"skipped: {missing}")
        return
    tell(report, found[OURS], found[THEIRS])


def tell(report: Report, ours: Sequence[Figures], theirs: Sequence[Figures]) -> None:
    """Say each figure of both, as the mean of its turns, and ours as a multiple of theirs."""
    for name in dict.fromkeys(name for turn in (*ours, *theirs) for name in turn):
        told = [_mean(turns, name) for turns in (ours, theirs)]
        unit = next(turn[name][1] for turn in (*ours, *theirs) if name in turn)
        for who, value in zip((OURS, THEIRS), told, strict=True):
            if value is not None:
                report.figure(f"{name}: {who}", value, unit)
        our_own, their_own = told
        if our_own is not None and their_own:
            report.figure(f"{name}: {OURS} / {THEIRS}", our_own / their_own, "times")


def _mean(turns: Sequence[Figures], name: str) -> float | None:
    values = [turn[name][0] for turn in turns if name in turn]
    return mean(values) if values else None
