"""What the controller itself asks the head to run (HTTPMode)."""

import pytest

from jobledger.core.ports.ray_jobs import Submission
from jobledger.core.rayjob.manifests.http_submission import build_submission
from jobledger.core.rayjob.spec.entrypoint_resources import resource_amounts
from tests.rules.rayjob.jobs import rayjob


def test_everything_is_passed_on() -> None:
    job = rayjob(
        entrypoint=" python train.py\n",
        metadata={"team": "ml"},
        entrypointNumCpus=0.1,
        entrypointNumGpus=1,
        entrypointResources='{"tpu": 0.1, "big": 16777217}',
    )
    assert build_submission(job, "train-abcde", {"pip": ["a"]}) == Submission(
        entrypoint=" python train.py\n",
        submission_id="train-abcde",
        metadata={"team": "ml"},
        runtime_env={"pip": ["a"]},
        num_cpus=0.1,
        num_gpus=1.0,
        resources={"tpu": 0.1, "big": 16777216.0},
    )


def test_what_is_not_said_is_empty() -> None:
    assert build_submission(rayjob(), "j", None) == Submission(
        entrypoint="python train.py",
        submission_id="j",
        metadata={},
        runtime_env={},
        resources={},
    )


@pytest.mark.parametrize(
    "written",
    [
        *("", "{", "[]", '{"a": "1"}', '{"a": true}', '{"a": NaN}'),
        *('{"a": 1e39}', "[" * 100_000),
    ],
    ids=lambda written: written[:12],
)
def test_what_is_no_object_of_numbers_is_refused(written: str) -> None:
    assert resource_amounts(written) is None


def test_null_is_nothing_as_it_is_to_go() -> None:
    assert resource_amounts("null") == {}
    assert resource_amounts('{"a": null}') == {"a": 0.0}
