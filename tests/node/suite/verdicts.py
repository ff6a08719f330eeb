"""What a run of one case has shown, from what `go test -v` prints."""

import re
from dataclasses import dataclass

from tests.node.suite.cases import Case

PASSED, FAILED, CANNOT_APPLY, NOT_RUN = "passed", "failed", "cannot apply", "not run"

RESULT = re.compile(r"^\s*--- (PASS|FAIL|SKIP): (\S+) \((\d+(?:\.\d+)?)s\)$", re.MULTILINE)
WHERE = re.compile(r"^\s+(\w+_test\.go:\d+): ?(.*)$")
WHY_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class Seen:
    """The verdict on one case, and the day of its run (or of the run that left it out)."""

    case: Case
    verdict: str
    day: str
    """As `2026-11-23`."""
    seconds: float | None = None
    why: str = ""
    """Of a failure where and what, in one line; of what cannot apply the reason."""


def judge(case: Case, output: str, code: int, day: str, seconds: float) -> Seen:
    """Return the verdict on one case; only a case that says so itself has passed.

    Args:
        case: what was asked for, alone.
        output: all that the program printed.
        code: its exit code; another than 0 is a failure whatever it printed.
        day: of the run.
        seconds: how long the program took, where it does not say.
    """
    results = {name: (word, float(took)) for word, name, took in RESULT.findall(output)}
    word, took = results.get(case.reported, ("", seconds))
    if word == "PASS" and code == 0:
        return Seen(case, PASSED, day, took)
    if word == "SKIP":
        return Seen(case, FAILED, day, took, "upstream's own test skipped itself")
    return Seen(case, FAILED, day, took, _why(output, word, code))


def _why(output: str, word: str, code: int) -> str:
    failed = _failure(output)
    if failed:
        return failed
    if "panic: test timed out" in output:
        return "it did not end in time"
    if not word and "no tests to run" in output:
        return "the suite has no such case"
    if not word:
        return f"the program ended with {code} and said nothing of the case"
    return f"the case said {word}, and the program ended with {code}"


def _failure(output: str) -> str:
    """Return the first message of a failure with the line of its source, in one line."""
    lines = output.splitlines()
    for number, line in enumerate(lines):
        found = WHERE.match(line)
        if found and not found.group(2).startswith("["):  # progress has its time in brackets
            said = [found.group(2), *_more(lines[number + 1 :])]
            text = " ".join(f"{found.group(1)}: {' '.join(said)}".split())
            return text[:WHY_CHARACTERS]
    return ""


def _more(lines: list[str]) -> list[str]:
    """Return the lines that belong to a message: those that are indented deeper than it."""
    belonging = []
    for line in lines:
        if not line.startswith("        ") or WHERE.match(line):
            break
        belonging.append(line.strip())
    return belonging
