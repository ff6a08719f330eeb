"""What an API server refuses to store, by the definitions that we bring."""

from typing import Final

from jobledger.core.ports.cluster import Resource
from jobledger.core.values.documents import Manifest, text
from jobledger.sandbox.admission.admission import admit
from jobledger.sandbox.admission.builtin_kinds import BUILTIN_KINDS
from jobledger.sandbox.model.documents import copy_of
from jobledger.sandbox.model.kinds import Kinds
from jobledger.sandbox.model.names import check_name
from jobledger.sandbox.model.refusals import invalid
from jobledger.sandbox.model.targets import Target
from jobledger.sandbox.model.write_options import write_options
from tests.support.memory_cluster import refusals
from tests.support.memory_kinds import custom_kinds

_KINDS: Final = Kinds((*BUILTIN_KINDS, *custom_kinds()))


def admission(resource: Resource, manifest: Manifest) -> None:
    """Raise what the adapter makes of an object that breaks a rule."""
    kind = _KINDS.find(resource.group, resource.version, resource.plural)
    assert kind is not None, resource
    name = text(manifest, "metadata", "name")
    with refusals(f"create {resource.plural} {name}"):
        if errors := check_name(kind, name):
            raise invalid(kind, name, errors)
        target = Target(kind=kind, namespace=text(manifest, "metadata", "namespace"), name=name)
        options = write_options(target, {}, "", "Update")
        admit(kind, copy_of({**manifest}), None, options)
