"""Finds the fields of events that refer to evidence."""

from collections.abc import Iterator, Mapping, Sequence

from jobledger.core.values.documents import Json

DIGEST_FIELD = "digest_of_content"
"""Field of a payload that names a piece of evidence by its SHA-256."""


def digests_in(data: Json) -> Iterator[str]:
    """Yield the names of all evidence that a payload refers to, however deep."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            if key == DIGEST_FIELD and isinstance(value, str) and value:
                yield value
            else:
                yield from digests_in(value)
    elif isinstance(data, Sequence) and not isinstance(data, str):
        for item in data:
            yield from digests_in(item)
