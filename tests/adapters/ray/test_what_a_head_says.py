"""How the fields of a job are read, with the values that heads (and others) send."""

from datetime import UTC, datetime

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.core.ports.ray_jobs import RayJobInfo
from tests.adapters.ray.scripted_head import Script, ScriptedHead, answer

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
NOON_MILLISECONDS = int(NOON.timestamp() * 1000)


def told(api: RayJobApi, **fields: object) -> RayJobInfo:
    with ScriptedHead(answer({"status": "RUNNING", **fields})) as head:
        return api.info(head.address, "job")


def test_all_fields_are_read(api: RayJobApi) -> None:
    assert told(
        api,
        status="FAILED",
        submission_id="job",
        job_id=None,
        message="Job entrypoint command failed",
        error_type="JOB_ENTRYPOINT_COMMAND_ERROR",
        start_time=NOON_MILLISECONDS,
        end_time=NOON_MILLISECONDS + 1500,
        driver_exit_code=-9,
        metadata={"a": "b"},
    ) == RayJobInfo(
        status="FAILED",
        message="Job entrypoint command failed",
        started_at=NOON,
        ended_at=NOON.replace(second=1, microsecond=500_000),
        error_type="JOB_ENTRYPOINT_COMMAND_ERROR",
        exit_code=-9,
    )


@pytest.mark.parametrize("code", [2**31, -(2**31), 2**63, 10**400, 1.5, "1", True, [1]])
def test_what_no_process_ends_with_is_no_exit_code(api: RayJobApi, code: object) -> None:
    assert told(api, driver_exit_code=code).exit_code is None


def test_a_status_counts_in_any_case(api: RayJobApi) -> None:
    assert told(api, status="succeeded").status == "SUCCEEDED"


def test_the_job_may_be_named_by_either_of_its_ids(api: RayJobApi) -> None:
    assert told(api, submission_id="raysubmit_1", job_id="job").status == "RUNNING"


@pytest.mark.parametrize(
    ("value", "instant"),
    [
        (NOON_MILLISECONDS, NOON),
        (float(NOON_MILLISECONDS), NOON),
        (0, None),
        (-1, None),
        (10**30, None),
        (10**400, None),
        (1e300, None),
        (float("nan"), None),
        (float("inf"), None),
        ("1700000000000", None),
        (True, None),
        (None, None),
        ({}, None),
    ],
)
def test_a_time_that_is_none_is_unknown(
    api: RayJobApi, value: object, instant: datetime | None
) -> None:
    info = told(api, start_time=value, end_time=value)
    assert (info.started_at, info.ended_at) == (instant, instant)


@pytest.mark.parametrize("value", [None, "3", 3.5, True, [3]])
def test_an_exit_code_that_is_no_whole_number_is_unknown(api: RayJobApi, value: object) -> None:
    assert told(api, driver_exit_code=value).exit_code is None


@pytest.mark.parametrize("value", [None, 5, {"a": 1}])
def test_a_message_that_is_no_text_is_empty(api: RayJobApi, value: object) -> None:
    info = told(api, message=value, error_type=value)
    assert (info.message, info.error_type) == ("", "")


def test_a_long_message_is_cut_and_ray_own_length_is_kept(api: RayJobApi) -> None:
    assert len(told(api, message="x" * 20_000).message) == 20_000
    assert len(told(api, message="x" * 1_000_000).message) == 32_768


def test_what_postgres_cannot_hold_is_replaced(api: RayJobApi) -> None:
    body = rb'{"status": "FAILED", "message": "a\u0000b\ud800c \ud83d\ude00 \u00e9"}'
    with ScriptedHead(answer(body)) as head:
        message = api.info(head.address, "job").message
    assert message == "a\ufffdb\ufffdc \U0001f600 é"


def test_an_answer_in_chunks_is_read(api: RayJobApi) -> None:
    chunks = b'9\r\n{"status"\r\nc\r\n: "RUNNING"}\r\n0\r\n\r\n'
    script = Script(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
    with ScriptedHead(script) as head:
        assert api.info(head.address, "job").status == "RUNNING"
