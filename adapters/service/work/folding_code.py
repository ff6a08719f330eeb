"""Says which code folds streams: what another one has folded is not gone on from."""

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

import msgspec


@cache
def folding_code() -> bytes:
    """Return a digest of the whole core, as it is written, and of what encodes its values.

    Which part of it a fold goes through nobody could say for certain.
    """
    found = hashlib.sha256(msgspec.__version__.encode())
    for name, source in sorted(_sources(files("jobledger.core"), "")):
        found.update(b"%b %d " % (name.encode(), len(source)) + source)
    return found.digest()


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    for item in folder.iterdir():
        if item.is_dir():
            yield from _sources(item, f"{path}{item.name}/")
        elif item.name.endswith(".py"):
            yield path + item.name, item.read_bytes()
