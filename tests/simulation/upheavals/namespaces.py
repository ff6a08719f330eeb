"""Somebody deletes the namespace with everything in it, and later makes it anew."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from jobledger.core.ports.cluster import RAYJOBS, Resource
from jobledger.core.values.documents import Manifest, text
from tests.simulation.nature import Move, Nature
from tests.simulation.oddities import is_elsewhere
from tests.simulation.upheavals import Upheaval
from tests.simulation.users import NAMESPACE, Users


@dataclass
class NamespaceEnds(Upheaval):
    """The namespace controller. It asks for each deletion once, and waits for finalizers."""

    nature: Nature
    users: Users
    present: bool

    def __post_init__(self) -> None:
        self.api = self.nature.api

    def possible(self) -> list[Move]:
        """Return what happens by itself."""
        if not self.present:
            return []
        if NAMESPACE in self.api.terminating:
            return list(self._of_the_end())
        if not self.api.takes(NAMESPACE):
            return [(f"{NAMESPACE} is made anew", self._make_anew)]
        return []

    def troubles(self) -> list[Move]:
        """Return what can go wrong next."""
        if not self.present or not self.api.takes(NAMESPACE):
            return []
        return [(f"somebody deletes namespace {NAMESPACE}", self._end)]

    def _of_the_end(self) -> Iterator[Move]:
        left = list(self.api.of_namespace(NAMESPACE))
        if not left:
            yield f"{NAMESPACE} is gone", partial(self.api.drop_namespace, NAMESPACE)
        for resource, item in left:
            name = text(item, "metadata", "name")
            if not text(item, "metadata", "deletionTimestamp"):
                remove = partial(self.nature.remove, resource, item)
                yield f"with its namespace {resource.kind} {name} goes", remove
            elif resource is RAYJOBS and is_elsewhere(item):
                yield f"the other controller lets {name} go", partial(self._let_go, resource, item)

    def _let_go(self, resource: Resource, item: Manifest) -> None:
        self.api.put_finalizers(resource, item, [])

    def _end(self) -> None:
        self.api.terminating.add(NAMESPACE)

    def _make_anew(self) -> None:
        self.api.add_namespace(NAMESPACE)
        self.users.share()
