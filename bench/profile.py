"""Where the CPU of the controller goes, for each RayJob: by thread, by folder, by function.

The service runs as in `bench.service`; in every thread Python's profiler counts calls, by the CPU
time of that thread, so that waiting counts for nothing. The profiler itself takes a microsecond for
each call: what makes many small calls looks dearer than it is, so calls stand beside the time. The
number of calls is the same on every machine, give or take how observations gather in turns.
"""

import cProfile
import sys
import sysconfig
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

from bench.figures import Report
from bench.service import PER_SECOND, other_side, running
from bench.throwaway import postgres

JOBS, JOBS_FULL = 60, 600
WARM_UP = 10
SHOWN = 25
"""Folders and functions that are named."""

_NUMBER = "0123456789"
_PLACES = tuple(
    f"{Path(sysconfig.get_path(name)).resolve()}/" for name in ("purelib", "platlib", "stdlib")
)

Spent = dict[tuple[str, str, str], tuple[int, float]]
"""Thread, file and function -> calls, and seconds in itself."""


@dataclass(slots=True)
class Profiles:
    """A profiler in every thread that begins while `watching`."""

    of_threads: dict[str, list[cProfile.Profile]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the threads that begin within."""
        threading.setprofile(self._begins)
        try:
            yield
        finally:
            threading.setprofile(None)

    def _begins(self, _frame: FrameType, _event: str, _argument: object) -> None:
        sys.setprofile(None)
        profile = cProfile.Profile(time.thread_time)
        name = threading.current_thread().name.rstrip(_NUMBER).rstrip("-")
        self.of_threads[name].append(profile)
        profile.enable()

    def spent(self) -> Spent:
        """Return what was spent so far."""
        found: Spent = {}
        for thread, profiles in list(self.of_threads.items()):
            for entry in (entry for profile in profiles for entry in profile.getstats()):
                key = (thread, *_place(entry.code))
                calls, seconds = found.get(key, (0, 0.0))
                found[key] = (calls + entry.callcount, seconds + entry.inlinetime)
        return found


def measure(report: Report) -> None:
    """Profile RayJobs that come at a steady rate, each with one retry."""
    count = JOBS_FULL if report.full else JOBS
    report.setting("each RayJob", f"fails once, then succeeds; {PER_SECOND} per second")
    report.setting("profiled", "every thread, by its own CPU time; a call costs a microsecond more")
    profiles = Profiles()
    with (
        postgres(report) as server,
        other_side() as other,
        profiles.watching(),
        running(server, other),
    ):
        report.say(f"warming up with {WARM_UP} RayJobs")
        other.order(WARM_UP, 0)
        report.say(f"{count} RayJobs, {PER_SECOND} per second")
        before = profiles.spent()
        other.order(count, PER_SECOND)
        after = profiles.spent()
    tell(report, list(_between(before, after)), count)


def _between(before: Spent, after: Spent) -> Iterator[tuple[tuple[str, str, str], int, float]]:
    for key, (calls, seconds) in after.items():
        calls_before, seconds_before = before.get(key, (0, 0.0))
        if calls > calls_before:
            yield key, calls - calls_before, seconds - seconds_before


def tell(
    report: Report, spent: Iterable[tuple[tuple[str, str, str], int, float]], jobs: int
) -> None:
    """Say what each job took, the dearest first."""
    spent = list(spent)
    total = sum(seconds for _, _, seconds in spent)
    report.figure("all: CPU", total / jobs * 1e3, "ms per job")
    report.figure("all: calls", sum(calls for _, calls, _ in spent) / jobs, "per job")
    by: tuple[tuple[str, Callable[[str, str, str], str]], ...] = (
        ("thread", lambda thread, _file, _name: thread),
        ("folder", lambda _thread, file, _name: file.rpartition("/")[0] or file),
        ("function", lambda _thread, file, name: f"{file}: {name}" if file else name),
    )
    for what, named in by:
        times: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for key, number, seconds in spent:
            times[named(*key)] += seconds  # type: ignore[assignment]  # a Counter of seconds
            calls[named(*key)] += number
        for name, seconds in times.most_common(SHOWN):
            report.figure(f"{what} {name}: CPU", seconds / total * 100, "%")
            report.figure(f"{what} {name}: calls", calls[name] / jobs, "per job")


def _place(code: CodeType | str) -> tuple[str, str]:
    """Return the file and the name of a function; of one in C there is no file."""
    if isinstance(code, str):
        return "", code
    file = code.co_filename
    for place in _PLACES:
        file = file.removeprefix(place)
    head, _, rest = file.rpartition("/jobledger/")
    return (f"jobledger/{rest}" if head else file), code.co_qualname
