"""Writes documents as YAML that readers in Go (kubectl, yq, Trainer) take for the same.

Python's YAML and Go's disagree about which bare words are texts: `1e-5`, `09`, `0o17`, `y` and `n`
are to Python, and a number or a truth value to Go.
"""

import re
from math import inf

import yaml

_STR = "tag:yaml.org,2002:str"
_BARE = re.compile(r"(?!(?:y|n|yes|no|on|off|true|false|null)\Z)[a-z][a-z0-9_./-]*", re.IGNORECASE)
"""What nobody takes for anything but a text; all others are quoted."""


class _Writer(yaml.SafeDumper):
    """Quotes every text that is not a plain word."""


def _text(writer: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return writer.represent_scalar(_STR, value, style=None if _BARE.fullmatch(value) else '"')


_Writer.add_representer(str, _text)


def yaml_text(document: object, *, sort_keys: bool = False, ascii_only: bool = False) -> str:
    """Return a document of plain values as YAML, each text of it on one line."""
    made: str = yaml.dump(
        document, Dumper=_Writer, sort_keys=sort_keys, allow_unicode=not ascii_only, width=inf
    )
    return made
