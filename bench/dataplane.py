"""The load and everything below the controller: the Go program that upstream was measured with.

It lies in the folder that JOBLEDGER_TOOLS names (by default `shared/tools` beside the clone) and is
built once into the user's cache, by the hash of its source.
"""

import hashlib
import os
import re
import shutil
import subprocess
import threading
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = "dataplane"
MAIN = "main.go"


class NotHere(RuntimeError):
    """Something that a claim needs is not on this machine; the message says what."""


def built() -> Path:
    """Return the program, built if need be; raise `NotHere` if that cannot be done."""
    tools = os.environ.get("JOBLEDGER_TOOLS") or str(ROOT.parent / "shared" / "tools")
    source = Path(tools) / PROGRAM
    if not (source / MAIN).is_file():
        raise NotHere(f"there is no {PROGRAM}/{MAIN} in {tools}; JOBLEDGER_TOOLS says where it is")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    digest = hashlib.sha256((source / MAIN).read_bytes()).hexdigest()[:16]
    program = home / "jobledger" / PROGRAM / digest / PROGRAM
    if program.is_file():
        return program
    go = shutil.which("go")
    if go is None:
        raise NotHere("there is no go on the path, which builds the load")
    program.parent.mkdir(parents=True, exist_ok=True)
    partial = program.with_suffix(".partial")
    made = subprocess.run(
        [go, "build", "-C", str(source), "-o", str(partial), "."],
        env={**os.environ, "CGO_ENABLED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise NotHere(f"go build of {source} failed: {made.stderr.strip()}")
    partial.rename(program)
    return program


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """How long one kind of reaction took, in milliseconds."""

    what: str
    count: int
    p50: float
    p99: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the program said at its end."""

    done: int
    seconds: float
    peak_mib: float
    polls: int
    reactions: tuple[Reaction, ...]
    violations: int


@dataclass(slots=True)
class Load:
    """One run of the program."""

    process: "subprocess.Popen[str]"
    states: dict[str, int] = field(default_factory=dict)
    """How many RayJobs are in each state, as it said last (every ten seconds)."""
    troubles: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Read what it says of its progress, on a thread."""
        threading.Thread(target=self._read, daemon=True).start()

    def finish(self) -> Outcome:
        """Wait for its end and return what it said."""
        assert self.process.stdout is not None, "it is a pipe"
        said = self.process.stdout.read()
        self.process.wait()
        return read_outcome(said)

    def kill(self) -> None:
        """End it before its time."""
        self.process.kill()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stderr is not None, "it is a pipe"
        for line in self.process.stderr:
            if (found := _STATES.search(line)) is not None:
                pairs = (pair.rpartition(":") for pair in found[1].split())
                self.states = {name: int(count) for name, _, count in pairs}
            else:
                self.troubles.append(line.strip())


def start(program: Path, **options: object) -> Load:
    """Start it; `managed_by="x"` is its option `-managed-by x`."""
    words = [f"-{name.replace('_', '-')}={value}" for name, value in options.items()]
    process = subprocess.Popen(
        [program, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    load = Load(process)
    load.watch()
    return load


_STATES = re.compile(r"done \d+ map\[(.*?)\] cpu")
_SUMMARY = re.compile(
    r"(?P<done>\d+) of \d+ RayJobs, .*?: (?P<seconds>[\d.]+) s, .*?"
    r"peak (?P<peak>\d+) MiB; (?P<polls>\d+) Ray API calls"
)
_REACTION = re.compile(r"^  (.+?)\s+n=(\d+)\s+p50 (\S+)\s+p90 \S+\s+p99 (\S+)\s+max", re.MULTILINE)
_VIOLATIONS = re.compile(r"violations: (\d+)")
_DURATION = re.compile(r"([\d.]+)(h|ms|m|s|µs|ns)")
_MILLISECONDS = {"h": 3.6e6, "m": 6e4, "s": 1e3, "ms": 1.0, "µs": 1e-3, "ns": 1e-6}


def read_outcome(said: str) -> Outcome:
    """Return what the program said; raise `NotHere` if that is not what is expected of it."""
    summary, violations = _SUMMARY.search(said), _VIOLATIONS.search(said)
    if summary is None or violations is None:
        raise NotHere(f"the load ended without its figures: {said[-500:]!r}")
    return Outcome(
        done=int(summary["done"]),
        seconds=float(summary["seconds"]),
        peak_mib=float(summary["peak"]),
        polls=int(summary["polls"]),
        reactions=tuple(
            Reaction(what=what, count=int(count), p50=_milliseconds(p50), p99=_milliseconds(p99))
            for what, count, p50, p99 in _REACTION.findall(said)
        ),
        violations=int(violations[1]),
    )


def _milliseconds(duration: str) -> float:
    """Return a duration as Go writes it (`1m2.5s`), in milliseconds."""
    return sum(float(number) * _MILLISECONDS[unit] for number, unit in _DURATION.findall(duration))
