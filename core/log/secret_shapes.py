"""Which parts of a text are secrets by their shape or by the word before them.

`https://user:password@host`, `Bearer …`, `--token x`, `"api_key": "x"`, and the tokens that their
issuers made recognisable. Every expression runs only where a literal that it needs occurs, and
every repetition is bounded or cannot overlap itself: a log may hold anything.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from core.log.secret_names import promises_secret

CUT = "…"
"""Stands where a text was cut; never part of a secret."""


class Span(NamedTuple):
    """A secret within a text."""

    start: int
    end: int
    sure: bool
    """Whether the value is worth a search elsewhere though it looks ordinary."""


_BEFORE = rf"(?<![A-Za-z0-9{CUT}])"
_BEFORE_RUN = rf"(?<![A-Za-z0-9_{CUT}-])"
"""Begins an expression that reads to the end of a run of characters, once for each run."""

_ISSUED: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        "eyJ",
        re.compile(_BEFORE_RUN + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*"),
    ),
    ("AKIA", re.compile(r"AKIA[0-9A-Z]{16}")),
    ("ASIA", re.compile(r"ASIA[0-9A-Z]{16}")),
    ("AIza", re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("ya29.", re.compile(r"ya29\.[0-9A-Za-z_-]{20,}")),
    ("gh", re.compile(r"gh[pousr]_[A-Za-z0-9]{20,}")),
    ("github_pat_", re.compile(r"github_pat_[A-Za-z0-9_]{20,}")),
    ("glpat-", re.compile(r"glpat-[A-Za-z0-9_-]{20,}")),
    ("hf_", re.compile(_BEFORE + r"hf_[A-Za-z0-9]{20,}")),
    ("sk-", re.compile(_BEFORE + r"sk-[A-Za-z0-9_-]{20,}")),
    ("xox", re.compile(r"xox[abeoprs]-[A-Za-z0-9-]{10,}")),
    ("xapp-", re.compile(r"xapp-[A-Za-z0-9-]{10,}")),
    ("hooks.slack", re.compile(r"(?<=hooks\.slack\.com/)[A-Za-z0-9/]{20,}")),
    ("npm_", re.compile(_BEFORE + r"npm_[A-Za-z0-9]{30,}")),
    ("pypi-", re.compile(r"pypi-[A-Za-z0-9_-]{30,}")),
    ("k_live_", re.compile(r"[rsp]k_live_[A-Za-z0-9]{10,}")),
    ("dapi", re.compile(_BEFORE + r"dapi[0-9a-f]{32}")),
    ("hvs.", re.compile(r"hvs\.[A-Za-z0-9_-]{20,}")),
)
"""Tokens their issuers made recognisable: a literal each needs, and its whole shape.

Source: AWS, Databricks, GitHub, GitLab, Google, HashiCorp Vault, Hugging Face, npm, OpenAI,
Anthropic, PyPI, Slack and Stripe, each in the documentation of its token formats; RFC 7519 (JWT).
"""

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}-----|\Z)", re.DOTALL
)
_REST_OF_PRIVATE_KEY = re.compile(
    r"\A[A-Za-z0-9+/=\s\\]{8,}-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----"
)
_USERINFO = re.compile(
    rf"""://(?:[^\s/:?#"'<>@\\{CUT}]{{0,200}}:)?([^\s/?#"'<>\\{CUT}]{{1,1000}})@"""
)
_BEARER = re.compile(r"bearer[^\S\n]{1,4}([a-z0-9._~+/=-]{6,})")
_BASIC = re.compile(r"basic[^\S\n]{1,4}([a-z0-9+/=]{8,})")
_NOT_A_WORD = re.compile(r"[0-9=+/]|.[A-Z]")
_USER_OPTION = re.compile(
    rf"""(?:\A|[\s"'])(?:-u|--user|--proxy-user)(?:[\s=]|["'],\s?["'])["']?"""
    rf"""[^\s:"'{CUT}]{{1,100}}:([^\s"'{CUT}]{{1,1000}})"""
)
_RUNTIME_ENV_OPTION = re.compile(
    rf"""--runtime-env-json(?:=|[^\S\n]{{1,4}}|\\{{0,3}}["'],[^\S\n]?\\{{0,3}}["'])"""
    r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|"""
    rf"""([^\s"'{CUT}][^\s{CUT}]*))""",
    re.DOTALL,
)

_WORDS = (
    *("passw", "passphrase", "pwd", "secret", "token", "credential", "auth", "dsn"),
    *("key", "signature=", "sig="),
)
"""Each is searched for by itself: ten times faster than one expression that begins with all."""

_CONNECTION_STRINGS = (
    *("connectionstr", "connection_str", "connection-str", "connection str"),
    *("connstr", "conn_str"),
)
_KEY_OWNER = re.compile(
    r"(?:api|app|access|private|secret|signing|encryption|account|shared|master|wandb|ssh|service|"
    r"license|session|storage|deploy|client)[_-]?\Z"
)
_ASSIGNED = re.compile(
    r"(?P<name>(?:connection )?[\w.-]{1,60})"
    r"""(?:(?P<sign>[\\"'`]{0,4}[^\S\n]{0,4}(?:=>|==?|:)[^\S\n]{0,4})|"""
    r"""(?P<gap>[\\"']{0,4},[^\S\n]{0,4}["']?|[^\S\n]{1,4}["']?(?=-)|[^\S\n]{1,4}))"""
    r"(?:"
    rf"""["'\\]{{0,4}}(?:bearer|basic|token|apikey|digest|negotiate)[^\S\n]{{1,4}}"""
    rf"""(?P<scheme>[^\n"'\\{CUT}]+)|"""
    r""""(?P<double>[^"\\\n]*(?:\\.[^"\\\n]*)*)"|"""
    r"""'(?P<single>[^'\\\n]*(?:\\.[^'\\\n]*)*)'|"""
    r"""(?P<escape>\\{1,3})(?P<quote>["'])(?P<escaped>[^\n]*?)(?<!\\)(?P=escape)(?P=quote)|"""
    r"(?P<number>[0-9]{1,40})(?=[\s,}\]])|"
    rf"""\\{{0,3}}["']?(?P<bare>[^\s"'`,;&<>{{}}\[\]\\{CUT}][^\s"'`,;&<>{CUT}]*))"""
)
_VALUES = ("scheme", "double", "single", "escaped", "number", "bare")
_NAME = re.compile(r"(?:connection )?[\w.-]{1,60}")
NESTED_MAX = 4
"""So many values that lie within one value are told apart; beyond them it is one secret."""

_OPTION = re.compile(r"""(?:\A|[\s"'`=(,\[\\])--?[\w.-]{0,60}\Z""")
_LOOK_BACK = 64
"""Characters before a word in which the dashes of an option are looked for."""

_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def may_hold_rest_of_key(text: str) -> bool:
    """Tell whether `text` may begin within a private key."""
    return "PRIVATE KEY-----" in text


def secret_spans(text: str) -> list[Span]:
    """Return the secrets that `text` shows by shape, in no order; they may overlap."""
    spans = list(_by_shape(text))
    lowered = _lowered(text)
    spans += _by_word(text, lowered)
    if "bearer" in lowered:
        spans += (Span(*found.span(1), sure=True) for found in _BEARER.finditer(lowered))
    if "basic" in lowered:
        spans += _basic(text, lowered)
    return [span for span in spans if span.start < span.end]


def _lowered(text: str) -> str:
    """Return `text` in lower case, every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LOWER)


def _by_shape(text: str) -> Iterator[Span]:
    for needed, shape in _ISSUED:
        if needed in text:
            yield from (Span(*found.span(), sure=True) for found in shape.finditer(text))
    if may_hold_rest_of_key(text):
        for shape in (_REST_OF_PRIVATE_KEY, _PRIVATE_KEY):
            yield from (Span(*found.span(), sure=True) for found in shape.finditer(text))
    if "://" in text and "@" in text:
        yield from (Span(*found.span(1), sure=True) for found in _USERINFO.finditer(text))
    if "-u" in text:
        yield from (Span(*found.span(1), sure=True) for found in _USER_OPTION.finditer(text))
    if "--runtime-env-json" in text:
        for found in _RUNTIME_ENV_OPTION.finditer(text):
            yield Span(*found.span(found.lastindex or 0), sure=False)


def _by_word(text: str, lowered: str) -> Iterator[Span]:
    """Yield what stands after a word that promises a secret: assigned, or as an option's value."""
    words = _WORDS + _CONNECTION_STRINGS if "conn" in lowered else _WORDS
    for word in words:
        at, end, nested = lowered.find(word), 0, 0
        while at >= 0:
            found = _ASSIGNED.match(lowered, at) if _is_telling(text, lowered, at) else None
            if found is not None and _is_assigned(text, at, found):
                kind = next(value for value in _VALUES if found[value] is not None)
                nested = nested + 1 if at < end else 0
                end = max(end, found.end(kind))
                yield Span(*found.span(kind), sure=True)
            at = lowered.find(word, max(at + 1, end if nested >= NESTED_MAX else 0))


def _is_telling(text: str, lowered: str, at: int) -> bool:
    """Tell whether the name at a place promises a secret; asked first, for a value may be long."""
    found = _NAME.match(lowered, at)
    name = text[at : found.end()] if found is not None else ""
    if name[:3].lower() == "key":
        owner = _KEY_OWNER.search(text[max(0, at - _LOOK_BACK) : at].lower())
        name = owner[0] + name if owner is not None else ""
    return promises_secret(name)


def _is_assigned(text: str, at: int, found: re.Match[str]) -> bool:
    """Tell whether what follows a telling name is its value."""
    if found["sign"] is not None:
        return True
    before = text[max(0, at - _LOOK_BACK) : at]
    return _OPTION.search(before) is not None and text[found.end("gap")] != "-"


def _basic(text: str, lowered: str) -> Iterator[Span]:
    """Yield credentials of HTTP's basic scheme; "basic understanding" is not one."""
    for found in _BASIC.finditer(lowered):
        value = text[found.start(1) : found.end(1)]
        if _NOT_A_WORD.search(value) is not None:
            yield Span(*found.span(1), sure=True)
