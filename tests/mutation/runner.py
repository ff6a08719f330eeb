"""Trying mutants: tests are collected once, and each mutant gets a forked process.

A mistake inside a function is put into the function that is loaded already, in the fork alone; one
that takes effect while modules are imported gets a pytest of its own. Of the tests those run that
call the function (the whole of the test's file knows what an import brings), until one fails.
"""

import gc
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Final, Literal, TypeAlias

import pytest
from _pytest.runner import runtestprotocol

from tests.mutation.mutants import Mutant, mutated

Fate: TypeAlias = Literal["killed", "survived", "never ended", "not reached"]
Function: TypeAlias = tuple[str, str, int]
"""Path, qualified name and first line."""

CPU_SECONDS: Final = 90
"""What the tests of one mutant may take; more counts as noticed."""
MEMORY_BYTES: Final = 4 << 30
INSTALLED: Final = "build/package/jobledger/"
"""Where an editable install finds what lies in a checkout."""
WANTED: Final = "JOBLEDGER_MUTANT"
"""Environment: `PATH NUMBER` of the mutant that a pytest of its own imports."""

_SURVIVED, _KILLED, _SWAPPED_NOTHING = 0, 1, 3


@dataclass
class Reach:
    """Which tests call which function, and which functions run while modules are imported."""

    root: Path
    tests: dict[Function, set[str]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    at_import: set[Function] = field(default_factory=set)
    present: str = ""
    _known: dict[CodeType, Function | None] = field(default_factory=dict)

    def trace(self, frame: FrameType, what: str, _: object) -> None:
        """Note a call; for `sys.setprofile`."""
        if what != "call":
            return
        code = frame.f_code
        function = self._known[code] if code in self._known else self._name(code)
        if function is None:
            return
        if self.present:
            self.tests.setdefault(function, set()).add(self.present)
        else:
            self.at_import.add(function)

    def _name(self, code: CodeType) -> Function | None:
        function = function_of(code, self.root)
        self._known[code] = function
        return function


def function_of(code: CodeType, root: Path) -> Function | None:
    """Return which function of `core/` a code object is, or None."""
    path = code.co_filename.removeprefix(f"{root}/").removeprefix(INSTALLED)
    if not path.startswith("core/") or "<" in code.co_qualname:
        return None
    return path, code.co_qualname, code.co_firstlineno


@dataclass
class Campaign:
    """A plugin of pytest: runs the tests once as they are, then tries every mutant."""

    root: Path
    mutants: Sequence[Mutant]
    processes: int
    tell: Callable[[Mutant, Fate, float], None]
    reach: Reach = field(init=False)
    finished: bool = False
    """Whether every mutant was tried; else the tests fail as they are."""

    def __post_init__(self) -> None:
        self.reach = Reach(self.root)
        sys.setprofile(self.reach.trace)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Stand in for the loop of pytest."""
        items = {item.nodeid: item for item in session.items}
        if session.testsfailed or not self._learn(items):
            return True
        functions = loaded(self.root)
        waiting, running = iter(self.mutants), dict[int, tuple[Mutant, float]]()
        try:
            while True:
                while len(running) < self.processes and (mutant := next(waiting, None)):
                    if not self._tests_of(mutant):
                        self.tell(mutant, "not reached", 0.0)
                        continue
                    running[self._start(mutant, items, functions)] = (mutant, time.monotonic())
                if not running:
                    self.finished = True
                    return True
                pid, status = os.wait()
                if pid in running:
                    mutant, since = running.pop(pid)
                    self.tell(mutant, _fate(status, mutant), time.monotonic() - since)
        finally:
            for pid in running:  # of a run that is stopped
                os.kill(pid, signal.SIGKILL)

    def _learn(self, items: dict[str, pytest.Item]) -> bool:
        """Run every test once; return whether all passed."""
        for name, item in items.items():
            self.reach.present, since = name, time.process_time()
            reports = runtestprotocol(item, nextitem=None, log=False)
            self.reach.seconds[name] = time.process_time() - since
            failed = [report for report in reports if report.failed]
            if failed:
                sys.stderr.write(f"{name} fails without any mutant:\n{failed[0].longreprtext}\n")
                return False
            sys.setprofile(self.reach.trace)  # a test may have taken it away
        sys.setprofile(None)
        return True

    def _tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that can notice, the quickest first."""
        place = (mutant.path, mutant.function, mutant.function_line)
        found = self.reach.tests.get(place, set())
        if not mutant.function or (not found and place in self.reach.at_import):
            of_file = (
                tests for (path, _, _), tests in self.reach.tests.items() if path == mutant.path
            )
            found = set().union(*of_file) or set(self.reach.seconds)
        return sorted(found, key=lambda name: (self.reach.seconds[name], name))

    def _start(
        self,
        mutant: Mutant,
        items: dict[str, pytest.Item],
        functions: dict[Function, list[FunctionType]],
    ) -> int:
        tests = self._tests_of(mutant)
        place = (mutant.path, mutant.function, mutant.function_line)
        imported = not mutant.function or place in self.reach.at_import
        pid = os.fork()
        if pid:
            return pid
        try:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            _limit_time()
            _silence()
            code = _SURVIVED
            if mutant.function:
                swapped = _swap(mutant, functions.get(place, []), self.root)
                code = _SWAPPED_NOTHING
                if swapped:
                    fails = _any_fails(items[name] for name in tests)
                    code = _KILLED if fails else _SURVIVED
            if imported and code == _SURVIVED:
                _become_a_pytest(mutant, tests)
        except BaseException:  # noqa: BLE001 the mistake broke the tests: it was noticed
            code = _KILLED
        os._exit(code)


def _limit_time() -> None:
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    limit = int(used) + CPU_SECONDS
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


def _any_fails(items: Iterator[pytest.Item]) -> bool:
    return any(
        report.failed
        for item in items
        for report in runtestprotocol(item, nextitem=None, log=False)
    )


def _become_a_pytest(mutant: Mutant, tests: Sequence[str]) -> None:
    """Become a pytest that imports the mutant, over the files of these tests."""
    _silence()  # what was captured until now is not any more
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    environment = {**os.environ, WANTED: f"{mutant.path} {mutant.number}"}
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "tests.mutation.swap"]
    os.execve(
        sys.executable,
        [sys.executable, "-B", "-m", "pytest", *options, "-p", "no:rerunfailures", *files],
        environment,
    )


def _swap(mutant: Mutant, functions: list[FunctionType], root: Path) -> bool:
    """Put the mistake into the functions that are loaded; return whether there were any."""
    source = root / mutant.path
    tree = mutated(source.read_text(encoding="utf-8"), mutant.number)
    place = (mutant.path, mutant.function, mutant.function_line)
    found = [
        code
        for code in _codes(compile(tree, str(source), "exec"))
        if function_of(code, root) == place
    ]
    for function in functions:
        function.__code__ = found[0]
    return bool(functions)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def loaded(root: Path) -> dict[Function, list[FunctionType]]:
    """Return all functions of `core/` that are in memory.

    What pytest had loaded when it began is kept from the garbage collector (`tests/conftest.py`),
    which does not list such objects.
    """
    found: dict[Function, list[FunctionType]] = {}
    gc.unfreeze()
    objects = gc.get_objects()
    gc.freeze()
    for thing in objects:
        if isinstance(thing, FunctionType):
            place = function_of(thing.__code__, root)
            if place is not None:
                found.setdefault(place, []).append(thing)
    return found


def _fate(status: int, mutant: Mutant) -> Fate:
    if os.WIFSIGNALED(status):
        return "never ended" if os.WTERMSIG(status) == signal.SIGXCPU else "killed"
    code = os.WEXITSTATUS(status)
    if code == _SWAPPED_NOTHING:
        raise LookupError(f"{mutant.words}: no function of that name is loaded")
    return "survived" if code == _SURVIVED else "killed"


def present_commit(root: Path) -> str:
    """Return the commit that is checked out, or nothing."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip()
