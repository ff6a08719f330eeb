"""Lines of JSON that upstream's code was the source of: compressed, with no date inside."""

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def write_lines(path: Path, lines: Iterable[Any]) -> int:
    """Write each value as a line of JSON; return how many there are."""
    written = [json.dumps(line, sort_keys=True) for line in lines]
    path.write_bytes(gzip.compress(("\n".join(written) + "\n").encode(), mtime=0))
    return len(written)


def read_lines(path: Path) -> Iterator[Any]:
    """Yield the value of each line."""
    yield from map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines())
