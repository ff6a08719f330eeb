"""KubeRay's answers, kept as data: made by `make upstream`, read by the tests.

One line of JSON per case. The cases themselves follow from code and from KubeRay's samples.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.upstream.answers_file import read_lines, write_lines

FILE = Path(__file__).with_name("rayjobs.jsonl.gz")


def write(answers: Iterable[Mapping[str, Any]]) -> int:
    """Write answers; return how many there are."""
    return write_lines(FILE, answers)


def read() -> dict[str, Any]:
    """Return the answers by the id of their case."""
    return {answer["id"]: answer for answer in read_lines(FILE)}
