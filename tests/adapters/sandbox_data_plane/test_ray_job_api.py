"""The job API of the sandbox's head. Source: what a head of Ray 2.60 answers, traps included."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.sandbox_data_plane.world import fetch
from tests.support.sandbox_head import SandboxHead, sandbox_head
from tests.support.waiting import LIMIT_SECONDS, wait_until

Document = dict[str, Any]


class Head:
    """The API of a head."""

    def __init__(self, running: SandboxHead) -> None:
        self.tools, self.environment = running.ray.parent, running.environment
        self.process = running.process
        self.address = f"http://{running.host}"

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        status, text = fetch(self.address + path, method=method, body=body)
        try:
            return status, json.loads(text)
        except ValueError:
            return status, text

    def submit(self, name: str, entrypoint: str, **more: object) -> tuple[int, Any]:
        fields = {"entrypoint": entrypoint, "submission_id": name, **more}
        return self.ask("POST", "/api/jobs/", fields)

    def info(self, name: str) -> Document:
        found: Document = self.ask("GET", f"/api/jobs/{name}")[1]
        return found

    def wait_for(self, name: str, status: str) -> Document:
        wait_until(lambda: self.info(name)["status"] == status, f"{name} is {status}")
        return self.info(name)

    def ray(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.tools / "ray"), "job", words[0], "--address", self.address, *words[1:]],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Head]:
    with sandbox_head(tmp_path) as running:
        yield Head(running)


def test_a_job_that_succeeds(head: Head) -> None:
    env = {"env_vars": {"A": "x"}}
    answer = head.submit("a", 'echo "$A"; pwd', runtime_env=env, metadata={"k": "v"})
    assert answer == (200, {"job_id": "a", "submission_id": "a"})
    info = head.wait_for("a", "SUCCEEDED")
    assert info["message"] == "Job finished successfully."
    assert (info["driver_exit_code"], info["error_type"], info["job_id"]) == (0, None, None)
    assert (info["metadata"], info["runtime_env"]) == ({"k": "v"}, env)
    assert info["end_time"] >= info["start_time"] > 1_000_000_000_000
    assert head.ask("GET", "/api/jobs/a/logs")[1]["logs"].startswith("x\n")
    assert [one["submission_id"] for one in head.ask("GET", "/api/jobs/")[1]] == ["a"]


def test_a_job_that_fails_shows_the_end_of_its_log(head: Head) -> None:
    head.submit("a", "for n in $(seq 15); do echo line $n; done; exit 3")
    info = head.wait_for("a", "FAILED")
    assert (info["driver_exit_code"], info["error_type"]) == (3, "JOB_ENTRYPOINT_COMMAND_ERROR")
    lines = "".join(f"line {number}\n" for number in range(6, 16))
    assert info["message"] == (
        "Job entrypoint command failed with exit code 3, "
        f"last available logs (truncated to 20,000 chars):\n{lines}"
    )


def test_a_message_holds_no_more_than_20000_characters_of_log(head: Head) -> None:
    head.submit("a", "head -c 30000 /dev/zero | tr '\\0' x; kill -9 $$")
    info = head.wait_for("a", "FAILED")
    assert info["message"].endswith(":\n" + "x" * 20_000)
    assert info["driver_exit_code"] == -9


def test_stopping_a_job(head: Head) -> None:
    head.submit("a", "sleep 600")
    assert head.wait_for("a", "RUNNING")["message"] == "Job is currently running."
    assert head.ask("POST", "/api/jobs/a/stop") == (200, {"stopped": True})
    info = head.wait_for("a", "STOPPED")
    assert (info["message"], info["driver_exit_code"]) == ("Job was intentionally stopped.", None)
    assert head.ask("POST", "/api/jobs/a/stop") == (200, {"stopped": False})


def test_a_job_that_ignores_the_request_is_killed(head: Head) -> None:
    head.submit("a", "trap '' TERM; echo deaf; while true; do sleep 0.2; done")
    wait_until(lambda: "deaf" in str(head.ask("GET", "/api/jobs/a/logs")), "it ignores SIGTERM")
    head.ask("POST", "/api/jobs/a/stop")
    head.wait_for("a", "STOPPED")


def test_a_job_that_waits_for_resources_cannot_be_stopped(head: Head) -> None:
    head.submit("a", "true", entrypoint_resources={"sandbox.unavailable": 1})
    wait_until(lambda: "resources" in head.info("a")["message"], "it waits for resources")
    assert head.ask("POST", "/api/jobs/a/stop") == (200, {"stopped": True})
    assert head.info("a")["status"] == "PENDING"


def test_an_unknown_job_is_404(head: Head) -> None:
    for method, path in (("GET", ""), ("POST", "/stop"), ("GET", "/logs"), ("DELETE", "")):
        assert head.ask(method, f"/api/jobs/x{path}") == (404, "Job x does not exist")


def test_a_duplicate_id_is_500(head: Head) -> None:
    head.submit("a", "true")
    status, text = head.submit("a", "true")
    assert status == 500
    assert "Job with submission_id a already exists" in text


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"entrypoint": "true", "no_such_field": 1},
        {"entrypoint": "true", "metadata": {"a": 1}},
        {"entrypoint": 7},
        [],
    ],
)
def test_what_cannot_be_read_is_400(head: Head, body: object) -> None:
    status, text = head.ask("POST", "/api/jobs/", body)
    assert status == 400
    assert "Traceback" in text


def test_an_id_with_a_slash_is_500_and_waits_for_ever(head: Head) -> None:
    assert head.submit("a/b", "true")[0] == 500
    assert [one["status"] for one in head.ask("GET", "/api/jobs/")[1]] == ["PENDING"]


def test_only_a_finished_job_can_be_deleted(head: Head) -> None:
    head.submit("a", "sleep 600")
    head.wait_for("a", "RUNNING")
    status, text = head.ask("DELETE", "/api/jobs/a")
    assert status == 500
    assert "non-terminal state RUNNING" in text
    head.ask("POST", "/api/jobs/a/stop")
    head.wait_for("a", "STOPPED")
    assert head.ask("DELETE", "/api/jobs/a") == (200, {"deleted": True})
    assert head.ask("GET", "/api/jobs/a")[0] == 404


def test_a_runtime_environment_that_cannot_be_made_fails_the_job(head: Head) -> None:
    head.submit("a", "true", runtime_env={"working_dir": "https://example.com/code.zip"})
    assert head.wait_for("a", "FAILED")["message"].startswith("runtime_env setup failed: ")


def test_health_and_version(head: Head) -> None:
    assert head.ask("GET", "/api/version")[1]["ray_version"] == "2.60.0"
    assert head.ask("GET", "/api/cluster_status")[1]["result"] is True
    assert head.ask("GET", "/api/healthz")[0] == 404


def test_submit_waits_and_ends_as_the_job_does(head: Head) -> None:
    good = head.ray("submit", "--submission-id", "good", "--", "echo", "a  b")
    assert (good.returncode, good.stdout) == (0, "a  b\n")
    bad = head.ray("submit", "--submission-id=bad", "--", "sh", "-c", "echo bad; exit 3")
    assert (bad.returncode, bad.stdout) == (1, "bad\n")
    assert "Job 'bad' failed" in bad.stderr


def test_status_logs_list_and_stop_of_the_command_line(head: Head) -> None:
    assert head.ray("status", "a").returncode == 1
    assert (
        head.ray("submit", "--no-wait", "--submission-id", "a", "--", "sleep", "600").returncode
        == 0
    )
    assert head.ray("status", "a").returncode == 0
    assert head.ray("stop", "a").returncode == 0
    assert "was stopped" in head.ray("logs", "--follow", "a").stderr
    assert "'submission_id': 'a'" in head.ray("list").stdout
    assert head.ray("delete", "a").returncode == 0
    assert head.ray("logs", "a").returncode == 1
    assert head.ray("submit", "--no-such-option", "--", "true").returncode == 2


def test_a_followed_log_that_breaks_off_is_an_error(head: Head) -> None:
    head.submit("a", "echo begun; sleep 600")
    command = [str(head.tools / "ray"), "job", "logs", "--address", head.address, "-f", "a"]
    with subprocess.Popen(
        command, env=head.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"begun\n"
        head.process.terminate()
        assert following.wait(LIMIT_SECONDS) == 1
