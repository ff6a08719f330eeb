"""Recognises values that look like credentials although their name says nothing.

Whoever makes a credential draws its characters; whoever names a model, a host or a layer uses
words. What is drawn changes between letters and digits, and between small and capital letters, far
more often than words with numbers in them do.
"""

import re
from functools import lru_cache

from jobledger.core.log.redaction.detection.secret_names import Promise

_SURE_LENGTH = 4
"""Characters from which a value under a name that promises a secret is searched for elsewhere."""

_SHORTEST = 8
"""Characters of a run of letters and digits from which it may look drawn."""
_CHANGES_MIN = 4
_CHANGES_SHARE = 0.25
_LETTERS_MIN = 16
"""Letters without a digit or capital from which a run without enough vowels looks drawn."""
_VOWELS_SHARE = 0.15
_VOWELS_OF_WORDS = 0.2
_GROUP_MIN = 4
_GROUP_CHANGES_MIN = 2
_GROUPS_MIN = 3
"""So many short mixed groups between hyphens look like a licence key."""
_LONGEST = 4096
"""Characters of a value that are looked at."""

_ORDINARY = frozenset(
    re.findall(
        r"\S+",
        """
        true false null none nil redacted undefined
        debug info warn warning error critical default auto latest local localhost production
        staging development testing stable release master worker driver leader follower client
        server cluster always never enabled disabled enable disable online offline ifnotpresent
        onfailure token bearer password secret basic python python3 kuberay nvidia float16
        float32 bfloat16 en_us.utf-8 c.utf-8 unknown system simple native legacy
        enforce strict normal verbose public private internal external required optional
        """,
    )
)
"""Values, in lower case, that say what half of all manifests say, whatever their name."""

_PATHS = re.compile(r"(?:/[a-z][a-z0-9._-]{0,20})+/?(?::(?:/[a-z][a-z0-9._-]{0,20})+/?)*", re.ASCII)
"""Plain directories, alone or as a search path; they would shred every stack trace."""

_PLAIN = re.compile(r"(?:[a-z]{0,15}|[A-Z]{0,15}|[0-9]*)(?:[._:/-](?:[a-z]{0,15}|[0-9]*))*")
"""Words and numbers, which most values are: told apart quickly."""
_KEPT = 4096
"""Values whose look is remembered: jobs of a team have most of theirs in common."""

_KEPT_LENGTH_MAX = 1000
"""Characters of a value whose parts are remembered."""

_PART = re.compile(r"[^\s\"',;{}()\[\]<>|=]+")
_RUN = re.compile(r"[A-Za-z0-9]+")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_IN_AN_ADDRESS = 20
"""Shortest run of an address that may look drawn."""
_UUID = re.compile(r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}")
_HEX = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_DIGESTED = re.compile(r"sha(?:1|256|384|512)[:-][0-9a-f]+")
_INSTANT = re.compile(r"[0-9]{4}-?[0-9]{2}-?[0-9]{2}T[0-9:.]{4,}[0-9Z+:-]*")
_WORD = re.compile(r"(?:[A-Z]?[a-z]{5,}|[A-Z]{5,})")
_VOWEL = re.compile(r"[aeiouAEIOU]")
_CHANGE = re.compile(
    r"(?<=[0-9])(?=[A-Za-z])|(?<=[A-Za-z])(?=[0-9])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z]{2})(?=[a-z])"
)
_CLASSES = tuple(re.compile(one) for one in (r"[a-z]", r"[A-Z]", r"[0-9]", r"[!#$%^&*?~@]"))
_REFERENCE = re.compile(r"[$%]?[{(].*|\$[A-Za-z_]\w*|.*\$[{(].*")


def worth_searching(value: str, promise: Promise) -> bool:
    """Tell whether a value is replaced wherever it occurs, as a whole.

    Args:
        value: A literal value, without blanks around it.
        promise: What its name, or its shape, says of it.
    """
    if promise is not Promise.SECRET:
        return looks_drawn(value, promise) and _is_whole(value)
    is_long_enough = len(value) >= _SURE_LENGTH and value.lower() not in _ORDINARY
    return is_long_enough and not is_plain_path(value)


def is_plain_path(value: str) -> bool:
    """Tell whether a value is a plain directory, or a search path of some."""
    return value[:1] == "/" and _PATHS.fullmatch(value) is not None


def drawn_parts(value: str, promise: Promise) -> tuple[str, ...]:
    """Return the parts of a longer value that look like credentials."""
    if _PLAIN.fullmatch(value) is not None:
        return ()
    return (_kept_parts if len(value) <= _KEPT_LENGTH_MAX else _parts)(value, promise)


def _parts(value: str, promise: Promise) -> tuple[str, ...]:
    if _is_whole(value):
        return ()
    parts = set(_PART.findall(value[:_LONGEST]))
    return tuple(part for part in parts if looks_drawn(part, promise))


_kept_parts = lru_cache(maxsize=_KEPT)(_parts)


def _is_whole(value: str) -> bool:
    """Tell whether a value is one piece."""
    return _PART.fullmatch(value.rstrip("=")) is not None


def looks_drawn(value: str, promise: Promise = Promise.NOTHING) -> bool:
    """Tell whether a value looks as if somebody had drawn its characters."""
    if not _SHORTEST <= len(value) <= _LONGEST or _PLAIN.fullmatch(value) is not None:
        return False
    return _looks_drawn(value, promise)


@lru_cache(maxsize=_KEPT)
def _looks_drawn(value: str, promise: Promise) -> bool:
    if _REFERENCE.fullmatch(value) is not None:
        return False
    if _UUID.fullmatch(value) is not None:
        return promise is not Promise.IDENTITY
    value = _INSTANT.sub(" ", _DIGESTED.sub(" ", value))
    is_address = _ADDRESS.match(value) is not None
    runs = _RUN.findall(_UUID.sub(" ", value))
    shortest = _IN_AN_ADDRESS if is_address else _SHORTEST
    if any(len(run) >= shortest and _is_drawn(run, promise) for run in runs):
        return True
    if is_address or promise is Promise.IDENTITY:
        return False
    return _looks_typed(value) or sum(_is_group(run) for run in runs) >= _GROUPS_MIN


def _is_drawn(run: str, promise: Promise) -> bool:
    """Judge letters and digits without anything between them."""
    if promise is Promise.IDENTITY and _HEX.fullmatch(run) is not None:
        return False
    if run.isalpha() and (run.islower() or run.isupper()):
        return len(run) >= _LETTERS_MIN and len(_VOWEL.findall(run)) < _VOWELS_SHARE * len(run)
    rest = _WORD.sub(_without_word, run)
    changes = len(_CHANGE.findall(rest))
    length = len(rest.replace(" ", ""))
    return length >= _SHORTEST and changes >= max(_CHANGES_MIN, _CHANGES_SHARE * length)


def _without_word(found: re.Match[str]) -> str:
    vowels = len(_VOWEL.findall(found[0]))
    return " " if vowels >= _VOWELS_OF_WORDS * len(found[0]) else found[0]


def _is_group(run: str) -> bool:
    is_short = _GROUP_MIN <= len(run) < _SHORTEST
    return is_short and len(_CHANGE.findall(run)) >= _GROUP_CHANGES_MIN


def _looks_typed(value: str) -> bool:
    """Tell whether a value has small and capital letters, digits and signs, as rules ask for."""
    if ":" in value or "/" in value:
        return False
    return all(one.search(value) is not None for one in _CLASSES)
