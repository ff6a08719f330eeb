"""What the log keeps of a job's object, redacted once somebody asks for it.

To redact an object takes longer than everything else about a look at it, and most looks, those of
a start above all, bring no event that takes it over.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping

import msgspec

from jobledger.adapters.service.observing.mapper import without_copy
from jobledger.core.log.redaction.redact import Redactor
from jobledger.core.values.documents import Json, Manifest, child

RuntimeEnv = Callable[[Manifest], Json]
"""Returns `spec.runtimeEnvYAML` of an object, parsed; None where it cannot be."""


class _Late(Mapping[str, Json], ABC):
    """An object that is redacted when somebody asks for any of it."""

    @abstractmethod
    def _document(self) -> Manifest:
        """Return it redacted, which is done once."""

    def __getitem__(self, key: str) -> Json:
        return self._document()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._document())

    def __len__(self) -> int:
        return len(self._document())

    def __repr__(self) -> str:
        return repr(self._document())


class LateDocument(_Late):
    """Specification, labels and annotations of an object, as far as it has any."""

    def __init__(
        self, manifest: Manifest, redactor: Redactor, runtime_env: RuntimeEnv = lambda _: None
    ) -> None:
        """Keep what is needed of an object: parsed it would take ten times the memory."""
        metadata = child(manifest, "metadata")
        shown = {key: metadata[key] for key in ("labels", "annotations") if key in metadata}
        whole: Manifest = {"spec": manifest.get("spec"), "metadata": shown}
        self._redactor, self._runtime_env = redactor, runtime_env
        self._made: dict[str, Json] | None = None
        try:
            self._kept = msgspec.json.encode(whole)
        except (UnicodeEncodeError, OverflowError):  # no JSON that an API server sends
            self._made = self._redacted(whole)

    def _document(self) -> dict[str, Json]:
        if self._made is None:
            self._made = self._redacted(msgspec.json.decode(self._kept))
            self._kept = b""
        return self._made

    def _redacted(self, whole: Manifest) -> dict[str, Json]:
        redacted = self._redactor.manifest(whole, self._runtime_env(whole))
        parts: dict[str, Json] = {
            "spec": child(redacted, "spec"),
            "labels": child(redacted, "metadata", "labels"),
            "annotations": without_copy(child(redacted, "metadata", "annotations")),
        }
        return {key: value for key, value in parts.items() if value}


class LateStatus(_Late):
    """The status of a part of a job, redacted once it differs from what is known of it.

    What is known was redacted. If the status as it came equals that, no secret is in it that was
    not there before, and there is nothing to record.
    """

    def __init__(self, status: Manifest, redactor: Redactor) -> None:
        """Keep the status as it came."""
        self._came, self._redactor = status, redactor
        self._made: Manifest | None = None

    def _document(self) -> Manifest:
        if self._made is None:
            made = self._redactor.document(self._came)
            self._made = made if isinstance(made, Mapping) else {}
        return self._made

    def __eq__(self, other: object) -> bool:
        return self._came == other or self._document() == other

    __hash__ = None  # type: ignore[assignment] # as of any mapping
