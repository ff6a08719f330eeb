"""The body of a submission, from the options of `ray job submit`."""

from __future__ import annotations

import json
import shlex

from jobledger.sandbox.ray.arguments import UsageError


def submission_fields(options: dict[str, str], entrypoint: list[str]) -> dict[str, object]:
    """Return the fields to send; raise `UsageError` for a value that cannot be read."""
    fields: dict[str, object] = {"entrypoint": shlex.join(entrypoint)}
    name = options.get("--submission-id") or options.get("--job-id")
    if name:
        fields["submission_id"] = name
    runtime_env = _json_object(options, "--runtime-env-json") or {}
    if "--runtime-env" in options:
        runtime_env = {**_json_file(options["--runtime-env"]), **runtime_env}
    if "--working-dir" in options:
        runtime_env["working_dir"] = options["--working-dir"]
    fields["runtime_env"] = runtime_env
    for option, field in (
        ("--metadata-json", "metadata"),
        ("--entrypoint-resources", "entrypoint_resources"),
        ("--entrypoint-label-selector", "entrypoint_label_selector"),
    ):
        found = _json_object(options, option)
        if found is not None:
            fields[field] = found
    for option in ("--entrypoint-num-cpus", "--entrypoint-num-gpus", "--entrypoint-memory"):
        if option in options:
            number = _number(options[option], option)
            fields[option[2:].replace("-", "_")] = int(number) if "memory" in option else number
    return fields


def _json_object(options: dict[str, str], option: str) -> dict[str, object] | None:
    if option not in options:
        return None
    try:
        found = json.loads(options[option])
    except ValueError as unreadable:
        raise UsageError(f"{option} is no JSON: {unreadable}") from unreadable
    if not isinstance(found, dict):
        raise UsageError(f"{option} must be a JSON object.")
    return found


def _json_file(path: str) -> dict[str, object]:
    try:
        with open(path, encoding="utf-8") as document:  # noqa: PTH123  # pathlib costs 8 ms per start
            found = json.load(document)
    except ValueError as unreadable:
        raise UsageError(
            f"{path}: the sandbox reads a runtime environment only as JSON: {unreadable}"
        ) from unreadable
    return found if isinstance(found, dict) else {}


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError as unreadable:
        raise UsageError(f"{option}: {text!r} is no number.") from unreadable
