"""Writes and reads a runtime as its snapshot holds it: YAML that readers in Go take for the same.

Python's YAML and Go's disagree about which bare words are texts: `1e-5`, `09`, `0o17`, `y` and `n`
are to Python, and a number or a truth value to Go. What is too long to be read as YAML here is
JSON, which is YAML to Go.
"""

import re
from contextlib import suppress
from math import inf

import msgspec
import yaml

from jobledger.adapters.service.objects.runtime_env import CHARACTERS_MAX, parse_runtime_env
from jobledger.core.values.documents import Json, Manifest

_STR = "tag:yaml.org,2002:str"
_BARE = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z][a-z0-9_./-]*", re.IGNORECASE)
"""What nobody takes for anything but a text; all others are quoted."""


_json = msgspec.json.Decoder(dict[str, Json])


class _Writer(yaml.SafeDumper):
    """Quotes every text that is not a plain word."""


def _text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return writer.represent_scalar(_STR, value, style=None if _BARE.fullmatch(value) else '"')


_Writer.add_representer(str, _text)


def snapshot_text(runtime: Manifest) -> str:
    """Return a runtime as its snapshot holds it."""
    text = yaml.dump(runtime, Dumper=_Writer, sort_keys=True, allow_unicode=True, width=inf)
    if len(text) <= CHARACTERS_MAX:
        return text
    return msgspec.json.encode(runtime, order="sorted").decode()


def read_snapshot(text: str) -> tuple[dict[str, Json], str]:
    """Return what a snapshot holds, and why it cannot be read; nothing if it can."""
    if text.startswith("{"):
        with suppress(msgspec.MsgspecError):
            return _json.decode(text), ""
    held, problem = parse_runtime_env(text)
    return {**(held or {})}, problem
