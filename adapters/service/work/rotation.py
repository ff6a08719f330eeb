"""A queue that tenants share in turns: round robin by namespace, in order within each."""

from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Rotation(Generic[Item]):
    """What waits, by namespace. The first namespace gives its first item and goes to the end.

    One that begins to wait goes to the end as well, so before its first item come as many as there
    are other namespaces, however much those have waiting. The order follows from the calls alone.
    For one thread at a time.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[Item]] = OrderedDict()
        self._length = 0

    def append(self, namespace: str, item: Item) -> None:
        """Add an item behind the others of its namespace."""
        self._waiting.setdefault(namespace, deque()).append(item)
        self._length += 1

    def append_left(self, namespace: str, item: Item) -> None:
        """Add an item before the others of its namespace, whose turn stays where it is."""
        self._waiting.setdefault(namespace, deque()).appendleft(item)
        self._length += 1

    def is_next(self, namespace: str) -> None:
        """Let a namespace that waits have the next turn."""
        self._waiting.move_to_end(namespace, last=False)

    def first(self, may: Callable[[str], bool] = lambda _: True) -> str | None:
        """Return whose turn it is, of those who may; the others keep their places."""
        return next((namespace for namespace in self._waiting if may(namespace)), None)

    def pop(self, may: Callable[[str], bool] = lambda _: True) -> tuple[str, Item] | None:
        """Return whose turn it is and their first item, who have had their turn with it."""
        namespace = self.first(may)
        if namespace is None:
            return None
        items = self._waiting[namespace]
        item = items.popleft()
        self._length -= 1
        if items:
            self._waiting.move_to_end(namespace)
        else:
            del self._waiting[namespace]
        return namespace, item

    def drop_of_longest(self) -> None:
        """Drop the last item of the namespace with the most of them."""
        namespace = max(self._waiting, key=lambda one: len(self._waiting[one]))
        self._waiting[namespace].pop()
        self._length -= 1
        if not self._waiting[namespace]:
            del self._waiting[namespace]

    def __len__(self) -> int:
        return self._length
