"""The threads of `jobledger run` come together on one core, by default."""

import os
from pathlib import Path

import pytest

from tests.acceptance.site import Site
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) == 1, reason="there is one core only"),
]


def test_the_threads_of_a_controller_come_together_on_one_core(site: Site) -> None:
    with site.controller() as controller:
        wait_until(lambda: len(_cores(controller.pid)) == 1, "all threads are on one core")


def _cores(process: int) -> set[int]:
    """Return the cores that any thread of a process may use."""
    cores: set[int] = set()
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            cores |= os.sched_getaffinity(int(task.name))
        except ProcessLookupError:  # it has ended
            continue
    return cores
