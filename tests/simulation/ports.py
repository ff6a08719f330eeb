"""The ports of one process, with everything that can go wrong at a call.

Each call of each port is a place to die, before and after; to be refused; and to be carried out
while the answer is lost, at once or much later.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar, cast

from jobledger.core.errors import (
    ClusterError,
    ClusterUnreachable,
    LedgerUnavailable,
    RayApiUnreachable,
    RayJobRefused,
    RequestForbidden,
    RequestThrottled,
)
from tests.simulation.profile import Profile

Port = TypeVar("Port")
Call = Callable[[], Any]

READS = frozenset({"get", "list", "info", "log_tail"})

DELAYED = frozenset({"cluster.create", "cluster.delete", "cluster.merge_patch", "cluster.apply"})
"""Requests that may arrive long after they were given up."""


class Crash(BaseException):
    """A process is gone. Nothing that survives errors may survive this."""

    def __init__(self, actor: str, where: str) -> None:
        self.actor = actor
        super().__init__(f"{actor} dies {where}")


@dataclass
class Faults:
    """Decides at each call what becomes of it; quiet once the faulty phase is over."""

    profile: Profile
    dice: Random
    seconds: Callable[[], float]
    """The world's monotonic clock."""
    allow: Callable[[str, str, str, tuple[Any, ...], dict[str, Any]], None]
    """Called before each write to the cluster with actor, method and arguments."""
    forbidden: frozenset[str] = frozenset({"cluster.create"})
    """Requests that a quota may refuse."""
    calm: bool = False
    late: list[tuple[str, Call]] = field(default_factory=list)
    """Requests that are still on their way: words and the call."""
    happened: list[str] = field(default_factory=list)
    """What went wrong since somebody last looked."""
    away_until: dict[str, float] = field(default_factory=dict)
    """Process -> until when the ledger does not answer it."""

    def heartbeat(self, actor: str, _name: str, call: Call) -> Any:  # noqa: ANN401 a proxy
        """Carry out a call of the list of replicas, unless the ledger is away; no dice."""
        if self.seconds() < self.away_until.get(actor, 0.0) and not self.calm:
            raise LedgerUnavailable("the ledger does not answer")
        return call()

    def ledger(self, actor: str, name: str, call: Call) -> Any:  # noqa: ANN401 a proxy
        """Carry out a call of the log, or not."""
        if self.calm:
            return call()
        if self._strikes(self.profile.ledger_away):
            self.away_until[actor] = self.seconds() + self.dice.choice((0.5, 3.0, 20.0))
            self.happened.append(f"the ledger is away for {actor}")
        if self.seconds() < self.away_until.get(actor, 0.0):
            raise LedgerUnavailable("the ledger does not answer")
        result = self._or_die(actor, name, call)
        if name.endswith(".append") and self._strikes(self.profile.ledger_answer_lost):
            self.happened.append(f"{name}: committed, the answer is lost")
            raise LedgerUnavailable("the answer was lost")
        return result

    def cluster(self, actor: str, name: str, call: Call) -> Any:  # noqa: ANN401 a proxy
        """Carry out a request to the API server, or not."""
        if self.calm:
            return call()
        self._refuse(name)
        if name in DELAYED and self._strikes(self.profile.api_late):
            self.happened.append(f"{name}: no answer, it is still on its way")
            self.late.append((f"late {name} of {actor}", call))
            raise ClusterUnreachable("no answer in time")
        result = self._or_die(actor, name, call)
        if self._strikes(self.profile.api_answer_lost):
            self.happened.append(f"{name}: done, the answer is lost")
            raise ClusterUnreachable("no answer in time")
        return result

    def ray(self, actor: str, name: str, call: Call) -> Any:  # noqa: ANN401 a proxy
        """Carry out a request to a head, or not."""
        if self.calm:
            return call()
        if self._strikes(self.profile.ray_trouble):
            self.happened.append(f"{name}: no answer")
            raise RayApiUnreachable("no answer in time")
        if name.endswith(".submit") and self._strikes(self.profile.ray_trouble / 4):
            self.happened.append(f"{name}: refused")
            raise RayJobRefused("the head will not run it")
        result = self._or_die(actor, name, call)
        if self._strikes(self.profile.ray_trouble / 2):
            self.happened.append(f"{name}: done, the answer is lost")
            raise RayApiUnreachable("no answer in time")
        return result

    def _refuse(self, name: str) -> None:
        if self._strikes(self.profile.api_trouble):
            error: ClusterError = self.dice.choice(
                (ClusterUnreachable("500"), RequestThrottled("429", self.dice.choice((None, 3.0))))
            )
            self.happened.append(f"{name}: {error}")
            raise error
        if name in self.forbidden and self._strikes(self.profile.api_forbidden):
            self.happened.append(f"{name}: forbidden")
            raise RequestForbidden("exceeded quota")

    def _or_die(self, actor: str, name: str, call: Call) -> Any:  # noqa: ANN401 a proxy
        if self._strikes(self.profile.crash / 2):
            raise Crash(actor, f"before {name}")
        result = call()
        if self._strikes(self.profile.crash / 2):
            raise Crash(actor, f"after {name}")
        return result

    def _strikes(self, probability: float) -> bool:
        return probability > 0 and self.dice.random() < probability


def faulty(port: Port, name: str, actor: str, faults: Faults, around: Callable[..., Any]) -> Port:
    """Return the port of a process; `around` is what its calls go through."""
    return cast("Port", _Proxy(port, name, actor, faults, around))


class _Proxy:
    def __init__(
        self, port: object, name: str, actor: str, faults: Faults, around: Callable[..., Any]
    ) -> None:
        self._port, self._name, self._actor = port, name, actor
        self._faults, self._around = faults, around

    def __getattr__(self, method: str) -> Any:  # noqa: ANN401 a proxy
        target = getattr(self._port, method)
        name, actor = f"{self._name}.{method}", self._actor
        guarded = self._name == "cluster" and method not in READS

        def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 a proxy
            if guarded:
                self._faults.allow(actor, method, *_resource(args), args, kwargs)
            return self._around(actor, name, lambda: target(*args, **kwargs))

        self.__dict__[method] = call  # made once
        return call


def _resource(args: tuple[Any, ...]) -> tuple[str]:
    return (args[0].plural,)
