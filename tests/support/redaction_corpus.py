"""Texts in which people marked what is secret, and the count of what a redactor makes of them.

`## title` begins a text; `!env NAME=value` declares a variable of the job that says it. In a text,
what stands in double angle quotes is secret, what stands in single ones may be either, and the rest
must stay legible. `{b20}` stands for 20 characters of a token that nobody ever issued: `b` base62,
`h` hexadecimal, `u` capitals, `d` digits; `{esc}` is the escape of terminals.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jobledger.core.log.redaction.redact import Redactor, secrets_in
from jobledger.core.values.documents import Json

FOLDER = Path(__file__).parent.parent / "redaction_corpus"
KEY = b"a key of the installation, 32 by"
CHARACTERS_MAX = 100_000

_ALPHABETS = {
    "b": "F4k3T0k3nN0tR34lXq7",
    "h": "fa4e0123bead5c67",
    "u": "FAKE7Q2X9Z4W",
    "d": "1234567890",
}
_PLACEHOLDER = re.compile(r"\{([bhud])([0-9]{1,3})\}")
_MARKED = re.compile("\u00ab(.*?)\u00bb|\u2039(.*?)\u203a", re.DOTALL)
_MARKER = re.compile(r"redacted:[0-9a-f]{12}")
_WORD = re.compile(r"\w+")
_TELLING_PIECE = 6
"""Characters of a piece of a secret that are worth something to a thief."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A marked text."""

    title: str
    variables: tuple[tuple[str, str], ...]
    whole: str
    """Without marks."""
    secrets: tuple[str, ...]
    legible: str
    """What must stay, with a blank in place of the rest."""


@dataclass(frozen=True, slots=True)
class Count:
    """What a redactor made of a text."""

    missed: tuple[str, ...]
    """Secrets of which something telling is left."""
    hidden: tuple[str, ...]
    """Words that had to stay and are gone."""


def texts(name: str) -> Iterator[Text]:
    """Yield the texts of a part of the corpus."""
    for part in (FOLDER / f"{name}.txt").read_text().split("\n## "):
        title, _, body = part.removeprefix("## ").partition("\n")
        yield _read(title, body.rstrip("\n"))


def _read(title: str, body: str) -> Text:
    variables = []
    while body.startswith("!env "):
        line, _, body = body.removeprefix("!env ").partition("\n")
        name, _, value = line.partition("=")
        variables.append((name, value.replace("\\n", "\n").replace("\\\\", "\\")))
    body = body.replace("{esc}", "\x1b")
    body = _PLACEHOLDER.sub(lambda found: _fake(found[1], int(found[2])), body)
    return Text(
        title=title,
        variables=tuple(variables),
        whole=re.sub("[\u00ab\u00bb\u2039\u203a]", "", body),
        secrets=tuple(found[1] for found in _MARKED.finditer(body) if found[1]),
        legible=_MARKED.sub(" ", body),
    )


def _fake(alphabet: str, length: int) -> str:
    return (_ALPHABETS[alphabet] * length)[:length]


def counted(text: Text) -> Count:
    """Redact a text as what a job says, and count."""
    variables: Json = [{"name": name, "value": value} for name, value in text.variables]
    known = secrets_in({"spec": {"containers": [{"env": variables}]}}, None)
    shown = Redactor(KEY, known).text(text.whole, CHARACTERS_MAX)
    left = _MARKER.sub(" ", shown)
    missed = [secret for secret in text.secrets if _is_left(secret, left, text.legible)]
    hidden = Counter(_WORD.findall(text.legible)) - Counter(_WORD.findall(left))
    return Count(tuple(missed), tuple(hidden.elements()))


def _is_left(secret: str, shown: str, legible: str) -> bool:
    pieces = [
        piece for piece in re.split(r"[^A-Za-z0-9+/=]+", secret) if len(piece) >= _TELLING_PIECE
    ]
    pieces = [piece for piece in pieces if not piece.isupper() or any(map(str.isdigit, piece))]
    whole = shown.count(secret) > legible.count(secret)
    return whole or any(shown.count(piece) > legible.count(piece) for piece in pieces)
