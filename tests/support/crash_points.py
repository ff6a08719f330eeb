"""Ports that break at the n-th call: the process dies there, or the answer is lost on its way.

The list of crash points is generated: every call of every port, before and after.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast

from tests.support.effectful_steps import is_harmless, points

Port = TypeVar("Port")

Mode = Literal["die before", "die after", "refuse", "lose the answer"]
MODES: tuple[Mode, ...] = ("die before", "die after", "refuse", "lose the answer")


class Crash(BaseException):
    """The process is gone. Nothing that survives errors may survive this."""


@dataclass
class Fuse:
    """Counts the calls of all ports and blows at one of them, once."""

    at: int = 0
    """Number of the call, from 1; 0: never."""
    mode: Mode = "die before"
    steps_only: bool = False
    """Whether calls at which nothing can be left half done are not counted."""
    calls: list[str] = field(default_factory=list)
    kinds: list[tuple[str, ...]] = field(default_factory=list)
    """Of each of these calls what it does: the crash points that it hits, by the names of
    `effectful_steps.points`; its name alone if it only reads.
    """
    blown: str = ""

    @property
    def points(self) -> set[str]:
        """The crash points that these calls hit."""
        return {point for kind in self.kinds for point in kind if not is_harmless(point)}

    def counts(self, name: str) -> bool:
        """Return whether calls of this name are counted."""
        return not (self.steps_only and is_harmless(name))

    def count(self, name: str) -> bool:
        """Count a call; return whether it is the one."""
        self.calls.append(name)
        if len(self.calls) != self.at:
            return False
        self.blown = name
        return True


def fused(port: Port, name: str, fuse: Fuse, error: type[Exception]) -> Port:
    """Return the port behind the fuse; `error` is what it raises when nobody answers.

    `name` is the name of its Protocol.
    """
    return cast("Port", _Fused(port, name, fuse, error))


class _Fused:
    def __init__(self, port: object, name: str, fuse: Fuse, error: type[Exception]) -> None:
        self._port, self._name, self._fuse, self._error = port, name, fuse, error

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 a proxy
        target = getattr(self._port, method)
        if not callable(target):
            return target

        name = f"{self._name}.{method}"

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 a proxy
            if not self._fuse.counts(name):
                return target(*args, **kwargs)
            kind = [name] if is_harmless(name) else points(name, args, kwargs)
            self._fuse.kinds.append(tuple(kind))
            if not self._fuse.count(name):
                return target(*args, **kwargs)
            match self._fuse.mode:
                case "die before":
                    raise Crash(method)
                case "refuse":
                    raise self._error("nobody answers")
                case "die after":
                    target(*args, **kwargs)
                    raise Crash(method)
                case "lose the answer":
                    target(*args, **kwargs)
                    raise self._error("the answer was lost")

        return call
