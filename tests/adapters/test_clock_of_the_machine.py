"""The seconds that pass while the machine is suspended count, so that a lease is over then."""

import sys
import time

import pytest

from jobledger.adapters.telemetry.clock import SteadyClock, SystemClock, since_start

SUSPENDED_SECONDS = 3600.0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere CLOCK_MONOTONIC counts them")
def test_time_passes_while_the_machine_is_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """It had held its leases for as long as it had slept, by its own clock."""
    read = time.clock_gettime

    def after_a_suspension(which: int) -> float:
        leaves_it_out = which == time.CLOCK_MONOTONIC
        return read(which) + (0.0 if leaves_it_out else SUSPENDED_SECONDS)

    before, steady = since_start(), SteadyClock().monotonic()
    monkeypatch.setattr(time, "clock_gettime", after_a_suspension)
    assert SystemClock().monotonic() - before >= SUSPENDED_SECONDS
    assert SteadyClock().monotonic() - steady >= SUSPENDED_SECONDS
