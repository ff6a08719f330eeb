"""The redactor: replaces secrets in documents and texts by keyed digests.

Everything that enters the event log, its projections and `.status` passes a `Redactor` first. A
secret is replaced by `redacted:` and twelve hex digits of its HMAC-SHA256 under the installation's
key: the same secret shows the same digits wherever it stands, so that "changed or not" can be told,
and nobody without the key can try values against them.

Three things make a value secret: its place (`core.log.redaction.secret_places`: literal environment
values, what stands under a telling name), its shape
(`core.log.redaction.detection.secret_shapes`), and being equal to a value that the object holds as
a secret (`core.log.redaction.secret_values`), in any of its forms
(`core.log.redaction.secret_forms`).

What comes out can be stored as jsonb and hashed: no U+0000, no lone surrogates, no NaN, no whole
numbers written as floats.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from jobledger.core.log.redaction.detection.secret_shapes import (
    CUT,
    may_hold_rest_of_key,
    secret_spans,
)
from jobledger.core.log.redaction.folded_text import in_one_line, unfolded, without_colours
from jobledger.core.log.redaction.markers import MARKER, MARKER_LENGTH, MARKER_WORD, marker_of
from jobledger.core.log.redaction.redacted_places import RedactedPlaces
from jobledger.core.log.redaction.secret_forms import Form
from jobledger.core.log.redaction.secret_places import visited
from jobledger.core.log.redaction.secret_search import Occurrence, SecretSearch
from jobledger.core.log.redaction.secret_values import REASONS, UNCOUNTED, joined, secrets_in
from jobledger.core.log.storable import storable_number, storable_text
from jobledger.core.values.documents import Json, Manifest, text

__all__ = ["UNCOUNTED", "LateSecrets", "Redactor", "joined", "secrets_in"]

_ROUNDS = 4
"""Looks at one text; what replaced one secret may show the next. Two are usual."""


HIDDEN = "it holds more values than are searched for secrets: nothing of it is kept"
"""Stands in place of the specification of an object with too many secrets or values."""


class LateSecrets:
    """The secrets of an object that is looked through when they are first asked for.

    To look through an object takes longer than everything else about a first look at it, and after
    a start nothing is said of most objects for long.
    """

    __slots__ = ("_found", "_look")

    def __init__(
        self, look: Callable[[], frozenset[str]] | None, found: frozenset[str] = frozenset()
    ) -> None:
        self._look, self._found = look, found

    @classmethod
    def of(cls, found: frozenset[str]) -> "LateSecrets":
        """Return those of an object that was looked through."""
        return cls(None, found)

    @property
    def is_found(self) -> bool:
        """Return whether the object was looked through."""
        return self._look is None

    @property
    def found(self) -> frozenset[str]:
        """Return the secrets."""
        if (look := self._look) is not None:  # two threads find the same
            self._found = look()
            self._look = None
        return self._found


class Redactor:
    """Replaces the secrets in what is said by and about one object.

    Args:
        key: The installation's key; never stored beside the log.
        secrets: What `secrets_in` found, and whatever else must not appear. With `UNCOUNTED` among
            them every text is taken for a secret, and of documents nothing is left.
        late: More of them, found before the first text or document is redacted.
    """

    __slots__ = ("_found", "_given", "_key")

    def __init__(
        self, key: bytes, secrets: Iterable[str] = (), late: Sequence[LateSecrets] = ()
    ) -> None:
        self._key = key
        self._given = frozenset(secrets), tuple(late)  # exchanged at once: others read it meanwhile
        self._found: SecretSearch | None = None

    @property
    def secrets(self) -> frozenset[str]:
        """Return what must not appear."""
        known, late = self._given
        if late:  # two threads find the same
            for more in late:
                known = joined(known, more.found)
            self._given = known, ()
        return known

    @property
    def _hides_all(self) -> bool:
        return UNCOUNTED in self.secrets

    @property
    def _search(self) -> SecretSearch:
        if self._found is None:
            searched = () if self._hides_all else self.secrets
            self._found = SecretSearch(storable_text(secret) for secret in searched)
        return self._found

    def learning(self, more: LateSecrets) -> "Redactor":
        """Return a redactor that knows these secrets as well; itself, if it does already."""
        known, late = self._given
        if more in late:
            return self
        if more.is_found and not late and joined(known, more.found) == known:
            return self
        return Redactor(self._key, known, (*late, more))

    def manifest(self, manifest: Manifest, runtime_env: Json) -> Manifest:
        """Return an object without its secrets.

        Args:
            manifest: The object.
            runtime_env: `spec.runtimeEnvYAML`, parsed: its redacted form stands in place of the
                text. Anything but an object where it cannot be read: a digest stands there.
        """
        if self._hides_all:
            return {"spec": {"hidden": HIDDEN}}
        spec = manifest.get("spec")
        redacted = self._redacted(manifest, text(spec, "runtimeEnvYAML"), runtime_env)
        assert isinstance(redacted, Mapping), "an object stays an object"
        return redacted

    def document(self, document: Json) -> Json:
        """Return any JSON without its secrets; a `runtimeEnvYAML` in it becomes a digest."""
        return self._redacted(document, "", None)

    def text(self, text: str, limit: int, *, keep_end: bool = False) -> str:
        """Return a text without secrets, not even a part of one at its edges, and cut to size.

        Args:
            text: A message or a piece of a log.
            limit: Characters at most, the mark of the cut included.
            keep_end: Cut at the beginning, as is right for logs.
        """
        if not text:
            return ""
        result = storable_text(text)
        if self._hides_all:
            return _cut(self._hidden(result), limit, keep_end=keep_end)
        for _ in range(_ROUNDS):
            whole = self._scrubbed(result, self._search.present(result), is_piece=True)
            result = _cut(whole, limit, keep_end=keep_end)
            if result == whole:
                break
        return result

    def message(self, text: str, limit: int) -> str:
        """Return as `text` does a message that may quote values; it says so if it is hidden."""
        shown = self.text(text, limit)
        return f"{shown} ({HIDDEN})" if shown and self._hides_all else shown

    def marker(self, secret: str) -> str:
        """Return what stands in place of `secret`: `redacted:` and a keyed digest."""
        return marker_of(self._key, secret)

    def _hidden(self, text: str) -> str:
        """Return the marker of a whole text; nothing, a word of Kubernetes, a marker stay."""
        is_told = not text.strip() or text in REASONS or MARKER.fullmatch(text) is not None
        return text if is_told else self.marker(text)

    def _redacted(self, document: Json, yaml: str, runtime_env: Json) -> Json:
        """Replace by place; then, in the few strings that need it, by value and by shape."""
        if self._hides_all:
            return self._without_all(document)
        places = RedactedPlaces(self._key, self._search.numeric, yaml, runtime_env)
        shown = visited(document, places)
        strings = list(places.strings)
        suspects: set[str] = set()
        present: Sequence[Form] = ()
        if not self._search.is_empty:
            joined = "\n".join(strings)
            present = self._search.present(joined)
            suspects.update(_touched(strings, joined, self._search.occurrences(joined, present)))
        telling = list(places.telling)
        joined = "\n".join(telling)
        suspects.update(_touched(telling, joined, _shapes(joined)))
        if may_hold_rest_of_key(joined):
            suspects.update(filter(may_hold_rest_of_key, telling))
        changed = {suspect: self._scrubbed(suspect, present) for suspect in suspects}
        return _with(changed, shown) if changed else shown

    def _without_all(self, document: Json) -> Json:
        match document:
            case None | bool():
                return document
            case str():
                return self._hidden(document)
            case int() | float():
                return self._hidden(str(storable_number(document)))
            case Mapping():
                return {}
            case _:
                return []

    def _scrubbed(self, text: str, present: Sequence[Form], *, is_piece: bool = False) -> str:
        """Replace known secrets and what has a secret's shape, until none is left.

        Args:
            text: A storable text.
            present: The forms to look for at first.
            is_piece: Whether `text` may begin or end within a secret.
        """
        result = text
        for _ in range(_ROUNDS):
            found = list(self._search.occurrences(result, present))
            if is_piece:
                found += self._search.at_the_edges(result)
                found += self._folded(result)
            found += _shapes(result)
            before, result = result, self._replaced(result, found) if found else result
            if result == before:
                break
            present = self._search.present(result)
        return result

    def _folded(self, text: str) -> Iterator[Occurrence]:
        """Yield what is shown in colours, and known secrets that are broken over lines."""
        coloured = without_colours(text)
        if coloured is not None:
            yield from unfolded(coloured, _shapes(coloured.text))
        lines = in_one_line(text) if not self._search.is_empty else None
        for folded in (coloured, lines):
            if folded is not None:
                present = self._search.long_present(folded.text)
                yield from unfolded(folded, self._search.occurrences(folded.text, present))

    def _replaced(self, text: str, found: Iterable[Occurrence]) -> str:
        """Replace what was found; where some overlap, all of them by the longest one's marker."""
        pieces: list[str] = []
        done = 0
        for start, end, secret in _merged(_beyond_markers(text, found)):
            pieces += (text[done:start], self.marker(secret))
            done = end
        pieces.append(text[done:])
        return "".join(pieces)


def _shapes(text: str) -> Iterator[Occurrence]:
    for span in secret_spans(text):
        yield Occurrence(span.start, span.end, text[span.start : span.end])


def _touched(
    strings: Sequence[str], joined: str, occurrences: Iterable[Occurrence]
) -> Iterator[str]:
    """Yield those of `strings` in which something was found when they were joined by newlines."""
    found = list(_beyond_markers(joined, occurrences))
    if not found:
        return
    starts = list(accumulate((len(string) + 1 for string in strings), initial=0))
    for start, end, _ in found:
        first = bisect_right(starts, start) - 1
        yield from strings[first : bisect_left(starts, end, lo=first + 1)]


def _with(changed: Mapping[str, str], document: Json) -> Json:
    """Return `document` with strings and keys exchanged."""
    match document:
        case str():
            return changed.get(document, document)
        case Mapping():
            return {changed.get(key, key): _with(changed, value) for key, value in document.items()}
        case Sequence():
            return [_with(changed, item) for item in document]
        case _:
            return document


def _beyond_markers(text: str, found: Iterable[Occurrence]) -> Iterator[Occurrence]:
    """Yield what an earlier redaction has not replaced yet, never with half a marker in it."""
    if MARKER_WORD not in text:
        yield from found
        return
    markers = [marker.span() for marker in MARKER.finditer(text)]
    starts = [start for start, _ in markers]
    stops = [stop for _, stop in markers]
    for start, end, secret in found:
        first = bisect_right(stops, start)
        beyond_last = bisect_left(starts, end)
        if first == beyond_last:
            yield Occurrence(start, end, secret)
        elif start < starts[first] or stops[beyond_last - 1] < end:
            yield Occurrence(min(start, starts[first]), max(end, stops[beyond_last - 1]), secret)


def _merged(found: Iterable[Occurrence]) -> Iterator[Occurrence]:
    """Yield occurrences in order, overlapping ones as one with the secret of the longest."""
    current: Occurrence | None = None
    longest = 0
    for one in sorted(found):
        length = one.end - one.start
        if current is None or one.start >= current.end:
            if current is not None:
                yield current
            current, longest = one, length
            continue
        secret = one.secret if length > longest else current.secret
        current = Occurrence(current.start, max(current.end, one.end), secret)
        longest = max(longest, length)
    if current is not None:
        yield current


def _cut(text: str, limit: int, *, keep_end: bool) -> str:
    """Return at most `limit` characters of `text`, never with half a marker in it."""
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    at = len(text) - (limit - 1) if keep_end else limit - 1
    for found in MARKER.finditer(text, max(0, at - MARKER_LENGTH), at + MARKER_LENGTH):
        if found.start() < at < found.end():
            at = found.end() if keep_end else found.start()
            break
    return CUT + text[at:] if keep_end else text[:at] + CUT
