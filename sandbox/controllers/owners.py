"""Asks whether an owner is there before something of it that has gone is made again.

What goes with its owner, as garbage, may be told before the owner's own end: each kind has a watch
of its own. kube-controller-manager has the same watches, and a garbage collector that is slower.
"""

from jobledger.core.ports.cluster import Cluster, Resource
from jobledger.core.values.documents import Manifest
from jobledger.sandbox.controllers.store import is_being_deleted, key_of, uid_of


def is_still_there(cluster: Cluster, resource: Resource, owner: Manifest) -> bool:
    """Return whether the API server has this object, and nobody has asked for its deletion.

    Raises:
        ClusterError: it does not say.
    """
    found = cluster.get(resource, *key_of(owner))
    return found is not None and uid_of(found) == uid_of(owner) and not is_being_deleted(found)
