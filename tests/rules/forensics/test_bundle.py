"""A bundle is read as it was written, and not at all if anything in it was changed."""

import dataclasses
import hashlib
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from jobledger.core.errors import BrokenChain
from jobledger.core.forensics.bundles.bundle import (
    FORMAT,
    Bundle,
    cut,
    evidence_digest,
    lines,
    read,
    vouched_to,
)
from jobledger.core.forensics.seals.seals import Seal, SealedRow, Signature, make, pack
from tests.support import rayjob_stories as stories
from tests.support.recorded import recorded, stored
from tests.support.records import NOON

LOG_TAIL = b"Traceback (most recent call last):\n"


@pytest.fixture
def bundle() -> Bundle:
    events = stored(recorded(stories.succeeded()))
    return Bundle(
        exported_at=NOON,
        events=events,
        evidence={evidence_digest(LOG_TAIL): LOG_TAIL},
        seal=seal_of(Bundle(exported_at=NOON, events=events)),
    )


def seal_of(bundle: Bundle, until: int = 10) -> Seal:
    rows = b"".join(
        pack(
            SealedRow(
                position=item.position,
                stream=item.record.stream_id,
                version=item.record.version,
                chain=item.record.chain,
            )
        )
        for item in bundle.events[:until]
    )
    return make(None, rows, NOON)


class Key:
    """A key that signs by repeating, and vouches for what it signed."""

    def sign(self, digest: bytes) -> Signature:
        return Signature(algorithm="echo", key="k", value=digest)

    def vouches(self, digest: bytes, signature: Signature) -> bool:
        return signature.value == digest


def test_a_bundle_is_read_as_it_was_written(bundle: Bundle) -> None:
    assert read(lines(bundle)) == bundle


def test_a_bundle_needs_neither_evidence_nor_seal(bundle: Bundle) -> None:
    bare = dataclasses.replace(bundle, evidence={}, seal=None)
    assert read(lines(bare)) == bare
    assert vouched_to(bare, None) == 0


def test_where_a_key_is_asked_for_there_has_to_be_a_seal(bundle: Bundle) -> None:
    bare = dataclasses.replace(bundle, seal=None)
    with pytest.raises(BrokenChain, match="a job of a file: it has no seal"):
        vouched_to(bare, Key(), "a job of a file")


def test_a_seal_vouches_up_to_where_the_stream_stood(bundle: Bundle) -> None:
    assert vouched_to(bundle, None) == 10
    assert bundle.seal is not None
    signed = dataclasses.replace(bundle.seal, signature=Key().sign(bundle.seal.digest))
    assert vouched_to(dataclasses.replace(bundle, seal=signed), Key()) == 10


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda bundle: bundle, "is not signed by the key"),
        (
            lambda bundle: dataclasses.replace(
                bundle, seal=dataclasses.replace(bundle.seal, streams=())
            ),
            "does not speak of this job",
        ),
        (lambda bundle: cut(bundle, 9), "version 10 is not the one that seal 1 speaks of"),
    ],
    ids=["unsigned", "of others", "cut off"],
)
def test_a_seal_that_does_not_vouch_is_told(
    bundle: Bundle, change: Callable[[Bundle], Bundle], said: str
) -> None:
    changed = change(bundle)
    judge = Key() if "signed" in said else None
    with pytest.raises(BrokenChain, match=said):
        vouched_to(changed, judge)


def otherwise(value: object) -> object:
    """Return another value of the same type."""
    if isinstance(value, int):
        return value + 1
    if isinstance(value, dict):
        return {**value, "more": 1}
    text = str(value)
    return text[:-1] + ("0" if text[-1:] != "0" else "1")


def changed_at(text: list[str], number: int, change: Callable[[dict[str, Any]], None]) -> list[str]:
    part = json.loads(text[number])
    change(part)
    return [*text[:number], json.dumps(part) + "\n", *text[number + 1 :]]


def test_every_change_of_every_field_is_found(bundle: Bundle) -> None:
    text = list(lines(bundle))
    for number in (0, 1, 7, len(text) - 4, len(text) - 3, len(text) - 2, len(text) - 1):
        part = json.loads(text[number])
        inner = next((key for key, value in part.items() if isinstance(value, dict)), None)
        fields = part if inner is None else part[inner]
        for field in fields:

            def change(told: dict[str, Any], field: str = field, inner: Any = inner) -> None:  # noqa: ANN401
                place = told if inner is None else told[inner]
                place[field] = otherwise(place[field])

            with pytest.raises(BrokenChain):
                read(changed_at(text, number, change))


def test_every_missing_repeated_or_moved_line_is_found(bundle: Bundle) -> None:
    text = list(lines(bundle))
    for number in range(len(text)):
        with pytest.raises(BrokenChain):
            read(text[:number] + text[number + 1 :])
        with pytest.raises(BrokenChain):
            read(text[: number + 1] + text[number:])
    for number in range(1, len(text) - 2):
        swapped = [*text[:number], text[number + 1], text[number], *text[number + 2 :]]
        with pytest.raises(BrokenChain):
            read(swapped)


def rehashed(text: list[str]) -> list[str]:
    """Correct the end, as somebody would who changes a bundle on purpose."""
    body = "".join(text[:-1])
    return [*text[:-1], json.dumps({"end": hashlib.sha256(body.encode()).hexdigest()}) + "\n"]


def test_a_change_with_a_corrected_end_is_found_by_the_chain(bundle: Bundle) -> None:
    text = list(lines(bundle))

    def change(told: dict[str, Any]) -> None:
        told["event"]["actor"] = "somebody else"

    with pytest.raises(BrokenChain, match="the link does not continue the chain"):
        read(rehashed(changed_at(text, 5, change)))


@pytest.mark.parametrize("text", ["", "{}\n", "[]\n", "no json\n", '{"bundle": "another"}\n'])
def test_what_is_no_bundle_is_told(text: str) -> None:
    with pytest.raises(BrokenChain):
        read(text.splitlines(keepends=True))


@pytest.mark.parametrize("line", ["[]\n", "5\n", '"event"\n', '{"another": 1}\n'])
def test_a_line_that_is_no_part_of_a_bundle_is_called_so(bundle: Bundle, line: str) -> None:
    told = list(lines(bundle))
    with pytest.raises(BrokenChain, match="line 2 of the bundle: this is no part of a bundle"):
        read([told[0], line, *told[1:]])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no JSON", "line 2 of a.bundle: it is no JSON, at character 1"),
        ('{"event":{}}', "line 2 of a.bundle: position is no whole number of a ledger"),
        ('{"event":{"position":1,"version":1}}', "line 2 of a.bundle: event_id is no UUID"),
        (
            '{"evidence":{"digest":"x","content":"?"}}',
            "line 2 of a.bundle: evidence x is no base64",
        ),
    ],
)
def test_what_cannot_be_read_is_told_with_its_file_and_in_words(line: str, said: str) -> None:
    head = json.dumps({"bundle": FORMAT, "stream": str(UUID(int=1))})
    with pytest.raises(BrokenChain) as told:
        read([head, line], "a.bundle")
    assert str(told.value) == said
