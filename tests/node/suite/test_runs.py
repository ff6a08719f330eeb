"""Each case is a process of its own; whoever stops the run stops them all."""

import os
import threading
from pathlib import Path

import pytest

from tests.node.suite.cases import Case
from tests.node.suite.runs import TIMEOUTS, Suite, run_all
from tests.node.suite.verdicts import FAILED, PASSED, Seen

GOOD, BAD, HANGS = (Case("TestX", name) for name in ("is good", "is bad", "hangs"))

PROGRAM = """#!/bin/sh
case "$2" in
  *hangs*) echo $$ > hangs.pid; exec sleep 600 ;;
  *good*) echo "--- PASS: TestX/is_good (0.25s)" ;;
  *) echo "    x_test.go:7: no $KUBERAY_TEST_TIMEOUT_SHORT"; exit 1 ;;
esac
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A suite of three cases, one of which never ends."""
    program = tmp_path / "suite"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    return Suite(program, {"PATH": os.environ["PATH"]}, tmp_path, "2026-11-23")


def test_verdicts_come_as_cases_end_and_in_their_order(suite: Suite) -> None:
    """Upstream's waits are those for two cores unless the environment says others."""
    told: list[Seen] = []
    seen = run_all(suite, [BAD, GOOD], 1, told.append)
    assert seen == told
    assert [(item.case, item.verdict) for item in seen] == [(BAD, FAILED), (GOOD, PASSED)]
    assert seen[0].why == f"x_test.go:7: no {TIMEOUTS['KUBERAY_TEST_TIMEOUT_SHORT']}"
    assert seen[1].seconds == 0.25


def test_a_run_that_is_stopped_leaves_nothing_running_and_no_verdict(
    suite: Suite, tmp_path: Path
) -> None:
    """What was killed says nothing of its case, and the next does not begin."""
    told: list[Seen] = []
    begun = threading.Event()

    def tell(item: Seen) -> None:
        told.append(item)
        begun.wait(60.0)
        raise KeyboardInterrupt

    def look() -> None:
        while not (tmp_path / "hangs.pid").exists() and not suite.stopped.wait(0.01):
            pass
        begun.set()

    looking = threading.Thread(target=look)
    looking.start()
    with pytest.raises(KeyboardInterrupt):
        run_all(suite, [GOOD, HANGS, BAD], 2, tell)
    looking.join()
    assert [item.case for item in told] == [GOOD]
    assert suite.running == set()
    assert not (tmp_path / f"{BAD.reported.replace('/', '.')}.log").exists()
