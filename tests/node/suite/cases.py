"""Which cases upstream's suite has, read from its sources: its program does not list them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TEST = re.compile(r"^func (Test\w+)\(", re.MULTILINE)
NAMES = re.compile(r'\.Run\("((?:[^"\\]|\\.)*)"|^\s+name:\s+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
"""A case is run by its name, or by the row of a table that has it."""

SPACE = re.compile(r"\s")
FIRST = "TestRayJobRetry"
"""What Jobledger promises first."""


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """One case of a test of upstream's."""

    test: str
    name: str
    """As its source has it, with spaces."""

    @property
    def reported(self) -> str:
        """Return the name as a run prints it. Source: `rewrite` of Go's package testing."""
        return f"{self.test}/{SPACE.sub('_', self.name)}"

    @property
    def pattern(self) -> str:
        """Return what `-test.run` takes to run this case and no other."""
        parts = self.reported.split("/")
        return "/".join(f"^{re.escape(part)}$" for part in parts)

    @property
    def full(self) -> str:
        """Return test and name, as people write it."""
        return f"{self.test}/{self.name}"


def cases(files: Iterable[Path]) -> list[Case]:
    """Return all cases of the suite, the promise first."""
    found = [case for file in files for case in cases_in(file.read_text(encoding="utf-8"))]
    return sorted(found, key=lambda case: case.test != FIRST)


def cases_in(source: str) -> list[Case]:
    """Return the cases of one file; a test without cases is one itself."""
    tests = list(TEST.finditer(source))
    ends = [test.start() for test in tests[1:]] + [len(source)]
    return [
        Case(test.group(1), name)
        for test, end in zip(tests, ends, strict=True)
        for name in _names(source[test.end() : end])
    ]


def _names(body: str) -> list[str]:
    body = body.partition("\n}\n")[0]
    return [re.sub(r"\\(.)", r"\1", first or second) for first, second in NAMES.findall(body)]
