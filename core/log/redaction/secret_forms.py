"""The encodings in which a secret may appear in a text: plain, Base64, URL-encoded and others.

Whoever prints a secret may have encoded or quoted it first: URL, JSON (as Python and as Go write
it), base64 within other bytes, a shell's quotes, HTML, YAML, one line of several.
"""

import base64
import html
import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from jobledger.core.log.redaction.detection.credential_look import looks_drawn

LINE_LENGTH = 8
"""Characters from which a single line of a longer secret is searched for."""

_SHORTEST = 4
_SHORTEST_BASE64 = 5
_WRAPPED_BASE64 = 76
"""Characters per line. Source: RFC 2045, section 6.8; `base64` of GNU coreutils."""

_FRAME = re.compile(
    r"-----[A-Z ]{5,60}-----|[\"']?[\w.-]{1,60}[\"']?:(?:\s+[\"']?[\w./:@-]{0,60}[\"']?,?)?|"
    r"- [\w.-]{1,60}(?::\s*[\w./:-]{0,60})?"
)
_PLAIN = re.compile(r"[A-Za-z0-9_]*", re.ASCII)
_SHELL_SPECIAL = re.compile(r"([^A-Za-z0-9_@%+=:,./-])", re.ASCII)
_IN_DOUBLE_QUOTES = re.compile(r'(["$`\\])')

_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_LEFT_BY_COMPONENT = frozenset(b"!'()*")
"""What JavaScript's encodeURIComponent leaves as it is, beside the unreserved."""
_LEFT_BY_URI = frozenset(b"!'()*;/?:@&=+$,#")
"""What JavaScript's encodeURI leaves as it is."""
_LEFT_IN_PATH = frozenset(b"/")
_LEFT_BY_GO = frozenset(b"$&+=:@")
"""What Go's url.PathEscape leaves as it is."""


class Form(NamedTuple):
    """One way in which a secret may stand in a text."""

    text: str
    is_base64: bool
    """Whether neighbouring characters hold bits of it, too."""


def forms_of(secret: str) -> Iterator[Form]:
    """Yield the forms of `secret` worth searching for, with repetitions."""
    for raw in dict.fromkeys((secret, secret.strip())):
        for text in _spellings(raw):
            if len(text) >= _SHORTEST:
                yield Form(text, is_base64=False)
    if "\n" in secret:
        lines = (line.strip() for line in secret.splitlines())
        for line in lines:
            if len(line) >= LINE_LENGTH and not _is_frame(line):
                yield from (Form(text, is_base64=False) for text in _spellings(line))
    for text in _base64(secret.encode()):
        yield Form(text, is_base64=True)
    if len(secret) >= LINE_LENGTH:
        yield Form(secret.encode().hex(), is_base64=False)


def _is_frame(line: str) -> bool:
    """Tell whether a line of a longer secret says nothing: `kind: Config`, `-----BEGIN …`."""
    return _FRAME.fullmatch(line) is not None and not any(
        looks_drawn(part) for part in line.split()
    )


def _spellings(secret: str) -> Iterator[str]:
    """Yield `secret` as it is and as it stands within quotes of some kind."""
    yield secret
    if _PLAIN.fullmatch(secret) is not None:
        return
    yield from _percent_encoded(secret.encode())
    yield from _as_json(secret)
    yield from (repr(secret)[1:-1], repr(secret + "'")[1:-2], secret.replace("'", "''"))
    yield repr(secret.encode())[2:-1]
    yield from (secret.replace("'", "'\"'\"'"), secret.replace("'", "'\\''"))
    yield from (_SHELL_SPECIAL.sub(r"\\\1", secret), _IN_DOUBLE_QUOTES.sub(r"\\\1", secret))
    for escaped in (html.escape(secret, quote=False), html.escape(secret)):
        yield escaped
        yield escaped.replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    if "\n" in secret:
        yield secret.replace("\n", "\r\n")


def _as_json(secret: str) -> Iterator[str]:
    """Yield the inside of JSON strings, as Python and as Go write them, once and twice encoded."""
    for ascii_only in (False, True):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        go = once.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
        for text in (once, go):
            yield text
            yield json.dumps(text)[1:-1]


def _percent_encoded(secret: bytes) -> Iterator[str]:
    kept_sets = (
        frozenset[int](),
        _LEFT_IN_PATH,
        _LEFT_BY_COMPONENT,
        _LEFT_BY_URI,
        _LEFT_BY_GO,
    )
    for kept in kept_sets:
        for pattern in ("%{:02X}", "%{:02x}"):
            encoded = "".join(
                chr(byte) if byte in _UNRESERVED or byte in kept else pattern.format(byte)
                for byte in secret
            )
            yield encoded
            yield encoded.replace("%20", "+")


def _base64(secret: bytes) -> Iterator[str]:
    """Yield what base64 makes of `secret` behind 0, 1 and 2 other bytes, both alphabets.

    Only characters all of whose bits are the secret's: what follows it does not matter, nor
    whether it is padded.
    """
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + secret).decode()
        first = -(-before * 8 // 6)
        last = (before + len(secret)) * 8 // 6
        core = encoded[first:last]
        if len(core) < _SHORTEST_BASE64:
            continue
        yield core
        if "+" in core or "/" in core:
            yield core.replace("+", "-").replace("/", "_")
        if before == 0 and len(core) > _WRAPPED_BASE64:
            lines = (core[at : at + _WRAPPED_BASE64] for at in range(0, last, _WRAPPED_BASE64))
            yield from (line for line in lines if len(line) >= LINE_LENGTH)
