"""In which form a client wants objects: whole, as a table, or their metadata alone."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from jobledger.sandbox.model.documents import Document, encode
from jobledger.sandbox.model.kinds import Kind
from jobledger.sandbox.model.refusals import not_acceptable
from jobledger.sandbox.model.storage import Change, Version
from jobledger.sandbox.printing.tables import partial, table


@dataclass(frozen=True, slots=True)
class Representation:
    """The form of an answer, from the Accept header and `includeObject`."""

    form: Literal["whole", "table", "metadata"] = "whole"
    whole_rows: bool = False

    def one(self, kind: Kind, version: Version) -> bytes:
        """Return the JSON text of one object."""
        if self.form == "table":
            metadata = {"resourceVersion": str(version.revision)}
            return encode(table(kind, [version], metadata, whole=self.whole_rows))
        return encode(partial(version)) if self.form == "metadata" else version.encoded(kind)

    def many(self, kind: Kind, versions: Iterable[Version], metadata: Document) -> bytes:
        """Return the JSON text of a list."""
        if self.form == "table":
            return encode(table(kind, versions, metadata, whole=self.whole_rows))
        if self.form == "metadata":
            head = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1"}
            texts = [encode(partial(version)) for version in versions]
        else:
            head = {"kind": kind.listed, "apiVersion": kind.api_version}
            texts = [version.encoded(kind) for version in versions]
        opening = encode(head | {"metadata": metadata})[:-1]
        return opening + b',"items":[' + b",".join(texts) + b"]}"

    def event(self, kind: Kind, change: Change, *, first: bool) -> bytes:
        """Return one line of a watch; the first table of a watch has the headings."""
        if self.form == "table":
            metadata = {"resourceVersion": str(change.version.revision)}
            rows = table(kind, [change.version], metadata, whole=self.whole_rows, headed=first)
            text = encode(rows)
        else:
            text = self.one(kind, change.version)
        return b'{"type":"' + change.type.encode() + b'","object":' + text + b"}\n"


def representation(accept: str, query: Mapping[str, str]) -> Representation:
    """Return the first form in an Accept header that is served here.

    Raises:
        Refusal: 406, it names none.
    """
    for choice in (accept or "*/*").split(","):
        media, *parameters = [part.strip() for part in choice.split(";")]
        wanted = dict(part.partition("=")[::2] for part in parameters)
        if media not in ("application/json", "*/*", "application/*", "application/yaml"):
            continue
        asked = wanted.get("as", "")
        if asked == "Table" and wanted.get("v") == "v1":
            return Representation("table", query.get("includeObject") == "Object")
        if asked in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return Representation("metadata")
        if not asked:
            return Representation()
    raise not_acceptable()
