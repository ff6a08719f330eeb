"""What is in an image beside its base: the distributions of its requirements."""

import importlib.metadata
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements"
CONTENTS = ("image", "parquet")
"""What an image for a cluster is made with: a file of `requirements/` each, the smallest first."""
PINNED = re.compile(r"^([\w.-]+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)
ELSEWHERE = "sys_platform == 'win32'"
"""Marker of what is never in an image."""

SPELLED_OTHERWISE = {
    "Apache 2.0": "Apache-2.0",
    "ISC License": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
}
"""What a distribution says -> the identifier in SPDX's list."""

READ_IN_THE_DISTRIBUTION = {
    "jinja2": "BSD-3-Clause",  # it says "BSD License" only; LICENSE.txt has three clauses
}
"""Distribution -> the identifier of the licence that lies in it."""

WORDS = re.compile(r"(?:[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) )?)+")


@dataclass(frozen=True, slots=True)
class Part:
    """One distribution."""

    name: str
    version: str
    licence: str
    """An SPDX expression."""


def parts(contents: str = "image") -> Iterator[Part]:
    """Yield what is installed, in the order of names.

    Licences are read from what is installed here, which `make install` pins to the same versions.

    Args:
        contents: One of `CONTENTS`.

    Raises:
        ValueError: another version is installed, or a distribution says no licence.
    """
    pinned = (REQUIREMENTS / f"{contents}.txt").read_text(encoding="utf-8")
    for name, version, marker in PINNED.findall(pinned):
        if marker == ELSEWHERE:
            continue
        found = importlib.metadata.distribution(name)
        if found.version != version:
            raise ValueError(f"{name} {found.version} is installed, not {version}: make install")
        yield Part(name, version, _licence(name, found))


def _licence(name: str, found: importlib.metadata.Distribution) -> str:
    if (read := READ_IN_THE_DISTRIBUTION.get(name)) is not None:
        return read
    told = found.metadata
    classified = [one for one in told.get_all("Classifier", []) if one.startswith("License")]
    named = (told[key] for key in ("License-Expression", "License") if key in told)
    for said in (*named, *classified):
        expression = SPELLED_OTHERWISE.get(said, said) if said else ""
        if expression and WORDS.fullmatch(expression):
            return expression
    raise ValueError(f"{name} does not say its licence in a word: read it there")
