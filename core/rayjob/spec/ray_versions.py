"""Compares the Ray version of a RayCluster with the version a feature needs.

Upstream reads versions in two ways. Rules about the RayCluster take anything that begins with two
numbers (`2.53.0.dev0`); the rule about `spec.metadata` takes semantic versions only. Both are kept,
because their messages are.

Source: k8s.io/apimachinery v0.36 (util/version, ParseGeneric), Masterminds/semver v3.4
(NewVersion and the constraint `>= 2.6.0`).
"""

import re
from typing import TypeAlias

from jobledger.core.rayjob.spec.go_text import quote

_GENERIC = re.compile(r"\s*v?([0-9]+(?:\.[0-9]+)*)[^\n]*", re.ASCII)
_LABELS = r"(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMANTIC = re.compile(
    r"v?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?"
    rf"(?:-(?P<pre>{_LABELS}(?:\.{_LABELS})*))?"
    r"(?:\+[0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_UINT64_DIGITS_MAX = 20
_UINT64_MAX = 2**64 - 1
SEMANTIC_LENGTH_MAX = 256
"""Longer texts are no semantic version."""

GENERIC_LENGTH_MAX = 1024
"""Longer texts are no version."""

Version: TypeAlias = tuple[int, ...]
"""The numbers of a version, in order."""


def generic_version(text: str) -> Version | str:
    """Return the numbers of a version; or, as a text, why it is none."""
    found = _GENERIC.fullmatch(text) if len(text) <= GENERIC_LENGTH_MAX else None
    if found is None:
        return f"could not parse {quote(text[:GENERIC_LENGTH_MAX])} as version"
    parts = found[1].split(".")
    if len(parts) == 1:
        return f"illegal version string {quote(text)}"
    if parts[0] != "0" and parts[0].startswith("0"):
        return f"illegal zero-prefixed version component {quote(parts[0])} in {quote(text)}"
    numbers = [part.lstrip("0") or "0" for part in parts]
    for part, number in zip(parts, numbers, strict=True):
        if len(number) > _UINT64_DIGITS_MAX or int(number) > _UINT64_MAX:
            return (
                f"illegal non-numeric version component {quote(part)} in {quote(text)}: "
                f"strconv.ParseUint: parsing {quote(part)}: value out of range"
            )
    return tuple(map(int, numbers))


def is_older(version: Version, minimum: Version) -> bool:
    """Return whether `version` comes before `minimum`; numbers that are missing count as 0."""
    length = max(len(version), len(minimum))
    return version + (0,) * (length - len(version)) < minimum + (0,) * (length - len(minimum))


def metadata_version_problem(text: str) -> str:
    """Return why Ray of this version cannot take a job's metadata; empty if it can, or if unset.

    A pre-release of any version is refused too, as upstream's constraint does.
    """
    if not text:
        return ""
    found = None if len(text) > SEMANTIC_LENGTH_MAX else _SEMANTIC.fullmatch(text)
    if found is None:
        return (
            f"failed to parse Ray version: {text[:SEMANTIC_LENGTH_MAX]}: invalid semantic version"
        )
    numbers = tuple(int(found[group] or 0) for group in (1, 2, 3))
    if max(numbers) > _UINT64_MAX:
        return f"failed to parse Ray version: {text}: error parsing version segment"
    if found["pre"] or is_older(numbers, (2, 6, 0)):
        return "the Ray version must be at least 2.6.0 to use the metadata field"
    return ""
