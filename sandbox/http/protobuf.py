"""The few objects that `kubectl create KIND` sends as protobuf, read into JSON's shape.

kubectl sends what it reads from a file as JSON, but what it makes up itself as protobuf.
Namespaces, ConfigMaps, Secrets and ServiceAccounts are read here; all else is refused with 415.
Source: k8s.io/apimachinery runtime.Unknown and k8s.io/api core/v1 generated.proto (v0.36).
"""

import base64
from collections.abc import Iterator
from typing import Final, TypeAlias

from jobledger.sandbox.model.documents import Document, JsonValue
from jobledger.sandbox.model.refusals import unsupported_media_type

MEDIA_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\x00"
_ACCEPTED: Final = ["application/json", "application/yaml"]
_LENGTH_DELIMITED: Final = 2
_FIXED_WIDTHS: Final = {1: 8, 5: 4}

Fields: TypeAlias = dict[int, tuple[str, str]]
"""Field number -> name and form: text, bytes, or a map to either."""

_METADATA: Final[Fields] = {
    1: ("name", "text"),
    2: ("generateName", "text"),
    3: ("namespace", "text"),
    11: ("labels", "text map"),
    12: ("annotations", "text map"),
}
_KINDS: Final[dict[str, Fields]] = {
    "Namespace": {},
    "ServiceAccount": {},
    "ConfigMap": {2: ("data", "text map"), 3: ("binaryData", "bytes map")},
    "Secret": {2: ("data", "bytes map"), 3: ("type", "text"), 4: ("stringData", "text map")},
}


def decode_protobuf(body: bytes) -> Document:
    """Return the object in a protobuf body.

    Raises:
        Refusal: 415, it is of a kind that is not read here, or cannot be read.
    """
    try:
        return _decode(body)
    except (ValueError, IndexError, KeyError) as error:
        raise unsupported_media_type(_ACCEPTED) from error


def _decode(body: bytes) -> Document:
    if not body.startswith(_MAGIC):
        raise ValueError("no envelope")
    envelope = dict(_fields(body[len(_MAGIC) :]))
    identity = {number: value.decode() for number, value in _fields(envelope[1])}
    fields = _KINDS[identity[2]]
    document: Document = {"apiVersion": identity[1], "kind": identity[2], "metadata": {}}
    for number, value in _fields(envelope[2]):
        if number == 1:
            document["metadata"] = _message(value, _METADATA)
    return document | _message(envelope[2], fields)


def _message(body: bytes, known: Fields) -> Document:
    """Return the known fields of a message; empty ones are as good as absent."""
    found: Document = {}
    for number, value in _fields(body):
        if number not in known:
            continue
        name, form = known[number]
        if form.endswith(" map"):
            entry = dict(_fields(value))
            mapped = found.setdefault(name, {})
            mapped[entry.get(1, b"").decode()] = _plain(entry.get(2, b""), form)
        elif value:
            found[name] = _plain(value, form)
    return found


def _plain(value: bytes, form: str) -> JsonValue:
    return base64.b64encode(value).decode() if form.startswith("bytes") else value.decode()


def _fields(body: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of every length-delimited field; pass over the others."""
    place = 0
    while place < len(body):
        tag, place = _number(body, place)
        number, wire = tag >> 3, tag & 7
        if wire == _LENGTH_DELIMITED:
            size, place = _number(body, place)
            if place + size > len(body):
                raise ValueError("cut short")
            yield number, body[place : place + size]
            place += size
        elif wire in _FIXED_WIDTHS:
            place += _FIXED_WIDTHS[wire]
        elif wire == 0:
            _, place = _number(body, place)
        else:
            raise ValueError(f"wire type {wire}")


def _number(body: bytes, place: int) -> tuple[int, int]:
    """Return a variable-length number and the place after it."""
    value = shift = 0
    while True:
        byte = body[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 protobuf: the last byte has no high bit
            return value, place
