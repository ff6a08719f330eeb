"""What of a specification is acted on: within reason, whatever stands there."""

import pytest

from jobledger.core.rayjob.spec.spec import read_spec
from jobledger.core.values.documents import Json
from jobledger.core.values.durations import SECONDS_MAX

NONE: Json = None


@pytest.mark.parametrize("written", [0, -5, 10**30, "60", True, 1.5, NONE, [], {}])
def test_what_is_no_deadline_bounds_nothing(written: Json) -> None:
    """A fault of the manifest; a job of which it is the first manifest must not end by it."""
    spec = read_spec(
        {"spec": {"activeDeadlineSeconds": written, "preRunningDeadlineSeconds": written}}
    )
    assert (spec.active_deadline_seconds, spec.pre_running_deadline_seconds) == (None, None)


@pytest.mark.parametrize(("written", "seconds"), [(-5, 0), (10**30, SECONDS_MAX), ("5", 0), (5, 5)])
def test_a_delay_is_one_that_an_instant_can_be_put_off_by(written: Json, seconds: int) -> None:
    condition: Json = {"jobStatus": "FAILED", "ttlSeconds": written}
    rules: Json = [{"policy": "DeleteCluster", "condition": condition}]
    spec = read_spec(
        {"spec": {"ttlSecondsAfterFinished": written, "deletionStrategy": {"deletionRules": rules}}}
    )
    assert spec.ttl_seconds_after_finished == seconds
    assert [rule.ttl_seconds for rule in spec.deletion_rules] == [seconds]
