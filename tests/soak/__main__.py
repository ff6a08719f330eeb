"""`python -m tests.soak --minutes 60`: churn under kills and restarts; the exit code judges.

Thousands of RayJobs and some TrainJobs on a real API server and a durable Postgres, with several
replicas. Prints a line now and then, at the end a table and a course of every series, and what is
left that should not be. The exit code is 0 only if every series stayed flat, nothing is left, and
`jobledger verify` and `jobledger rebuild --check` are content.
"""

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from jobledger.adapters.telemetry.logging import configure_logging
from tests.soak.chaos import Chaos
from tests.soak.ending import check_log, wait_for_the_end
from tests.soak.flatness import judge, plot
from tests.soak.nature import Nature
from tests.soak.place import NAMESPACE, NotHere, Place, place
from tests.soak.samples import LIMITS, Samples
from tests.soak.users import Users

SAMPLES_PER_RUN = 360
SAMPLE_SECONDS_MIN = 1.0
LINE_SECONDS = 15.0
SKIPPED, FAILED = 2, 1


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


@dataclass
class Soak:
    """One run."""

    minutes: float
    seed: int
    replicas: int
    per_second: float
    trouble_seconds: float
    problems: list[str] = field(default_factory=list)

    def run(self) -> int:
        """Go through all of it; return the exit code."""
        with place() as here:
            for number in range(self.replicas):
                here.start_replica(f"replica-{number + 1}", until_ready=True)
            nature = Nature(here.cluster(), here.heads, NAMESPACE)
            users = Users(here.cluster(), NAMESPACE, self.seed, self.per_second)
            chaos = Chaos(here, self.seed, self.trouble_seconds)
            samples = Samples(here.database_url)
            watching = threading.Thread(target=self._watch, args=(here, users, samples))
            for part in (nature, users, watching):
                part.start()
            chaos.go_on(self.minutes * 60)
            say("no more trouble and no more jobs; waiting for the end of what there is")
            users.stop_creating()
            watching.join()
            self.problems += wait_for_the_end(here, users.there)
            users.stop()
            nature.stop()
            self.problems += nature.refused[:1]
            for name, replica in here.replicas.items():
                if replica.has_died:
                    self.problems.append(f"{name} has ended by itself")
                    continue
                if "Traceback" in replica.log:
                    self.problems.append(f"{name} met something it was not made for: see its log")
                    say(replica.log[replica.log.index("Traceback") - 500 :][:3000])
                replica.terminate()
            say("checking the log")
            self.problems += check_log(here)
            self._tell(users, chaos, samples)
        return FAILED if self.problems else 0

    def _watch(self, here: Place, users: Users, samples: Samples) -> None:
        pause = max(SAMPLE_SECONDS_MIN, self.minutes * 60 / SAMPLES_PER_RUN)
        until, next_line = time.monotonic() + self.minutes * 60, 0.0
        steady = next(iter(here.replicas.values()))
        while time.monotonic() < until:
            samples.take(steady.pid)
            if time.monotonic() >= next_line:
                next_line = time.monotonic() + LINE_SECONDS
                running = sum(replica.running for replica in here.replicas.values())
                stopped = f", {len(here.stopped)} stopped" if here.stopped else ""
                told = f"{running} of {self.replicas} run{stopped}"
                say(samples.line(told, users.created, users.deleted))
            time.sleep(pause)

    def _tell(self, users: Users, chaos: Chaos, samples: Samples) -> None:
        say("")
        made = ", ".join(f"{number} x {what}" for what, number in chaos.made.most_common())
        say(f"{users.created} jobs created, {samples.counts.get('events', 0)} events; {made}")
        say(f"{'':<46}{'first':>10}{'last':>10}{'allowed':>10}")
        for name, limit in LIMITS.items():
            verdict = judge(name, samples.series[name], limit)
            word = "flat" if verdict.is_flat else "NOT FLAT" if verdict.is_known else "TOO SHORT"
            numbers = f"{verdict.first:>10.1f}{verdict.last:>10.1f}{verdict.allowed:>10.1f}"
            say(f"{name:<46}{numbers}  {word}")
            say(f"  {plot(samples.series[name])}")
            if not verdict.is_flat:
                self.problems.append(f"{name}: {word.lower()}")
        for problem in self.problems:
            say(f"PROBLEM: {problem}")
        say("the soak has failed" if self.problems else "flat, whole, and nothing left")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long the churn lasts")
    parser.add_argument("--seed", type=int, default=1, help="what goes wrong, and when")
    parser.add_argument("--replicas", type=int, default=3, help="how many replicas there are")
    parser.add_argument("--per-second", type=float, default=1.0, help="jobs created per second")
    parser.add_argument(
        "--trouble-every", type=float, default=40.0, help="seconds between two troubles, about"
    )
    asked = parser.parse_args(arguments)
    configure_logging("console", "error")
    soak = Soak(asked.minutes, asked.seed, asked.replicas, asked.per_second, asked.trouble_every)
    try:
        return soak.run()
    except NotHere as missing:
        say(f"skipped: {missing}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
