"""The JSON API as a command of its own."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import urllib3

from jobledger.adapters.cli.exit_codes import ExitCode
from tests.support import rayjob_stories as stories
from tests.support.ledgers import app_engine, postgres_ledger
from tests.support.processes import Terminal, jobledger_command
from tests.support.recorded import append_lives
from tests.support.waiting import wait_until

pytestmark = pytest.mark.postgres

START_SECONDS = STOP_SECONDS = 120.0


@pytest.fixture
def filled(terminal: Terminal, ledger_url: str) -> Terminal:
    """A terminal at a ledger with a job."""
    with app_engine(ledger_url) as engine:
        ledger = postgres_ledger(engine)
        ledger.take_all_shards()
        append_lives(ledger, {"done": stories.succeeded}.items())
    return terminal.with_environment(DATABASE_URL=ledger_url)


@contextmanager
def served(terminal: Terminal, *arguments: str) -> Iterator[str]:
    """Run `jobledger serve`; give its address, and see that it ends when it is asked to."""
    ready = terminal.directory / "ready"
    words = [*jobledger_command(), "serve", "--port", "0", "--ready-file", str(ready), *arguments]
    process = subprocess.Popen(
        words,
        cwd=terminal.directory,
        env=dict(terminal.environment),
        stdout=subprocess.DEVNULL,
    )
    try:
        wait_until(
            lambda: ready.exists() and ready.read_text() != "", "the API is served", START_SECONDS
        )
        yield ready.read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait(STOP_SECONDS) == 0
    finally:
        process.kill()
        process.wait()


def get(url: str, **headers: str) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", url, headers=headers, retries=False, timeout=20)


def test_jobs_are_served_on_loopback(filled: Terminal) -> None:
    with served(filled) as url:
        (job,) = json.loads(get(f"{url}/api/v1/jobs").data)["items"]
        assert (job["name"], job["phase"]) == ("done", "Complete")
        assert b">done</a>" in get(f"{url}/page/jobs").data
        assert b"none in this process" in get(f"{url}/page/health").data


def test_a_token_is_asked_for_where_one_is_set(filled: Terminal, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s3cret\n")
    with served(filled, "--token-file", "token") as url:
        assert get(f"{url}/api/v1/jobs").status == 401
        assert get(f"{url}/api/v1/jobs", Authorization="Bearer s3cret").status == 200
        assert b">done</a>" not in get(f"{url}/page/jobs").data
        assert b">done</a>" in get(f"{url}/page/jobs", Authorization="Bearer s3cret").data


def test_an_open_address_without_a_judge_is_refused(filled: Terminal) -> None:
    ended = filled.jobledger("serve", "--host", "0.0.0.0", code=ExitCode.MISCONFIGURED)
    assert "JOBLEDGER_API_TOKEN_FILE" in ended.err
    (filled.directory / "empty").write_text("")
    for file in ("empty", "absent"):
        filled.jobledger("serve", "--token-file", file, code=ExitCode.MISCONFIGURED)
