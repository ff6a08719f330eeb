"""Look for counter-examples that nobody has seen: every property, with a seed of today.

The usual tests try the same examples each time, so that they say the same each time. This command
draws new ones, more of them, and says how to see again what it found:

    python -m tests.explore                                      # a fresh seed
    python -m tests.explore --seed 123 tests/properties/test_wild.py::test_…  # the same again
    make explore ARGS="--examples 5000"
"""

import argparse
import os
import secrets
import sys

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

EXAMPLES = 1000
"""Examples of a property that sets no number of its own; about ten minutes on two cores."""

EXAMPLES_VARIABLE = "JOBLEDGER_EXAMPLES"
"""Variable that tells tests/properties how many examples to try."""

SEED_BITS = 32


class Replay:
    """Says after a run how to repeat each failure."""

    def __init__(self, seed: int, examples: int) -> None:
        self._command = f"python -m tests.explore --seed {seed} --examples {examples}"

    def pytest_report_header(self) -> str:
        """Name the seed also of a run that is interrupted."""
        return f"fresh examples; the same again: {self._command}"

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print one command per failure."""
        found = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
        if found:
            terminalreporter.section("how to see it again, and to mend it")
        for report in found:
            terminalreporter.write_line(f"{self._command} '{report.nodeid}'")
        if found:
            terminalreporter.write_line(
                "The smallest example stands above as 'Failing test case': make it a row of a "
                "table in tests/rules, or an @example of the property, and mend what it shows."
            )


def main(arguments: list[str]) -> int:
    """Run the properties and return pytest's exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.explore")
    parser.add_argument("--seed", type=int, default=secrets.randbits(SEED_BITS))
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    given, rest = parser.parse_known_args(arguments)
    settings.register_profile(
        "fresh",
        derandomize=False,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        print_blob=True,
    )
    os.environ[EXAMPLES_VARIABLE] = str(given.examples)
    command = (
        *("-m", "hypothesis", "--hypothesis-profile=fresh", f"--hypothesis-seed={given.seed}"),
        *("-q", "-p", "no:xdist", "--timeout=0"),
        "-Wignore::pytest.PytestAssertRewriteWarning",  # hypothesis had to be asked before
        *rest,
    )
    return int(pytest.main(list(command), plugins=[Replay(given.seed, given.examples)]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
