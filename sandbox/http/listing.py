"""One consistent list of objects, whole or page by page."""

import base64
import itertools
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from jobledger.sandbox.model.documents import Document, decode, encode
from jobledger.sandbox.model.refusals import bad_request, continue_expired, expired, from_the_future
from jobledger.sandbox.model.selectors import selection
from jobledger.sandbox.model.storage import Storage, Version
from jobledger.sandbox.model.targets import Target

MOST_OPEN_LISTS: Final = 64
"""Paged lists whose remaining pages are kept; the oldest is answered with 410 after that."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the objects of a list, and the list's metadata."""

    versions: list[Version]
    metadata: Document


class Lister:
    """Answers list requests and keeps what later pages will show."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._numbers = itertools.count(1)
        self._open: OrderedDict[int, tuple[int, list[Version]]] = OrderedDict()

    def page(self, target: Target, query: Mapping[str, str]) -> Page:
        """Return the page a list request asks for.

        Raises:
            Refusal: 400, 410 or 504.
        """
        limit = _whole_number(query, "limit")
        token = query.get("continue")
        if token:
            revision, left = self._reopen(token)
        else:
            revision, left = self._begin(target, query)
        if not limit or len(left) <= limit:
            return Page(left, {"resourceVersion": str(revision)})
        number = next(self._numbers)
        self._open[number] = (revision, left[limit:])
        while len(self._open) > MOST_OPEN_LISTS:
            self._open.popitem(last=False)
        note = encode({"v": "sandbox", "rv": revision, "list": number})
        metadata: Document = {
            "resourceVersion": str(revision),
            "continue": base64.urlsafe_b64encode(note).decode(),
        }
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(left) - limit
        return Page(left[:limit], metadata)

    def _begin(self, target: Target, query: Mapping[str, str]) -> tuple[int, list[Version]]:
        chosen = selection(
            target.kind, query.get("labelSelector", ""), query.get("fieldSelector", "")
        )
        with self._storage.lock:
            revision = self._storage.revision
            self._check_revision(target, query)
            versions = self._storage.versions(target.kind.storage, target.namespace)
        if chosen:
            versions = [version for version in versions if chosen(version.document)]
        return revision, versions

    def _check_revision(self, target: Target, query: Mapping[str, str]) -> None:
        """See that the asked resourceVersion can be served from what is there now."""
        asked = _whole_number(query, "resourceVersion")
        if not asked:
            return
        if asked > self._storage.revision:
            raise from_the_future(asked, self._storage.revision)
        shelf = self._storage.shelf(target.kind.storage)
        if query.get("resourceVersionMatch") == "Exact":
            newer = shelf.since(shelf.position_after(asked))
            if asked < shelf.floor or newer:
                raise expired(asked, self._storage.revision)

    def _reopen(self, token: str) -> tuple[int, list[Version]]:
        try:
            note = decode(base64.urlsafe_b64decode(token))
            number = note["list"]
        except (ValueError, msgspec.DecodeError, TypeError, KeyError) as error:
            raise bad_request("continue key is not valid") from error
        found = self._open.get(number)
        if found is None or found[0] != note.get("rv"):
            raise continue_expired()
        return found


def _whole_number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name) or "0"
    if not text.isdigit():
        raise bad_request(f'Invalid value: "{text}": {name}: strconv.ParseUint: invalid syntax')
    return int(text)
