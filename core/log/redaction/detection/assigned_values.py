"""Finds values assigned to secret-sounding names in running text.

`password=x`, `"api_key": "x"`, `--token x`, `<password>x</password>`, `name: DB_PASSWORD` with its
`value: x` beside it, a value on the line after its name. Which names promise one is said in
`core.log.redaction.detection.secret_names` alone. Logs also show source code, prose and manifests
that only speak of secrets: what is plainly a reference to a value, a type or a word of a sentence
stays.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobledger.core.log.redaction.detection.credential_look import is_plain_path, looks_drawn
from jobledger.core.log.redaction.detection.issued_tokens import CUT
from jobledger.core.log.redaction.detection.secret_names import STEMS, promises_secret

NESTED_MAX = 4
"""So many values that lie within one value are told apart; beyond them it is one secret."""

_NAME_MAX = 60
"""Characters of a name before and after the word that promises a secret."""

_REST_OF_NAME = re.compile(rf"[\w.-]{{0,{_NAME_MAX}}}")
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_.-")
_NEXT_LINE = r"[^\S\n]{0,4}(?:[|>][+-]?[^\S\n]{0,4})?\\?\n[^\S\n]{0,40}"
_SIGN = (
    rf"""(?:(?P<sign>[\\"'`\]]{{0,4}}[^\S\n]{{0,4}}(?:=>|==?|:=?|%3d)(?P<next>{_NEXT_LINE})?"""
    r"""[^\S\n]{0,4}(?:(?<=: )(?:&|!!)[\w.-]{1,40}[^\S\n]{1,4})?)|"""
    r"""(?P<pair>[\\"']{0,4}[,;]?\s{0,40}(?:-[^\S\n])?[\\"']{0,4}(?:value|\{\s{0,40}default)"""
    r"""[\\"']{0,4}[^\S\n]{0,4}[:=][^\S\n]{0,4}|</\w{1,20}>\s{0,40}<value>)|"""
    r"""(?P<element>(?:[^\S\n][^\n<>]{0,80})?>)|"""
    r"""(?P<item>[\\"']{0,4},\s{0,40}["']?))"""
)
_GAP = (
    r"""(?P<gap>[^\S\n]{1,4}\\\n[^\S\n]{0,40}|["']?\n[^\S\n]{0,40}-[^\S\n]{1,4}["']?|"""
    r"""[^\S\n]{1,4}["']?(?=-)|[^\S\n]{1,4})"""
)
_SCHEME = (
    rf"""[rbf]?["'\\]{{0,4}}(?:bearer|basic|token|apikey|digest|negotiate|aws4-hmac-sha256)"""
    rf"""[^\S\n]{{1,4}}(?P<scheme>[^\n"'\\{CUT}]+)|"""
)
_VALUE = (
    r"""(?:[rbf]|(?:some|secret(?:str)?)\()?"(?P<double>[^"\\\n]*(?:\\.[^"\\\n]*)*)"|"""
    r"""(?:[rbf]|secret(?:str)?\()?'(?P<single>[^'\\\n]*(?:\\.[^'\\\n]*)*)'|"""
    r"""(?P<escape>\\{1,3})(?P<quote>["'])(?P<escaped>[^\n]*?)(?<!\\)(?P=escape)(?P=quote)|"""
    r"(?P<number>[0-9]{1,40})(?=[\s,}\]])|"
    rf"""\\{{0,3}}["']?(?P<bare>[^\s"'`,;&<>{{}}\[\]\\{CUT}][^\s"'`,;&<>{CUT}]*)"""
)
_ASSIGNED = re.compile(f"{_SIGN}(?:{_SCHEME}{_VALUE})")
_GAPPED = re.compile(f"{_GAP}(?:{_VALUE})")
_VALUES = ("double", "single", "escaped", "number", "bare")
_OPTION = re.compile(r"""(?:\A|[\s"'`=(,\[\\])--?\Z""")
_OPENED = re.compile(r"<(?:[\w-]{1,20}:)?\Z")
_CONFIGURED = re.compile(r"(?:\bset|--from-literal|\badd)[^\S\n]+\Z")

_MASK = re.compile(
    r"[*x•.#-]{3,}|\[?(?:redacted|hidden|masked|filtered|removed|secret|omitted)\]?|<[^<>\n]{0,60}>|"
    r"\(?(?:hidden|redacted|unset|not set|empty)\)?"
)
"""What others put in place of a secret."""
_REFERENCE = re.compile(
    r"\$\(?\{?[a-z_][\w.:?-]*\}?\)?|\$[0-9@*]|%\([\w.]+\)[sdr]|%s|%[a-z_]+%|"
    r"\$?\{\{?[^{}\n]*\}?\}?|\$\(.*"
)
_REFERENCE_MAX = 200
"""Characters of a value that may say nothing; a longer one is more than a word or a reference."""
_ADDRESS_WITH_A_USER = re.compile(r"[a-z][a-z0-9+.-]{0,30}://[^\s/?#@]{1,300}@\S{0,2000}")
_PLAIN = re.compile(r"[a-z]+(?:'[a-z]{1,2})?[.:!?]?")
_PROSE_FOLLOWS = re.compile(r" (?:(?:[a-z]{2,}|a)\b(?![:=])|[\"'<(\[])")
_CODE = re.compile(r"[a-z_]\w*(?:\.[a-z_]\w*)*")
_CALLED = re.compile(r"[a-z_][\w.]*[(\[]")
_OBJECTS = frozenset(
    re.findall(
        r"\S+",
        """
        self cls args cfg config conf kwargs os env environ settings options opts params
        flags this ctx context request req spec obj client auth credentials secrets
        process module model data hparams tokenizer processor state cluster
        """,
    )
)
_WORDS = frozenset(
    re.findall(
        r"\S+",
        """
        none null nil true false undefined nan str string int integer bool boolean bytes
        float number object any dict list tuple map set type optional union secretstr
        callable required empty missing invalid expired not must is was are were be has
        have had the a an no cannot could can may might should would will expected
        unexpected found unknown failed fails failure error errors unauthorized forbidden
        denied rejected revoked unset secret token password key auth credential
        credentials authentication authorization bearer basic ok yes default disabled
        enabled from to in on at of for with without by and or if when while please using
        use used see check changed generated loaded loading reading read created updated
        deleted rotated refreshed mounted references referenced file path anonymous n/a na
        - public private valid simple native plain md5 trust peer scram-sha-256 oauth
        oauth2 oidc kerberos ldap saml iam rbac mtls tls ssl certificate sts keystone
        negotiate ntlm gssapi external internal
        """,
    )
)
"""Values that say what kind of thing stands, or does not stand, under a name; and what begins a
sentence about it."""

_OBJECT_NAME = re.compile(r"[a-z0-9-]{1,63}/[a-z0-9.-]{1,63}")
"""Namespace and name of a Secret, as controllers log them."""
_SENTENCE_BEFORE = re.compile(r"\b[a-z]{2,} \Z")
_COUNT = re.compile(r"[-+]?[0-9]{1,5}(?:[.][0-9]+)?(?:ms|us|s|%|/[0-9s]+|x|k|m)?[.,]?")
_STRICTLY = re.compile(r"pass(?:w|phrase|code)|secret|pwd|pin|credential(?!s)|[_-]pass\Z")


def assigned_values(text: str, lowered: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the values of names that promise a secret.

    Args:
        text: Any text.
        lowered: The same in lower case, every character at its place.
    """
    for stem in STEMS:
        end, nested, skip = 0, 0, 0
        for found in stem.finditer(lowered):
            if found.start() < skip:
                continue
            span = _value_after(text, lowered, found.start(), found.end())
            if span is None:
                continue
            nested = nested + 1 if found.start() < end else 0
            end = max(end, span[1])
            if nested >= NESTED_MAX:
                skip = end
            yield span


def _value_after(text: str, lowered: str, at: int, stop: int) -> tuple[int, int] | None:
    """Return where the value of the name around a stem stands, if there is one to be hidden."""
    rest = _REST_OF_NAME.match(lowered, stop)
    name_end = rest.end() if rest is not None else stop
    while name_end > stop and lowered[name_end - 1] in ".-":
        name_end -= 1
    if lowered[name_end : name_end + 1] not in _MAY_FOLLOW:
        return None
    start = _start_of_name(lowered, at)
    before = lowered[max(0, start - 3) : start]
    if before.endswith("://") or not promises_secret(text[start:name_end]):
        return None  # a user in an address; or an ordinary name
    if before.endswith(":") and _BETWEEN_COLONS.match(lowered, name_end) is not None:
        return None
    found = _assigned(text, lowered, start, name_end)
    if found is None:
        return None
    kind = _kind(found)
    begin, end = found.span(kind)
    if kind == "bare":
        end = _without_end_of_sentence(text, begin, end)
    name = lowered[start:name_end]
    if kind == "scheme":
        is_told = is_reference(lowered[begin : min(end, begin + _REFERENCE_MAX + 1)])
        return None if is_told else (begin, end)
    if kind == "bare" and name.endswith("authorization"):
        begin, end = _beyond_scheme(lowered, begin, end)
    is_told = _SENTENCE_BEFORE.search(lowered[max(0, start - 20) : start]) is not None
    if is_told and _STRICTLY.search(name) is None and _goes_on(lowered, begin, end):
        return None
    return None if _says_nothing(_Told(name, text, lowered, found, begin, end)) else (begin, end)


_BETWEEN_COLONS = re.compile(r":\S")
"""A part of an ARN; `.env:DB_PASSWORD=x` and `values.yaml:password: x` tell of a file."""
_AFTER_SCHEME = re.compile(
    r"""[^\S\n]{1,4}(?=[^\s0-9]{0,200}[0-9])([\w.~+/=|:-]{16,})(?=[\s"',;]|\Z)"""
)
"""Credentials of a scheme of HTTP that is not known by name. Source: RFC 9110, section 11.4."""
_MAY_FOLLOW = frozenset("<=:%\"'`\\],;> \t\n")


def _start_of_name(lowered: str, at: int) -> int:
    first = max(0, at - _NAME_MAX)
    while at > first and lowered[at - 1] in _NAME_CHARACTERS:
        at -= 1
    while lowered[at : at + 1] in ("-", "."):
        at += 1
    return at


def _assigned(text: str, lowered: str, start: int, name_end: int) -> re.Match[str] | None:
    """Return what follows a telling name, if it is its value."""
    found = _ASSIGNED.match(lowered, name_end)
    before = lowered[max(0, start - 24) : start]
    if found is None:
        found = _GAPPED.match(lowered, name_end)
        return found if found is not None and _is_gap_before_value(text, before, found) else None
    if found["item"] is not None:
        is_value = text[found.end("item") : found.end("item") + 1] != "-"
        return found if is_value and _OPTION.search(before) is not None else None
    if found["element"] is not None:
        return found if _OPENED.search(before) is not None else None
    return found if found["next"] is None or _stands_alone(text, found) else None


def _is_gap_before_value(text: str, before: str, found: re.Match[str]) -> bool:
    """Tell whether a blank separates a name from its value: of an option, or of something drawn."""
    gap = found["gap"]
    if text[found.end("gap")] == "-" or ("\n" in gap and not before.endswith("-")):
        return False
    if _OPTION.search(before) is not None:
        return True
    if found["bare"] is None:
        return found["single"] is not None  # ALTER ROLE ray PASSWORD 'x'
    value = text[found.start("bare") : found.end("bare")]
    return looks_drawn(value) or _CONFIGURED.search(before) is not None


def _kind(found: re.Match[str]) -> str:
    """Return how a value is written."""
    return next((value for value in _VALUES if found[value] is not None), "scheme")


def _stands_alone(text: str, found: re.Match[str]) -> bool:
    """Tell whether a value on the line after its name is all of that line, and no new name."""
    kind = _kind(found)
    end = text.find("\n", found.end())
    rest = text[found.end() : end if end >= 0 else len(text)]
    value = found[kind]
    return not rest.strip("\"'`,;)}] \t\r") and not value.endswith(":") and value not in ("-", "|")


def _without_end_of_sentence(text: str, begin: int, end: int) -> int:
    """Return the end of a value without the bracket or full stop of the sentence around it.

    Nor what follows it in a query that is percent-encoded itself: `token%3Dx%26user%3Dy`.
    """
    if text[begin - 3 : begin].lower() == "%3d":
        following = text.find("%26", begin, end)
        end = following if following > begin else end
    opened = text.count("(", begin, end)
    while end > begin + 1 and text[end - 1] == ")" and text.count(")", begin, end) > opened:
        end -= 1
    if end > begin + 1 and text[end - 1] in ".:" and text[end : end + 1] in ("", " ", "\n"):
        end -= 1
    return end


def _beyond_scheme(lowered: str, begin: int, end: int) -> tuple[int, int]:
    """Return where the credentials after a scheme of HTTP stand, if the value is a scheme."""
    found = _AFTER_SCHEME.match(lowered, end)
    return (begin, end) if found is None else found.span(1)


def _goes_on(lowered: str, begin: int, end: int) -> bool:
    """Tell whether a value is a word with more of a sentence after it."""
    is_word = end - begin <= _REFERENCE_MAX and _PLAIN.fullmatch(lowered, begin, end) is not None
    return is_word and lowered[end : end + 1] == " "


def is_reference(value: str) -> bool:
    """Tell whether a value in lower case only says where one is to be put: `${TOKEN}`, `***`."""
    return len(value) <= _REFERENCE_MAX and (
        _REFERENCE.fullmatch(value) is not None or _MASK.fullmatch(value) is not None
    )


class _Told(NamedTuple):
    """A value and what stands around it."""

    name: str
    """In lower case."""
    text: str
    lowered: str
    found: re.Match[str]
    begin: int
    end: int

    @property
    def value(self) -> str:
        """Return the value in lower case."""
        return self.lowered[self.begin : self.end]


def _says_nothing(told: _Told) -> bool:
    """Tell whether a value is a reference, a type, a mask or a word, and no secret as a whole."""
    if _ADDRESS_WITH_A_USER.fullmatch(told.lowered, told.begin, told.end) is not None:
        return True  # its user's part is found by its shape, and the host stays legible
    if told.end - told.begin > _REFERENCE_MAX:
        return False
    value = told.value
    if is_reference(value) or value.strip(".,:;!?") in _WORDS or is_plain_path(value):
        return True
    if told.name == "secret" and _OBJECT_NAME.fullmatch(value) is not None:
        return True
    if _COUNT.fullmatch(value) is not None and _STRICTLY.search(told.name) is None:
        return True
    is_bare = _kind(told.found) == "bare"
    return is_bare and (_is_code(told.name, told.text, value, told.end) or _is_prose(told))


def _is_prose(told: _Told) -> bool:
    """Tell whether a bare value is a word of a sentence, of a usage, or the next name."""
    text, value, end = told.text, told.value, told.end
    if "gap" in told.found.re.groupindex:
        return text[told.begin : end].rstrip("]").replace("_", "A").isupper()
    sign = told.found["sign"] or ""
    if ":" not in sign:
        return False
    if value.startswith("(") or text[end : end + 2] == ": ":
        return True
    if sign[-1:] not in (" ", "\t") or _PLAIN.fullmatch(value) is None:
        return False
    is_alone = text[end : end + 1] in ("", "\n")
    if told.name == "pass" and not is_alone:
        return True
    return _PROSE_FOLLOWS.match(told.lowered, end) is not None


def _is_code(name: str, text: str, value: str, end: int) -> bool:
    """Tell whether a bare value is an expression of a program: where it comes from, not what."""
    if _CALLED.match(value) is not None and not looks_drawn(value.split("(", maxsplit=1)[0]):
        return True
    if text[end : end + 1] == "[" and _CODE.fullmatch(value) is not None:
        return True
    if _CODE.fullmatch(value) is None:
        return False
    parts = value.split(".")
    last = name.rsplit(".", 1)[-1].lstrip("-")
    if parts[-1] == last or (len(parts) > 1 and parts[0] in _OBJECTS):
        return True
    return "_" in value and promises_secret(value) and not any(one.isdigit() for one in value)
