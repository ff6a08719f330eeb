"""What every Ray job API does: `core.ports.ray_jobs`, one rule per function."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol, cast
from uuid import uuid4

import pytest

from jobledger.core.errors import RayApiUnreachable, RayJobNotFound, RayJobRefused
from jobledger.core.ports.ray_jobs import RayJobs, Submission
from jobledger.sandbox.ray.jobs import UNAVAILABLE_RESOURCE
from tests.support.waiting import wait_until

CPUS_TOO_MANY = 100_000


class RayHead(Protocol):
    """A head that has fewer CPUs than too many, and jobs on it that end when told to."""

    @property
    def jobs(self) -> RayJobs:
        """The implementation that is tested."""

    @property
    def address(self) -> str:
        """Where the head is."""

    @property
    def nowhere(self) -> str:
        """An address where there is no head."""

    def entrypoint(self, submission_id: str) -> str:
        """Return a command that runs until `end`."""

    def end(self, submission_id: str, exit_code: int, output: str = "") -> None:
        """Let the command write `output` and end."""


def submission(head: RayHead, *, too_much: bool = False) -> Submission:
    submission_id = f"rayjob-{uuid4().hex[:12]}"
    return Submission(
        entrypoint=head.entrypoint(submission_id),
        submission_id=submission_id,
        metadata={"owner": "jobledger"},
        runtime_env={"env_vars": {"A": "1"}},
        num_cpus=CPUS_TOO_MANY if too_much else 0,
        resources={UNAVAILABLE_RESOURCE: 1} if too_much else {},
    )


def submitted(head: RayHead, *, too_much: bool = False) -> str:
    handed_in = submission(head, too_much=too_much)
    head.jobs.submit(head.address, handed_in)
    return handed_in.submission_id


def wait_for_status(head: RayHead, submission_id: str, status: str) -> None:
    wait_until(
        lambda: head.jobs.info(head.address, submission_id).status == status,
        f"{submission_id} is {status}",
    )


class RayJobsContract:
    """Submitting, asking, stopping, reading the log."""

    def test_an_unknown_job_is_not_found(self, ray_head: RayHead) -> None:
        with pytest.raises(RayJobNotFound):
            ray_head.jobs.info(ray_head.address, "never-submitted")
        with pytest.raises(RayJobNotFound):
            ray_head.jobs.stop(ray_head.address, "never-submitted")
        with pytest.raises(RayJobNotFound):
            ray_head.jobs.log_tail(ray_head.address, "never-submitted")

    def test_without_a_head_nobody_can_tell(self, ray_head: RayHead) -> None:
        handed_in = submission(ray_head)
        with pytest.raises(RayApiUnreachable):
            ray_head.jobs.info(ray_head.nowhere, handed_in.submission_id)
        with pytest.raises(RayApiUnreachable):
            ray_head.jobs.submit(ray_head.nowhere, handed_in)
        with pytest.raises(RayApiUnreachable):
            ray_head.jobs.stop(ray_head.nowhere, handed_in.submission_id)
        with pytest.raises(RayApiUnreachable):
            ray_head.jobs.log_tail(ray_head.nowhere, handed_in.submission_id)

    def test_a_job_runs_and_succeeds(self, ray_head: RayHead) -> None:
        name = submitted(ray_head)
        wait_for_status(ray_head, name, "RUNNING")
        running = ray_head.jobs.info(ray_head.address, name)
        assert running.started_at is not None
        assert (running.ended_at, running.exit_code, running.error_type) == (None, None, "")
        ray_head.end(name, 0)
        wait_for_status(ray_head, name, "SUCCEEDED")
        ended = ray_head.jobs.info(ray_head.address, name)
        assert ended.exit_code == 0
        assert ended.ended_at is not None
        assert ended.ended_at >= running.started_at
        assert ended.message == "Job finished successfully."

    def test_a_job_that_fails_says_with_which_code_and_output(self, ray_head: RayHead) -> None:
        name = submitted(ray_head)
        wait_for_status(ray_head, name, "RUNNING")
        ray_head.end(name, 3, "no such dataset\n")
        wait_for_status(ray_head, name, "FAILED")
        ended = ray_head.jobs.info(ray_head.address, name)
        assert ended.exit_code == 3
        assert ended.error_type == "JOB_ENTRYPOINT_COMMAND_ERROR"
        assert "no such dataset" in ended.message

    def test_the_log_can_be_read_while_it_runs_and_after(self, ray_head: RayHead) -> None:
        name = submitted(ray_head)
        wait_for_status(ray_head, name, "RUNNING")
        assert "epoch 1" not in ray_head.jobs.log_tail(ray_head.address, name)
        ray_head.end(name, 0, 'epoch 1\n"loss" \\ 0.5 é\n')
        wait_for_status(ray_head, name, "SUCCEEDED")
        assert 'epoch 1\n"loss" \\ 0.5 é' in ray_head.jobs.log_tail(ray_head.address, name)

    def test_submitting_again_under_the_same_id_changes_nothing(self, ray_head: RayHead) -> None:
        handed_in = submission(ray_head)
        ray_head.jobs.submit(ray_head.address, handed_in)
        ray_head.jobs.submit(ray_head.address, handed_in)
        wait_for_status(ray_head, handed_in.submission_id, "RUNNING")
        ray_head.end(handed_in.submission_id, 0)
        wait_for_status(ray_head, handed_in.submission_id, "SUCCEEDED")
        ray_head.jobs.submit(ray_head.address, handed_in)
        assert ray_head.jobs.info(ray_head.address, handed_in.submission_id).exit_code == 0

    def test_a_running_job_is_stopped(self, ray_head: RayHead) -> None:
        name = submitted(ray_head)
        wait_for_status(ray_head, name, "RUNNING")
        assert ray_head.jobs.stop(ray_head.address, name)
        wait_for_status(ray_head, name, "STOPPED")
        stopped = ray_head.jobs.info(ray_head.address, name)
        assert stopped.exit_code is None
        assert stopped.ended_at is not None

    def test_a_job_that_has_ended_counts_as_stopped_and_keeps_its_end(
        self, ray_head: RayHead
    ) -> None:
        name = submitted(ray_head)
        wait_for_status(ray_head, name, "RUNNING")
        ray_head.end(name, 0)
        wait_for_status(ray_head, name, "SUCCEEDED")
        assert ray_head.jobs.stop(ray_head.address, name)
        assert ray_head.jobs.info(ray_head.address, name).status == "SUCCEEDED"

    def test_a_job_that_waits_for_resources_is_pending_and_stays_so_when_stopped(
        self, ray_head: RayHead
    ) -> None:
        name = submitted(ray_head, too_much=True)
        assert ray_head.jobs.info(ray_head.address, name).status == "PENDING"
        assert ray_head.jobs.stop(ray_head.address, name)
        assert ray_head.jobs.info(ray_head.address, name).status == "PENDING"

    def test_an_id_with_a_slash_is_refused(self, ray_head: RayHead) -> None:
        handed_in = submission(ray_head)
        slashed = Submission(
            entrypoint=handed_in.entrypoint,
            submission_id="team/job",
            metadata={},
            runtime_env={},
            resources={},
        )
        with pytest.raises(RayJobRefused, match="'team/job' cannot be the id of a Ray job"):
            ray_head.jobs.submit(ray_head.address, slashed)
        with pytest.raises(RayJobNotFound):
            ray_head.jobs.info(ray_head.address, "team/job")

    def test_a_submission_that_is_not_as_it_must_be_is_refused(self, ray_head: RayHead) -> None:
        handed_in = submission(ray_head)
        name = handed_in.submission_id
        numbers = cast("Mapping[str, str]", {"epochs": 3})
        with pytest.raises(RayJobRefused, match="metadata"):
            ray_head.jobs.submit(ray_head.address, replace(handed_in, metadata=numbers))
        with pytest.raises(RayJobNotFound):
            ray_head.jobs.info(ray_head.address, name)
