"""Writes and reads a runtime as its snapshot holds it: YAML that readers in Go take for the same.

What is too long to be read as YAML here is JSON, which is YAML to Go.
"""

from contextlib import suppress

import msgspec

from jobledger.adapters.files.yaml_texts import yaml_text
from jobledger.adapters.service.objects.runtime_env import CHARACTERS_MAX, parse_runtime_env
from jobledger.core.values.documents import Json, Manifest

_json = msgspec.json.Decoder(dict[str, Json])


def snapshot_text(runtime: Manifest) -> str:
    """Return a runtime as its snapshot holds it."""
    text = yaml_text(runtime, sort_keys=True)
    if len(text) <= CHARACTERS_MAX:
        return text
    return msgspec.json.encode(runtime, order="sorted").decode()


def read_snapshot(text: str) -> tuple[dict[str, Json], str]:
    """Return what a snapshot holds, and why it cannot be read; nothing if it can."""
    if text.startswith("{"):
        with suppress(msgspec.MsgspecError, RecursionError):
            return _json.decode(text), ""
    held, problem = parse_runtime_env(text)
    return {**(held or {})}, problem
