"""Names of children: upstream's shape, derived from the job and the attempt."""

import re
from collections.abc import Callable

import pytest

from jobledger.core.rayjob.names import (
    cluster_name,
    head_service_name,
    submission_id,
    submitter_name,
)

SHAPE = re.compile(r"train-[bcdfghjklmnpqrstvwxz2456789]{5}")


@pytest.mark.parametrize("name", [cluster_name, submission_id])
def test_a_derived_name_has_upstreams_shape(name: Callable[[str, str, int], str]) -> None:
    assert SHAPE.fullmatch(name("train", "uid-of-train", 1))


def test_names_follow_from_the_job_and_the_attempt() -> None:
    """Part of the storage format: whoever creates twice must meet AlreadyExists."""
    assert cluster_name("train", "uid-of-train", 1) == "train-skd2v"
    assert cluster_name("train", "uid-of-train", 2) == "train-64vd5"
    assert submission_id("train", "uid-of-train", 1) == "train-84w6s"


def test_attempts_and_jobs_do_not_share_names() -> None:
    found = {
        name("train", uid, attempt)
        for name in (cluster_name, submission_id)
        for uid in ("a", "b", "c")
        for attempt in range(1, 20)
    }
    assert len(found) == 2 * 3 * 19


def test_names_that_do_not_depend_on_the_attempt() -> None:
    assert submitter_name("train") == "train"
    assert head_service_name("train-abcde") == "train-abcde-head-svc"
