"""Keeps values by stream, so that those of a shard are found without looking through all."""

from collections import defaultdict
from collections.abc import Collection
from typing import TypeVar

from jobledger.core.values.ids import StreamId, shard_of

Value = TypeVar("Value")


class ByShard(dict[StreamId, Value]):
    """A dictionary of streams that knows those of each shard.

    It is changed by item and by `drop` only. One thread changes it; any may read.
    """

    def __init__(self) -> None:
        """Begin empty."""
        super().__init__()
        self._streams: defaultdict[int, dict[StreamId, None]] = defaultdict(dict)

    def __setitem__(self, stream: StreamId, value: Value) -> None:
        super().__setitem__(stream, value)
        self._streams[shard_of(stream)][stream] = None

    def __delitem__(self, stream: StreamId) -> None:
        super().__delitem__(stream)
        del self._streams[shard_of(stream)][stream]

    def drop(self, stream: StreamId) -> Value | None:
        """Remove the value of a stream, if there is one, and return it."""
        value = self.get(stream)
        if stream in self:
            del self[stream]
        return value

    def of(self, shards: Collection[int]) -> list[StreamId]:
        """Return the streams of these shards."""
        return [stream for shard in shards for stream in self._streams.get(shard, ())]
