"""The walk through a document that replaces what is secret by its place."""

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial

import msgspec

from jobledger.core.log.redaction.detection.secret_names import Promise
from jobledger.core.log.redaction.detection.secret_shapes import may_hold_secret
from jobledger.core.log.redaction.markers import MARKER, marker_of
from jobledger.core.log.redaction.secret_forms import Form
from jobledger.core.log.redaction.secret_places import visited
from jobledger.core.log.redaction.templates import LEVELS_ABOVE, TEMPLATES_KEPT, found_in
from jobledger.core.log.storable import storable_number, storable_text
from jobledger.core.values.documents import Json, Manifest


class RedactedPlaces:
    """Replaces what is secret by its place, and remembers every other string."""

    __slots__ = (
        "_key",
        "_numeric",
        "_runtime_env",
        "_yaml",
        "numbers",
        "strings",
        "telling",
    )

    def __init__(
        self, key: bytes, numeric: Sequence[Form] = (), yaml: str = "", runtime_env: Json = None
    ) -> None:
        """Begin a walk.

        Args:
            key: The installation's key.
            numeric: Forms of known secrets that may hide in a number.
            yaml: The text of a runtime environment.
            runtime_env: The same, parsed; anything but an object where it cannot be read.
        """
        self._key = key
        self._numeric = numeric
        self._yaml = yaml
        self._runtime_env = runtime_env if isinstance(runtime_env, Mapping) else None
        self.strings: dict[str, None] = {}
        """Every string that was not replaced, keys included."""
        self.telling: dict[str, None] = {}
        """Those of them that may show a secret by themselves."""
        self.numbers: dict[str, None] = {}
        """Every number, as it is written."""

    def secret(self, value: str | float, promise: Promise) -> Json:  # noqa: ARG002  # the visitor's signature
        """Return the marker of a secret; nothing stays nothing, a marker a marker."""
        if value == "" or (isinstance(value, str) and MARKER.fullmatch(value) is not None):
            return value
        literal = value if isinstance(value, str) else str(storable_number(value))
        return marker_of(self._key, literal)

    def text(self, value: str) -> str:
        """Return a string as it can be stored."""
        if value in self.strings:
            return value
        kept = storable_text(value)
        self.strings[kept] = None
        if may_hold_secret(kept):
            self.telling[kept] = None
        return kept

    def number(self, value: float) -> Json:
        """Return a number as it comes back from jsonb, or a marker if it shows a secret."""
        kept = storable_number(value)
        shown = str(kept)
        self.numbers[shown] = None
        return marker_of(self._key, shown) if self._shows_secret(shown) else kept

    def _shows_secret(self, number: str) -> bool:
        return any(form.text in number for form in self._numeric)

    def runtime_env(self, yaml: str) -> Json:
        """Return the redacted form of the text's content where that is known."""
        if yaml == self._yaml and self._runtime_env is not None:
            return visited(self._runtime_env, self)
        return self.secret(yaml, Promise.NOTHING)

    def template(self, template: Manifest, depth: int) -> Json:
        """Return a template redacted, as it was when it was met before."""
        found = found_in(template, depth, partial(_shown_template, self._key))
        if found is None or any(map(self._shows_secret, found[1].numbers)):
            return visited(template, self, depth)
        shown, places = found
        self.numbers.update(places.numbers)
        self.strings.update(places.strings)
        self.telling.update(places.telling)
        return shown


@lru_cache(maxsize=TEMPLATES_KEPT)
def _shown_template(key: bytes, content: bytes) -> tuple[Json, RedactedPlaces]:
    """Return a template without what is secret by its place, and the strings that are left."""
    places = RedactedPlaces(key)
    return visited(msgspec.json.decode(content), places, LEVELS_ABOVE), places
