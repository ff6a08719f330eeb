"""The memory of a controller is kept in huge pages, where the system has such."""

import threading
from pathlib import Path

import pytest

from jobledger.adapters.process import huge_pages
from jobledger.adapters.process.huge_pages import (
    HUGE,
    Memory,
    advice,
    ask_for,
    in_huge_pages,
    keep_asking,
    worthwhile,
)
from tests.support.waiting import wait_until

MIB = 1 << 20
_TRANSPARENT = Path("/sys/kernel/mm/transparent_hugepage/enabled")

needs_huge_pages = pytest.mark.skipif(
    not _TRANSPARENT.exists() or "[never]" in _TRANSPARENT.read_text(),
    reason="transparent huge pages are switched off on this machine",
)


def mapping(
    start: int, size: int, *, used: int, huge: int = 0, rights: str = "rw-p", name: str = ""
) -> str:
    """Return a mapping as the kernel tells of it, with the lines that are read and some more."""
    inode = 99 if name.startswith("/") else 0
    return (
        f"{start:x}-{start + size:x} {rights} 00000000 00:00 {inode}          {name}\n"
        f"Size:              {size >> 10} kB\nRss:               {used >> 10} kB\n"
        f"Pss:                   0 kB\nAnonHugePages:     {huge >> 10} kB\n"
        "THPeligible:           0\nVmFlags: rd wr mr mw me ac\n"
    )


BASE = 0x7F0000000000


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        pytest.param(
            mapping(BASE, 8 * MIB, used=8 * MIB),
            [Memory(BASE, BASE + 8 * MIB, BASE, 8 * MIB)],
            id="memory in use",
        ),
        pytest.param(
            mapping(BASE + MIB, 6 * MIB, used=3 * MIB, name="[heap]"),
            [Memory(BASE + MIB, BASE + 7 * MIB, BASE + 2 * MIB, 4 * MIB)],
            id="the heap, whose ends belong to no whole huge page",
        ),
        pytest.param(
            mapping(BASE, 4 * MIB, used=4 * MIB, huge=2 * MIB, name="[anon:arena]"),
            [Memory(BASE, BASE + 4 * MIB, BASE, 4 * MIB)],
            id="what has grown since it was asked for",
        ),
        pytest.param(mapping(BASE, 4 * MIB, used=4 * MIB, huge=4 * MIB), [], id="huge already"),
        pytest.param(mapping(BASE, 8 * MIB, used=MIB), [], id="a stack: little is in use"),
        pytest.param(mapping(BASE + MIB, 2 * MIB, used=2 * MIB), [], id="no whole page fits in"),
        pytest.param(mapping(BASE, 8 * MIB, used=8 * MIB, rights="r-xp", name="/x"), [], id="code"),
        pytest.param(mapping(BASE, 8 * MIB, used=8 * MIB, name="/data"), [], id="a file's"),
        pytest.param(mapping(BASE, 8 * MIB, used=8 * MIB, rights="rw-s"), [], id="shared"),
        pytest.param(mapping(BASE, 8 * MIB, used=8 * MIB, name="[stack]"), [], id="the stack"),
    ],
)
def test_private_memory_in_use_is_worth_huge_pages(told: str, asked: list[Memory]) -> None:
    before = mapping(BASE - 64 * MIB, 4096, used=4096, rights="r--p", name="/lib/x.so")
    assert list(worthwhile(before + told + before)) == asked


@needs_huge_pages
def test_the_kernel_keeps_memory_in_huge_pages_that_are_asked_for() -> None:
    held = [str(number) * 8 for number in range(400_000)]
    before = _in_huge_pages()
    assert ask_for(advice())
    assert _in_huge_pages() >= before + 4 * HUGE
    assert held[-1] == "399999" * 8


@needs_huge_pages
def test_it_goes_on_while_the_service_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "FIRST_SECONDS", 0.01)
    monkeypatch.setattr(huge_pages, "EVERY_SECONDS", 0.01)
    with in_huge_pages():
        before = _in_huge_pages()
        held = [str(number) * 9 for number in range(400_000)]
        wait_until(lambda: _in_huge_pages() >= before + 4 * HUGE, "what came later is there too")
    assert held[-1] == "399999" * 9


def test_while_the_kernel_gives_none_it_is_asked_less_and_less(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pauses: list[float] = []

    class Stopped(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            pauses.append(timeout or 0.0)
            return len(pauses) == 9

    monkeypatch.setattr(huge_pages, "advice", lambda: None)
    given = iter([True, False, False, False, False, False, False, True])
    monkeypatch.setattr(huge_pages, "ask_for", lambda _: next(given))
    keep_asking(Stopped())
    assert pauses == [5, 30, 60, 120, 240, 480, 600, 600, 30]


def test_where_nobody_wants_them_none_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(huge_pages, "_TRANSPARENT", tmp_path)
    monkeypatch.setattr(huge_pages, "ask_for", lambda _: pytest.fail("nothing is to be asked for"))
    monkeypatch.setattr(huge_pages, "FIRST_SECONDS", 0.0)
    for enabled, size in (("always madvise [never]", 2 * MIB), ("[always]", 32 * MIB)):
        (tmp_path / "enabled").write_text(enabled)
        (tmp_path / "hpage_pmd_size").write_text(str(size))
        with pytest.raises(OSError, match=r"never|bytes"):
            advice()
        keep_asking(threading.Event())
    (tmp_path / "enabled").unlink()
    with in_huge_pages():  # as on another system
        pass


def _in_huge_pages() -> int:
    rollup = Path("/proc/self/smaps_rollup").read_text()
    line = next(line for line in rollup.splitlines() if line.startswith("AnonHugePages:"))
    return int(line.split()[1]) << 10
