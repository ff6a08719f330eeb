"""The cases with Trainer's answers, kept as data: made by `make upstream`, read by the tests.

One line of JSON per case, after a line with the runtimes.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.upstream.answers_file import read_lines, write_lines

FILE = Path(__file__).with_name("trainjobs.jsonl.gz")


def write(runtimes: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> int:
    """Write runtimes and answers; return how many answers there are."""
    return write_lines(FILE, [dict(sorted(runtimes.items())), *answers]) - 1


def read() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the runtimes by name, and the answers by the id of their case."""
    runtimes, *answers = read_lines(FILE)
    return runtimes, {answer["id"]: answer for answer in answers}
