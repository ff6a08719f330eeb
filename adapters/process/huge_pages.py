"""Has the kernel keep the memory of this process in huge pages (docs/decisions/0089-huge-pages.md).

A program that jumps about in its memory as Python does needs the address of another page of 4 KiB
every few steps, and the processor remembers few: on a virtual machine each that it has forgotten is
looked up twice over. Pages of 2 MiB are few enough to be remembered.
"""

import ctypes
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeAlias

from jobledger.adapters.process.meanwhile import meanwhile
from jobledger.adapters.telemetry.logging import get_logger

FIRST_SECONDS = 5.0
EVERY_SECONDS = 30.0
SELDOM_SECONDS = 600.0
"""The pause grows to this while the kernel has no huge pages, or makes them in its own time."""

HUGE = 2 << 20
"""Bytes of a huge page of x86-64, and of arm64 with pages of 4 KiB; of others nothing is asked."""

_HUGEPAGE, _COLLAPSE = 14, 25
"""What `madvise(2)` is told: use huge pages from now on; make them of what is there (Linux 6.1)."""

_SMAPS = Path("/proc/self/smaps")
_TRANSPARENT = Path("/sys/kernel/mm/transparent_hugepage")

_MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ (\d+) *(.*)")

Madvise: TypeAlias = Callable[[int, int, int], int]

log = get_logger(__name__)


class Memory(NamedTuple):
    """A part of the address space that is worth huge pages."""

    start: int
    end: int
    first: int
    """Where the first huge page begins that fits in."""
    size: int
    """Bytes of all huge pages that fit in."""


def worthwhile(smaps: str) -> Iterator[Memory]:
    """Yield private memory of which half or more is in use, and not in huge pages yet.

    The stacks of threads, of which little is in use, would each take 2 MiB for a few KiB.
    Source: `/proc/pid/smaps` in `proc(5)`.
    """
    memory: Memory | None = None
    resident = 0
    for line in smaps.splitlines():
        if (found := _MAPPING.match(line)) is not None:
            memory = _memory(*found.groups())
        elif memory is not None and line.startswith("Rss:"):
            resident = _bytes(line)
        elif memory is not None and line.startswith("AnonHugePages:"):
            if 2 * resident >= memory.end - memory.start and _bytes(line) < memory.size:
                yield memory
            memory = None


def _memory(start: str, end: str, rights: str, inode: str, name: str) -> Memory | None:
    if (rights, inode) != ("rw-p", "0") or not (name in {"", "[heap]"} or name.startswith("[anon")):
        return None
    begins, ends = int(start, 16), int(end, 16)
    first = -(-begins // HUGE) * HUGE
    size = ends // HUGE * HUGE - first
    return Memory(begins, ends, first, size) if size > 0 else None


def _bytes(line: str) -> int:
    return int(line.split()[1]) << 10


def ask_for(madvise: Madvise) -> bool:
    """Ask for huge pages wherever they are worthwhile; return whether all were given at once.

    Raises:
        OSError: the system has no account of this memory.
    """
    given = True
    for memory in list(worthwhile(_SMAPS.read_text())):
        madvise(memory.start, memory.end - memory.start, _HUGEPAGE)
        given &= madvise(memory.first, memory.size, _COLLAPSE) == 0
    return given


def advice() -> Madvise:
    """Return `madvise(2)` of the system.

    Raises:
        OSError, ValueError: the system has no such huge pages, or wants none to be used.
        AttributeError: it has no such call.
    """
    if "[never]" in (_TRANSPARENT / "enabled").read_text():
        raise OSError(f"{_TRANSPARENT}/enabled is never")
    if (size := int((_TRANSPARENT / "hpage_pmd_size").read_text())) != HUGE:
        raise OSError(f"its huge pages have {size} bytes")
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return madvise


def in_huge_pages() -> AbstractContextManager[None]:
    """Keep the memory of this process in huge pages meanwhile, where the system has such."""
    return meanwhile("huge-pages", keep_asking)


def keep_asking(stopped: threading.Event) -> None:
    """Ask again and again until told to stop; not at all where the system has no such pages."""
    try:
        madvise, pause = advice(), FIRST_SECONDS
        while not stopped.wait(pause):
            given = ask_for(madvise)
            pause = EVERY_SECONDS if given else min(max(EVERY_SECONDS, 2 * pause), SELDOM_SECONDS)
    except (OSError, ValueError, AttributeError) as problem:  # another system, or not wanted
        log.info("no_huge_pages", problem=str(problem))
