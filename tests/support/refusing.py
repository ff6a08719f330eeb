"""A cluster, or Ray heads, of which some calls are answered by errors, again and again."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from jobledger.core.ports.cluster import Resource

CALLS = frozenset(
    {"get", "list", "create", "replace", "merge_patch", "apply", "delete"}
    | {"info", "submit", "stop", "log_tail"}
)


@dataclass(frozen=True)
class Call:
    """A call of a port."""

    verb: str
    kind: str = ""
    """Of the object; empty for Ray's heads."""
    subresource: str = ""

    @property
    def what(self) -> str:
        """Return the call in a few words."""
        return f"{self.verb} {self.kind} {self.subresource}".strip()


@dataclass
class Refusals:
    """Which calls fail, and how; every call is counted."""

    concerns: Callable[[Call], bool]
    answers: list[Exception | None]
    """One after the other, and from the beginning again; None: the call is carried out."""
    counted: Counter[str] = field(default_factory=Counter)
    refused: int = 0

    def __post_init__(self) -> None:
        self._next = cycle(self.answers)

    def meet(self, call: Call) -> None:
        """Count a call, and raise what it is answered with."""
        self.counted[call.what] += 1
        if not self.concerns(call):
            return
        answer = next(self._next)
        if answer is not None:
            self.refused += 1
            raise answer


class Refusing:
    """Stands before a port."""

    def __init__(self, port: object, refusals: Refusals) -> None:
        self._port, self._refusals = port, refusals

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 whatever the port has
        method = getattr(self._port, name)
        if name not in CALLS:
            return method

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            kind = args[0].kind if isinstance(args[0], Resource) else ""
            self._refusals.meet(Call(name, kind, str(kwargs.get("subresource", ""))))
            return method(*args, **kwargs)

        return call
