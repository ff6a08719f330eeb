"""Lets a Python program in a Pod find other Pods by name, as a cluster's DNS would.

Python imports this when it starts, before the program; it must not cost much, need anything
installed or fail. Names are looked up where they are used, in `JOBLEDGER_SANDBOX_NAMES` (a file per
name, kept by the sandbox), by the search list of a Pod's resolv.conf. As Pods share one network
here, the ports that the Pod declares (`JOBLEDGER_SANDBOX_PORTS`) are kept apart: to listen at one
of them on all addresses, or to ask localhost for it, means the Pod's own address.
"""

import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

NAMES = os.environ.get("JOBLEDGER_SANDBOX_NAMES", "")
NAMESPACE = os.environ.get("JOBLEDGER_SANDBOX_NAMESPACE", "default")
PORTS = frozenset(os.environ.get("JOBLEDGER_SANDBOX_PORTS", "").split(","))
HOSTNAME = os.environ.get("HOSTNAME", "")
POD_IP = os.environ.get("POD_IP", "")
SEARCH = ("", f".{NAMESPACE}.svc.cluster.local", ".svc.cluster.local", ".cluster.local")
CLUSTER = (".svc", ".svc.cluster.local")
EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104  # told apart, not listened at
HERE = ("localhost", "127.0.0.1", "::1")
NO_RAY = "the sandbox has no Ray but its job API; `make demo-ray` runs a program of Ray's"


def address_of(name: object) -> object:
    """Return the address that a name stands for in this cluster; what is unknown as it is.

    Raises:
        socket.gaierror: it can only be a name of this cluster, and nobody has it (yet).
    """
    if isinstance(name, bytes | bytearray):
        name = name.decode("ascii", "replace")
    if not isinstance(name, str) or not name:
        return name
    if name == HOSTNAME and POD_IP:
        return POD_IP
    wanted = name.rstrip(".").lower()
    found = _addresses(wanted)
    if found:
        return found[0]
    if (
        found is not None
        or wanted.endswith(CLUSTER)
        or _addresses(wanted.partition(".")[2]) is not None
    ):
        import socket  # noqa: PLC0415  # only now is it sure to be loaded

        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    return name


def _addresses(name: str) -> list[str] | None:
    """Return the addresses that a name has by the search list; None if it is no name here."""
    if not NAMES or not name or "/" in name:
        return None
    for suffix in SEARCH:
        try:
            with open(f"{NAMES}/{name}{suffix}", encoding="ascii") as file:  # noqa: PTH123  # pathlib would cost each start
                return file.read().split()
        except OSError:
            continue
    return None


def _place(address: Any, own: tuple[str, ...]) -> Any:  # noqa: ANN401  # addresses have any form
    """Return a socket's address with its name looked up; `own` means this Pod at its ports."""
    if not isinstance(address, tuple) or len(address) < 2:  # noqa: PLR2004  # a path, not a place
        return address
    host, port, *rest = address
    if POD_IP and host in own and str(port) in PORTS and not rest:
        return POD_IP, port
    return address_of(host), port, *rest


def _patch(module: Any) -> None:  # noqa: ANN401  # its functions are replaced
    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex"):
        setattr(module, name, _looking_up(getattr(module, name)))
    for name, own in (("connect", HERE), ("connect_ex", HERE), ("bind", EVERYWHERE)):
        setattr(module.socket, name, _at_its_place(getattr(module.socket, name), own))
    if HOSTNAME:
        module.gethostname = lambda: HOSTNAME


def _looking_up(plain: Callable[..., Any]) -> Callable[..., Any]:
    def looking_up(host: object, *more: object, **named: object) -> object:
        return plain(address_of(host), *more, **named)

    return looking_up


def _at_its_place(plain: Callable[..., Any], own: tuple[str, ...]) -> Callable[..., Any]:
    def at_its_place(self: object, address: object) -> object:
        return plain(self, _place(address, own))

    return at_its_place


class _Finder:
    """Finds `socket` as Python would, and has it patched once it is loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ANN401  # as importlib calls it
        del path, target
        if name != "socket":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_patch(module: ModuleType) -> None:
                load(module)
                _patch(module)

            spec.loader.exec_module = load_and_patch  # type: ignore[method-assign]  # of this one
        return spec


def _say_what_is_missing(before: Callable[..., object]) -> Callable[..., object]:
    """Return what tells of an error that ends the program, with a word where `ray` is missing."""

    def told(kind: type[BaseException], error: BaseException, trace: object) -> object:
        if isinstance(error, ModuleNotFoundError) and error.name == "ray":
            error.msg = f"{error.msg} ({NO_RAY})"
        return before(kind, error, trace)

    return told


def _hand_on() -> None:
    """Run the `sitecustomize` that the program would have had without this one."""
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120  # as above
    others = [entry for entry in sys.path if os.path.abspath(entry) != here]  # noqa: PTH100
    spec = PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(sys.modules[__name__])


if NAMES:
    if "socket" in sys.modules:
        _patch(sys.modules["socket"])
    else:
        sys.meta_path.insert(0, _Finder())
    sys.excepthook = _say_what_is_missing(sys.excepthook)
    _hand_on()
