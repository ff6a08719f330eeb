"""`python -m tests.mutation [PATH…]`: which small mistakes in `core/` no test notices.

Without a path the whole of `core/`; a path is a folder or a file of it. `--sample 300 --seed 1`
tries so many of them, drawn evenly. Results are kept in `build/mutation.jsonl`: a run that was
stopped goes on where it was; what was tried is tried again once its file or a test has changed.
Prints every survivor with file, line and change, then the score. Exits with 1 if the tests fail
as they are, and with 0 whatever survives: the score is to be read, not to be passed.
"""

import argparse
import random
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.mutation.mutants import Mutant, mutants_of
from tests.mutation.records import Records, digest_of
from tests.mutation.runner import Campaign, Fate

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "mutation.jsonl"
TESTS = ("tests/rules", "tests/properties")
UNWANTED = ("terminal", "xdist", "rerunfailures")
"""Plugins of pytest that have no business here."""
NOTICED = ("killed", "never ended")
TERMINATED = 143
LINE_EVERY = 100
"""Mutants between two lines of progress."""


def say(line: str) -> None:
    """Write a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants; return the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    given = _given(arguments)
    tests = tuple(given.tests or TESTS)
    mutants = _chosen([ROOT / path for path in given.paths], given.sample, given.seed)
    if not mutants:
        say(f"there is nothing to change in {', '.join(given.paths)}")
        return 1
    sources = sorted(
        path for name in (*tests, "tests/support") for path in (ROOT / name).rglob("*.py")
    )
    records = Records(KEPT, ROOT, digest_of(sources))
    left = [mutant for mutant in mutants if records.known(mutant) is None]
    left.sort(key=lambda mutant: not mutant.function)  # what is dear comes last
    say(f"{len(mutants)} mutants, {len(mutants) - len(left)} of them tried before")
    if left and not _try(left, tests, records, given.processes):
        return 1
    _report(mutants, records)
    return 0


def _given(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("paths", nargs="*", default=["core"], help="folders or files of core/")
    parser.add_argument("--sample", type=int, default=0, help="try so many, drawn evenly; 0: all")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--tests", action="append", help=f"instead of {' and '.join(TESTS)}")
    given = parser.parse_args(arguments)
    for path in given.paths:
        if not (ROOT / path).resolve().is_relative_to(ROOT / "core") or not (ROOT / path).exists():
            parser.error(f"{path} is no folder or file of core/")
    return given


def _chosen(paths: Sequence[Path], sample: int, seed: int) -> list[Mutant]:
    files = {
        file.resolve()
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*.py"))
    }
    found = [mutant for file in sorted(files) for mutant in mutants_of(file, ROOT)]
    if not sample or sample >= len(found):
        return found
    drawn = random.Random(seed).sample(range(len(found)), sample)
    return [found[number] for number in sorted(drawn)]


def _try(left: list[Mutant], tests: Sequence[str], records: Records, processes: int) -> bool:
    """Try mutants; return whether the tests passed without any."""
    done: Counter[Fate] = Counter()

    def tell(mutant: Mutant, fate: Fate, seconds: float) -> None:
        records.note(mutant, fate)
        done[fate] += 1
        if fate not in NOTICED:
            say(f"{fate} ({seconds:.0f} s)  {mutant.words}")
        if done.total() % LINE_EVERY == 0:
            say(f"{done.total()} of {len(left)} tried")

    campaign = Campaign(ROOT, left, processes, tell)
    options = [
        "-o",
        "addopts=--import-mode=importlib",
        "-o",
        "timeout=0",
        "-p",
        "no:cacheprovider",
        *tests,
    ]
    options += [word for name in UNWANTED for word in ("-p", f"no:{name}")]
    pytest.main(options, plugins=[campaign])
    sys.setprofile(None)
    return campaign.finished


def _report(mutants: Sequence[Mutant], records: Records) -> None:
    fates = Counter(records.known(mutant) for mutant in mutants)
    survivors = [m for m in mutants if records.known(m) not in (*NOTICED, None)]
    say(f"\n{len(survivors)} that no test notices:")
    for mutant in survivors:
        say(
            f"  {mutant.words}"
            + ("  (not reached)" if records.known(mutant) == "not reached" else "")
        )
    noticed = sum(count for fate, count in fates.items() if fate in NOTICED)
    tried = noticed + len(survivors)
    folders: dict[str, Counter[bool]] = {}
    for mutant in mutants:
        folder = "/".join(mutant.path.split("/")[:2])
        folders.setdefault(folder, Counter())[records.known(mutant) in NOTICED] += 1
    say("")
    for folder, counted in sorted(folders.items()):
        say(f"  {folder}: {counted[True]} of {counted.total()}")
    say(f"{noticed} of {tried} mutants noticed: {100 * noticed / max(tried, 1):.1f} %")


if __name__ == "__main__":
    sys.exit(main())
