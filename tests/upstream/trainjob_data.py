"""The cases with Trainer's answers, kept as data: made by `make upstream`, read by the tests.

One line of JSON per case, after a line with the runtimes; compressed, with no date inside.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("trainjobs.jsonl.gz")


def write(runtimes: Mapping[str, Any], answers: Iterable[Mapping[str, Any]]) -> int:
    """Write runtimes and answers; return how many answers there are."""
    lines = [json.dumps(dict(sorted(runtimes.items())), sort_keys=True)]
    lines += [json.dumps(answer, sort_keys=True) for answer in answers]
    text = "\n".join(lines) + "\n"
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))
    return len(lines) - 1


def read() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the runtimes by name, and the answers by the id of their case."""
    lines = _lines()
    runtimes = json.loads(next(lines))
    return runtimes, {answer["id"]: answer for answer in map(json.loads, lines)}


def _lines() -> Iterator[str]:
    yield from gzip.decompress(FILE.read_bytes()).decode().splitlines()
