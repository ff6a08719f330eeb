"""`ray` and its commands: what is run, what is printed, which exit code follows.

Source: python/ray/dashboard/modules/job/cli.py. `ray job logs --follow` ends with 0 even if the
job failed (KubeRay relies on it, pull request 3216); `ray job submit` without `--no-wait` ends
with 1 then.
"""

from __future__ import annotations

import sys
import time

from jobledger.sandbox.ray.arguments import UsageError, parsed

VERSION_LINE = "ray, version 2.60.0"
POLL_SECONDS = 1.0
"""How often `ray job stop` asks whether the job has ended."""

_COMMON = frozenset({"--address", "--headers", "--verify", "--log-style", "--log-color"})
_VERBOSE = frozenset({"-v", "--verbose"})
_SUBMIT_VALUES = _COMMON | {
    "--job-id",
    "--submission-id",
    "--runtime-env",
    "--runtime-env-json",
    "--working-dir",
    "--metadata-json",
    "--entrypoint-num-cpus",
    "--entrypoint-num-gpus",
    "--entrypoint-memory",
    "--entrypoint-resources",
    "--entrypoint-label-selector",
}


def main(words: list[str]) -> int:
    """Run one command and return its exit code (2: not understood, 1: failed)."""
    try:
        return _run(words)
    except UsageError as wrong:
        sys.stderr.write(f"Usage: ray [OPTIONS] COMMAND [ARGS]...\n\nError: {wrong}\n")
        return 2
    except (OSError, RuntimeError) as failed:
        sys.stderr.write(f"{type(failed).__name__}: {failed}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _run(words: list[str]) -> int:
    first, rest = (words[0], words[1:]) if words else ("", [])
    if first == "--version":
        sys.stdout.write(VERSION_LINE + "\n")
        return 0
    if first == "start":
        from jobledger.sandbox.ray.start import start  # noqa: PLC0415  # pay for one command only

        return start(rest)
    if first == "stop":
        return 0
    if first == "job" and rest and rest[0] in _JOB_COMMANDS:
        return _JOB_COMMANDS[rest[0]](rest[1:])
    if first == "health-check":
        return _health_check(rest)
    raise UsageError(f"No such command {' '.join(words[:2])!r} in the sandbox.")


def _health_check(words: list[str]) -> int:
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only

    options, _ = parsed(words, _VERBOSE, _COMMON | {"--component"})
    return 0 if JobClient(options.get("--address", "")).is_healthy() else 1


def _submit(words: list[str]) -> int:
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only
    from jobledger.sandbox.ray.submission import submission_fields  # noqa: PLC0415  # as above

    options, entrypoint = parsed(words, _VERBOSE | {"--no-wait"}, _SUBMIT_VALUES)
    if not entrypoint:
        raise UsageError("Missing argument 'ENTRYPOINT...'.")
    client = JobClient(options.get("--address", ""))
    _say(f"Job submission server address: {client.address}")
    name = client.submit(submission_fields(options, entrypoint))
    _say(f"Job '{name}' submitted successfully")
    if "--no-wait" in options:
        return 0
    _say("Tailing logs until the job exits (disable with --no-wait):")
    client.follow(name)
    return 1 if _say_status(client.info(name), name) == "FAILED" else 0


def _status(words: list[str]) -> int:
    client, name = _client_and_job(words)
    _say_status(client.info(name), name)
    return 0


def _logs(words: list[str]) -> int:
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only

    options, others = parsed(words, _VERBOSE | {"-f", "--follow"}, _COMMON)
    client, name = JobClient(options.get("--address", "")), _only(others)
    if "-f" in options or "--follow" in options:
        client.follow(name)
        _say_status(client.info(name), name)
    else:
        sys.stdout.write(client.logs(name))
    return 0


def _stop(words: list[str]) -> int:
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only

    options, others = parsed(words, _VERBOSE | {"--no-wait"}, _COMMON)
    client, name = JobClient(options.get("--address", "")), _only(others)
    _say(f"Attempting to stop job '{name}'")
    client.stop(name)
    while "--no-wait" not in options:
        info = client.info(name)
        if info.get("status") in ("STOPPED", "SUCCEEDED", "FAILED"):
            _say_status(info, name)
            break
        _say(f"Job has not exited yet. Status: {info.get('status')}")
        time.sleep(POLL_SECONDS)
    return 0


def _delete(words: list[str]) -> int:
    client, name = _client_and_job(words)
    client.delete(name)
    _say(f"Job '{name}' deleted successfully")
    return 0


def _list(words: list[str]) -> int:
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only

    options, _ = parsed(words, _VERBOSE, _COMMON)
    sys.stdout.write(f"{JobClient(options.get('--address', '')).list()}\n")
    return 0


_JOB_COMMANDS = {
    "submit": _submit,
    "status": _status,
    "logs": _logs,
    "stop": _stop,
    "delete": _delete,
    "list": _list,
}


def _client_and_job(words: list[str]):  # type: ignore[no-untyped-def]  # noqa: ANN202  # the type is imported only when needed
    from jobledger.sandbox.ray.client import JobClient  # noqa: PLC0415  # pay for one command only

    options, others = parsed(words, _VERBOSE, _COMMON)
    return JobClient(options.get("--address", "")), _only(others)


def _only(others: list[str]) -> str:
    if not others:
        raise UsageError("Missing argument 'JOB_ID'.")
    return others[0]


def _say_status(info: dict[str, object], name: str) -> str:
    status = str(info.get("status"))
    said = {
        "SUCCEEDED": f"Job '{name}' succeeded",
        "STOPPED": f"Job '{name}' was stopped",
        "FAILED": f"Job '{name}' failed",
    }
    _say(said.get(status, f"Status for job '{name}': {status}"))
    if info.get("message") and status not in ("SUCCEEDED", "STOPPED"):
        _say(f"Status message: {info['message']}")
    return status


def _say(line: str) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    sys.stderr.write(f"{stamp},{int(now * 1000) % 1000:03d}\tINFO cli.py -- {line}\n")
    sys.stderr.flush()
