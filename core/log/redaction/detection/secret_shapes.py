"""Finds the parts of a text that are secret by their shape or by the name before them.

`https://user:password@host`, `Bearer …`, `--token x`, `"api_key": "x"`, and the tokens that their
issuers made recognisable. Every expression runs only where a literal that it needs occurs, and
every repetition is bounded or cannot overlap itself: a log may hold anything.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobledger.core.log.redaction.detection.assigned_values import assigned_values, is_reference
from jobledger.core.log.redaction.detection.credential_look import looks_drawn
from jobledger.core.log.redaction.detection.issued_tokens import CUT, issued_in
from jobledger.core.log.redaction.detection.long_runs import SHORTEST

__all__ = [
    "CUT",
    "Span",
    "may_hold_rest_of_key",
    "may_hold_secret",
    "passwords_in_command",
    "secret_spans",
]


class Span(NamedTuple):
    """A secret within a text."""

    start: int
    end: int
    sure: bool
    """Whether the value is worth a search elsewhere though it looks ordinary."""


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}-----|\Z)",
    re.DOTALL,
)
_END_OF_PRIVATE_KEY = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BODY_OF_KEY = re.compile(
    r"[A-Za-z0-9+/=]{16,}|(?:(?<=[\s\"'n])|\A)[A-Za-z0-9+/]{1,15}={0,2}(?=[\s\\])"
)
_KEY_CHARACTERS_MAX = 12_000
"""Before the end of a private key; a log may begin within one."""

_USERINFO = re.compile(
    rf"""://([^\s/:?#"'<>@\\{CUT}]{{0,200}}):(?![0-9]{{1,5}}(?:[/?#\s"']|;[A-Za-z]+=|\Z))"""
    rf"""([^\s"'<>\\{CUT}]{{1,300}})@(?=[\w.\[-])"""
)
"""A password may hold `@`, `/`, `?` and `#` though it should not; a port is none."""
_NEXT_ADDRESS = re.compile(r"[,;|]?[a-z][a-z0-9+.-]{0,20}://")
_USER_ALONE = re.compile(rf"""://([^\s/:?#"'<>@\\{CUT}]{{1,1000}})@""")
_USERS_ONLY = re.compile(r"[a-z][a-z-]{0,30}")
_BEARER = re.compile(
    r"bearer[^\S\n]{1,4}(?!realm=|scope=|error)(?=[a-z._~-]{0,100}[0-9+/=])([a-z0-9._~+/=-]{6,})"
)
_BASIC = re.compile(r"basic[^\S\n]{1,4}([a-z0-9+/=]{8,})")
_NOT_A_WORD = re.compile(r"[0-9=+/]|.[A-Z]")
_COOKIES = re.compile(
    r"cookie(?<!\wcookie)2?[\"'\\]{0,4}[^\S\n]{0,2}[:=][^\S\n]{0,4}(?:b?[\"'\\]{1,4})?"
    rf"([^\s=\"';,\\{CUT}]{{1,100}}=)"
)
_SET = re.compile(r"(?<!\w)set-\Z")
_SET_LENGTH = 5
"""Characters that are looked at before a cookie: whether it is set, and what is before that."""
_ONE_COOKIE = re.compile(rf"[^\n\"'\\;{CUT}]*")
_ALL_COOKIES = re.compile(rf"[^\n\"'\\{CUT}]*")
_USER_OPTION = re.compile(
    rf"""-(?<![^\s"']-)(?:u|-user|-proxy-user)(?:[\s=]|["'],\s?["'])["']?"""
    rf"""[^\s:"'{CUT}]{{1,100}}:([^\s"'{CUT}]{{1,1000}})"""
)
_RUNTIME_ENV_OPTION = re.compile(
    rf"""--runtime-env-json(?:=|[^\S\n]{{1,4}}|\\{{0,3}}["'],[^\S\n]?\\{{0,3}}["'])"""
    r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|"""
    rf"""([^\s"'{CUT}][^\s{CUT}]*))""",
    re.DOTALL,
)
_AND_VALUE = r"(?:[\s=]|[\"'],\s?[\"'])"
_SHORT_OPTIONS = tuple(
    (
        program,
        re.compile(
            rf"""{program}{ending}(?=[\s"',])[^\n|;&{CUT}]{{0,300}}?[\s"']{option}["']?"""
            rf"""([^\s"',|;&$<{CUT}-][^\s"',|;&{CUT}]{{0,300}})"""
        ),
    )
    for program, ending, option in (
        ("mysql", r"\w{0,10}", "-p"),
        ("mariadb", r"[\w-]{0,10}", "-p"),
        ("7z", "a?", "-p"),
        ("sshpass", "", f"-p{_AND_VALUE}?"),
        ("mongo", r"\w{0,10}", f"-p{_AND_VALUE}"),
        (" login", "", f"-p{_AND_VALUE}"),
        ("redis-cli", "", f"-a{_AND_VALUE}"),
        ("ldap", r"\w{1,8}", f"-w{_AND_VALUE}"),
        ("smb", r"\w{1,8}", r"""(?:-U[ =]?|--user[ =])["']?[^\s"'%]{1,100}%"""),
        ("curl", "", r"""(?:-b|--cookie)[ =]["']?[^\s"'=]{1,100}="""),
        ("curl", "", rf"""-[A-Za-z]{{0,6}}u{_AND_VALUE}?["']?[^\s:"']{{1,100}}:"""),
        ("rabbitmqctl", "", r"(?:add_user|change_password) \S{1,100} "),
        ("mc", "", r"(?:alias set|host add) \S{1,100} \S{1,300} \S{1,300} "),
    )
)
"""Programs that take a password as a short option."""
_PASSWORD_HASH = re.compile(
    r"\$(?:[156y]|2[abxy]|7|apr1|argon2i?d?|scrypt|pbkdf2-sha[0-9]{1,3})\$[./\w=,$+-]{20,300}|"
    r"(?:pbkdf2_sha256|argon2|bcrypt_sha256|scram-sha-256|SCRAM-SHA-256)\$[./\w=,$+:-]{40,300}"
)
"""As `/etc/shadow`, `htpasswd`, Django and Postgres keep passwords: they can be guessed from it."""
_PIPED = re.compile(
    rf"""(?:echo|printf)[^\S\n]{{1,4}}(?:-n[^\S\n]{{1,4}})?["']?([^\s"'|{CUT}]{{1,300}})["']?"""
    r"[^\S\n]{0,4}\|[^\n|]{0,200}--(?:password-stdin|passphrase-fd)"
)
_NETRC = re.compile(
    rf"""machine\s{{1,4}}[^\s{CUT}]{{1,200}}\s{{1,40}}login\s{{1,4}}[^\s{CUT}]{{1,200}}"""
    rf"""\s{{1,40}}password\s{{1,4}}([^\s{CUT}]{{1,1000}})"""
)
_PGPASS = re.compile(
    r":(?:[0-9]{4,5}|\*):[\w*-]{1,63}:[\w*.@-]{1,63}:"
    rf"([^\s:{CUT}][^\s{CUT}]{{0,300}})$",
    re.MULTILINE,
)
_PGPASS_HOST = re.compile(r"(?:\A|\n)(?:[\w.-]{0,200}[g-zG-Z.][\w.-]{0,200}|\*)\Z")
_LONGEST_HOST = 210
_ASKED_FOR = re.compile(r"API key[^\n]{0,80}?:[^\S\n]{1,4}([0-9a-f]{32,86})\b")
_LOGINS = (
    (
        " login",
        re.compile(r"(?:wandb|netrc)[^\S\n]{1,4}login[^\n]{0,80}?[^\S\n]([0-9a-f]{40})\b"),
    ),
)
_CONFIGURES = re.compile(r"\b(?:set|add) [\w.-]{1,100} \S")
"""A command that is told a name and its value, as `git config --add` is."""


def may_hold_rest_of_key(text: str) -> bool:
    """Tell whether `text` may begin within a private key."""
    return "PRIVATE KEY" in text


def may_hold_secret(string: str) -> bool:
    """Tell whether a string may show a secret by itself: not a single word, as most strings are."""
    return not string.isalnum() or (
        len(string) >= SHORTEST and (not string.isalpha() or string.isupper())
    )


def secret_spans(text: str) -> list[Span]:
    """Return the secrets that `text` shows by shape, in no order; they may overlap."""
    spans = list(_by_shape(text))
    lowered = _lowered(text)
    spans += (Span(start, end, sure=True) for start, end in assigned_values(text, lowered))
    if "bearer" in lowered:
        spans += (Span(*found.span(1), sure=True) for found in _BEARER.finditer(lowered))
    if "basic" in lowered:
        spans += _basic(text, lowered)
    if "cookie" in lowered:
        spans += _cookies(lowered)
    spans += _of_programs(text)
    spans += _told(text, lowered)
    return [span for span in spans if span.start < span.end]


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def _lowered(text: str) -> str:
    """Return `text` in lower case, every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else text.translate(_ASCII_LOWER)


def _by_shape(text: str) -> Iterator[Span]:
    for shape in issued_in(text):
        yield from (Span(*found.span(), sure=True) for found in shape.finditer(text))
    if may_hold_rest_of_key(text):
        yield from (Span(*found.span(), sure=True) for found in _PRIVATE_KEY.finditer(text))
        yield from _rest_of_key(text)
    if "://" in text and "@" in text:
        yield from _userinfo(text)
    if "$" in text:
        yield from (Span(*found.span(), sure=True) for found in _PASSWORD_HASH.finditer(text))
    if "--runtime-env-json" in text:
        for found in _RUNTIME_ENV_OPTION.finditer(text):
            yield Span(*found.span(found.lastindex or 0), sure=False)


def _rest_of_key(text: str) -> Iterator[Span]:
    """Yield the lines before the end of a private key whose beginning the text does not show."""
    end = _END_OF_PRIVATE_KEY.search(text)
    if end is None or "-----BEGIN" in text[: end.start()]:
        return
    first = max(0, end.start() - _KEY_CHARACTERS_MAX)
    yield from (
        Span(*found.span(), sure=True) for found in _BODY_OF_KEY.finditer(text, first, end.start())
    )


def _userinfo(text: str) -> Iterator[Span]:
    found = _USERINFO.search(text)
    while found is not None:
        start, end = found.span(2)
        following = _NEXT_ADDRESS.search(text, start, end)
        if following is not None:
            end = text.rfind("@", start, following.start())
        if end > start and not is_reference(text[start:end].lower()):
            yield Span(start, end, sure=True)
        found = _USERINFO.search(text, max(end, start + 1))
    for found in _USER_ALONE.finditer(text):
        is_web = text[max(0, found.start() - 5) : found.start()].endswith(("http", "https"))
        if (is_web and _USERS_ONLY.fullmatch(found[1]) is None) or looks_drawn(found[1]):
            yield Span(*found.span(1), sure=True)


def _basic(text: str, lowered: str) -> Iterator[Span]:
    """Yield credentials of HTTP's basic scheme; "basic understanding" is not one."""
    for found in _BASIC.finditer(lowered):
        value = text[found.start(1) : found.end(1)]
        if _NOT_A_WORD.search(value) is not None:
            yield Span(*found.span(1), sure=True)


def _cookies(lowered: str) -> Iterator[Span]:
    """Yield what cookies are sent, whatever their names; one that is set ends at its attributes."""
    done = 0
    for found in _COOKIES.finditer(lowered):
        if found.start() < done:
            continue
        before = lowered[max(0, found.start() - _SET_LENGTH) : found.start()]
        value = _ALL_COOKIES if _SET.search(before) is None else _ONE_COOKIE
        rest = value.match(lowered, found.end())
        done = rest.end() if rest is not None else found.end()
        yield Span(found.start(1), done, sure=False)


def _of_programs(text: str) -> Iterator[Span]:
    """Yield what programs take in ways of their own."""
    if "-u" in text:
        yield from (Span(*found.span(1), sure=True) for found in _USER_OPTION.finditer(text))
    yield from _found(_SHORT_OPTIONS, text)
    yield from _found(_LITERALS, text)
    for found in _PGPASS.finditer(text):
        before = text[max(0, found.start() - _LONGEST_HOST) : found.start()]
        if _PGPASS_HOST.search(before if found.start() > _LONGEST_HOST else f"\n{before}"):
            yield Span(*found.span(1), sure=True)


def passwords_in_command(line: str) -> Iterator[Span]:
    """Yield what a program takes as a short option or by its place.

    `redis-cli -a x`, `mysql -px`, `wandb login x`, `aws configure set aws_secret_access_key x`.
    """
    yield from _found(_SHORT_OPTIONS, line)
    yield from _found(_LOGINS, line)
    if _CONFIGURES.search(line) is not None:
        lowered = _lowered(line)
        yield from (Span(start, end, sure=True) for start, end in assigned_values(line, lowered))


def _found(shapes: Iterable[tuple[str, re.Pattern[str]]], text: str) -> Iterator[Span]:
    for needed, shape in shapes:
        if needed in text:
            yield from (Span(*found.span(1), sure=True) for found in shape.finditer(text))


def _told(text: str, lowered: str) -> Iterator[Span]:
    """Yield what a sentence tells: `Changed password for user 'ray' to 'x'`, `Your token is: x`."""
    for needed, shape in _SENTENCES:
        if needed in lowered:
            for found in shape.finditer(lowered):
                value = text[found.start(1) : found.end(1)]
                if looks_drawn(value) or ("pass" in needed and _TYPED.fullmatch(value) is not None):
                    yield Span(*found.span(1), sure=True)


_TYPED = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[^/\\]*")
_SENTENCES = tuple(
    (
        needed,
        re.compile(
            rf"""{needed}(?![a-z])(?: [^\n=]{{1,80}}?)?(?:: | is:? | = | to (?=["']))["']?"""
            rf"""([^\s"'{CUT}]{{6,300}}?)["']?\.?$""",
            re.MULTILINE,
        ),
    )
    for needed in ("password", "passphrase", "token", "api key", "unseal key")
)
_LITERALS = (
    ("IDENTIFIED BY ", re.compile(r"IDENTIFIED BY [\"']([^\"'\n]{1,300})")),
    ("identified by ", re.compile(r"identified by [\"']([^\"'\n]{1,300})")),
    ("requirepass ", re.compile(rf"requirepass ([^\s{CUT}]{{1,300}})")),
    ("masterauth ", re.compile(rf"masterauth ([^\s{CUT}]{{1,300}})")),
    ("--passw", _PIPED),
    ("--passphrase-fd", _PIPED),
    ("machine", _NETRC),
    *_LOGINS,
    ("API key", _ASKED_FOR),
    ("following password", re.compile(r"following password[^\n]{0,80}:\s{1,8}([0-9a-f]{32})\b")),
    (
        "chpasswd",
        re.compile(
            rf"[\"'\s][\w.-]{{1,64}}:([^\s\"'{CUT}]{{1,300}})[\"']?[^\S\n]*\|[^\n|]{{0,40}}chpasswd"
        ),
    ),
)
