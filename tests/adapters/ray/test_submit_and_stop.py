"""What is there is asked, not guessed: submitting and stopping, whatever the first answer is."""

import json
from types import MappingProxyType

import pytest

from jobledger.adapters.ray.job_api import RayJobApi
from jobledger.core.errors import RayApiError, RayApiUnreachable, RayJobNotFound, RayJobRefused
from jobledger.core.ports.ray_jobs import Submission
from tests.adapters.ray.scripted_head import Script, ScriptedHead, Then, answer

NOT_THERE = answer(b"Job job does not exist", "404 Not Found")
THERE = answer({"status": "PENDING", "submission_id": "job"})
FINISHED = answer({"status": "FAILED", "submission_id": "job"})
ASKED = ["POST /api/jobs/", "GET /api/jobs/job"]
TRACEBACK = b"Traceback (most recent call last):\n  File x\nTypeError: bad field\n.\n"


def submission(submission_id: str = "job") -> Submission:
    return Submission(
        entrypoint=" python train.py ",
        submission_id=submission_id,
        metadata={},
        runtime_env={},
        resources={},
    )


def submit(api: RayJobApi, *scripts: Script) -> list[str]:
    with ScriptedHead(*scripts) as head:
        api.submit(head.address, submission())
    return list(head.first_lines)


def refusal(api: RayJobApi, *scripts: Script) -> RayApiError:
    with ScriptedHead(*scripts) as head, pytest.raises(RayApiError) as caught:
        api.submit(head.address, submission())
    return caught.value


def test_only_what_says_something_is_sent(api: RayJobApi) -> None:
    with ScriptedHead(answer({"job_id": "job", "submission_id": "job"})) as head:
        api.submit(head.address, submission())
        full = Submission(
            entrypoint="run",
            submission_id="job",
            metadata=MappingProxyType({"a": "b"}),
            runtime_env=MappingProxyType({"pip": ("torch",), "deep": MappingProxyType({"x": 1})}),
            num_cpus=2,
            num_gpus=0.5,
            resources=MappingProxyType({"TPU": 1.0}),
        )
        api.submit(head.address, full)
    small, large = (json.loads(request.split("\r\n\r\n", 1)[1]) for request in head.requests)
    assert small == {"entrypoint": " python train.py ", "submission_id": "job"}
    assert large == {
        "entrypoint": "run",
        "submission_id": "job",
        "metadata": {"a": "b"},
        "runtime_env": {"pip": ["torch"], "deep": {"x": 1}},
        "entrypoint_num_cpus": 2,
        "entrypoint_num_gpus": 0.5,
        "entrypoint_resources": {"TPU": 1.0},
    }
    assert "Content-Type: application/json" in head.requests[0]


def test_the_id_in_the_answer_is_enough(api: RayJobApi) -> None:
    assert submit(api, answer({"submission_id": "job"})) == ASKED[:1]
    assert submit(api, answer({"job_id": "job"}, "201 Created")) == ASKED[:1]


@pytest.mark.parametrize(
    "first",
    [
        answer(b"... Please use a different submission_id.", "500 Internal Server Error"),
        answer(b"already exists", "400 Bad Request"),
        answer(b"already exists", "409 Conflict"),
        answer(b"<html>", "200 OK"),
        answer({"submission_id": "other"}),
        answer(b"", "404 Not Found"),
    ],
    ids=["500", "400", "409", "200 with a page", "200 with another id", "404"],
)
def test_a_job_that_is_there_was_submitted_whatever_was_answered(
    api: RayJobApi, first: Script
) -> None:
    assert submit(api, first, THERE) == ASKED
    assert submit(api, first, FINISHED) == ASKED


@pytest.mark.parametrize("status", ["400 Bad Request", "413 Too Large", "422 Unprocessable"])
def test_a_refusal_carries_the_line_that_says_why(api: RayJobApi, status: str) -> None:
    error = refusal(api, answer(TRACEBACK, status), NOT_THERE)
    assert isinstance(error, RayJobRefused)
    assert str(error).endswith("refused the job: TypeError: bad field")
    error = refusal(api, answer(b"no " * 10_000 + b"\nmore", status), NOT_THERE)
    assert len(str(error)) < 600


def test_a_job_that_was_taken_under_another_id_is_not_submitted_again(api: RayJobApi) -> None:
    error = refusal(api, answer({"submission_id": "raysubmit_7"}), NOT_THERE)
    assert isinstance(error, RayJobRefused)
    assert "took the job as 'raysubmit_7' instead of 'job'; stop it there" in str(error)


@pytest.mark.parametrize(
    ("scripts", "says"),
    [
        ([answer(TRACEBACK, "500 Internal Server Error"), NOT_THERE], "answered 500: TypeError"),
        ([answer(b"", "200 OK"), NOT_THERE], "answered a submission without its id"),
        ([answer([], "200 OK"), NOT_THERE], "answered a submission without its id"),
        ([NOT_THERE, NOT_THERE], "there is no Ray job API"),
        ([answer(b"", "500 Internal Server Error"), Script(then=Then.RESET)], "no usable answer"),
        ([answer(b"", "503 Busy"), answer(b"{}", "503 Busy")], "answered 503"),
    ],
    ids=["500", "200 with nothing", "200 with a list", "404", "500, reset", "503, 503"],
)
def test_without_a_clear_answer_nobody_can_tell(
    api: RayJobApi, scripts: list[Script], says: str
) -> None:
    error = refusal(api, *scripts)
    assert isinstance(error, RayApiUnreachable)
    assert says in str(error)


def test_a_lost_answer_is_not_repeated_by_us(api: RayJobApi) -> None:
    with ScriptedHead(Script(then=Then.RESET)) as head, pytest.raises(RayApiUnreachable):
        api.submit(head.address, submission())
    assert head.first_lines == ASKED[:1]


def test_without_a_valid_token_no_second_question_is_asked(api: RayJobApi) -> None:
    with (
        ScriptedHead(answer(b"", "401 Unauthorized")) as head,
        pytest.raises(RayApiUnreachable, match="check the token"),
    ):
        api.submit(head.address, submission(), "secret")
    assert head.first_lines == ASKED[:1]


@pytest.mark.parametrize("submission_id", ["", ".", "..", "a/b", "../x", "a\nb", "a\x00"])
def test_an_id_that_no_job_can_have_is_never_sent(api: RayJobApi, submission_id: str) -> None:
    with ScriptedHead(answer({})) as head:
        with pytest.raises(RayJobRefused, match="cannot be the id of a Ray job; choose a jobId"):
            api.submit(head.address, submission(submission_id))
        for ask in (api.info, api.stop, api.log_tail):
            with pytest.raises(RayJobNotFound, match="cannot be the id of a Ray job"):
                ask(head.address, submission_id)
    assert head.requests == []


def test_ids_are_quoted(api: RayJobApi) -> None:
    with ScriptedHead(answer({"status": "RUNNING"})) as head:
        api.info(head.address, "a b?c#d%2Fé")
    assert head.first_lines == ["GET /api/jobs/a%20b%3Fc%23d%252F%C3%A9"]


def test_what_is_no_json_is_refused_before_it_is_sent(api: RayJobApi) -> None:
    wrong = Submission(
        entrypoint="x",
        submission_id="job",
        metadata={},
        runtime_env={},
        resources={},
        num_cpus=float("nan"),
    )
    with ScriptedHead(answer({})) as head, pytest.raises(RayJobRefused, match="correct the"):
        api.submit(head.address, wrong)
    assert head.requests == []


@pytest.mark.parametrize(
    ("scripts", "stopped"),
    [
        ([answer({"stopped": True})], True),
        ([answer({"stopped": False}), FINISHED], True),
        ([answer({"stopped": False}), THERE], False),
    ],
    ids=["stopped", "had ended", "still there"],
)
def test_stopping(api: RayJobApi, scripts: list[Script], stopped: bool) -> None:
    with ScriptedHead(*scripts) as head:
        assert api.stop(head.address, "job") is stopped
    expected = ["POST /api/jobs/job/stop", "GET /api/jobs/job"]
    assert head.first_lines == expected[: len(scripts)]


def test_stopping_raises_as_asking_does(api: RayJobApi) -> None:
    with ScriptedHead(NOT_THERE) as head, pytest.raises(RayJobNotFound):
        api.stop(head.address, "job")
    for script in (answer({"stopped": "yes"}), answer({}), answer(b"ok"), answer(b"", "500 Oh")):
        with ScriptedHead(script) as head, pytest.raises(RayApiUnreachable):
            api.stop(head.address, "job")
