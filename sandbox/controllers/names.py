"""Names and owner references of what the sandbox's controllers create."""

import hashlib

from jobledger.core.values.documents import Json, Manifest, text

ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""Source: k8s.io/apimachinery/pkg/util/rand."""

SUFFIX_CHARS = 5
MAX_NAME_CHARS = 63


def derived_name(prefix: str, *cause: str) -> str:
    """Return `<prefix>-<5 characters>`, the characters following from `cause`.

    The same cause gives the same name, so that creating something twice meets AlreadyExists.
    """
    digest = hashlib.sha256("/".join(cause).encode()).digest()
    suffix = "".join(ALPHABET[byte % len(ALPHABET)] for byte in digest[:SUFFIX_CHARS])
    return f"{prefix[: MAX_NAME_CHARS - SUFFIX_CHARS - 1]}-{suffix}"


def controlled_by(owner: Manifest) -> Json:
    """Return the reference that makes `owner` the controller of an object."""
    return {
        "apiVersion": text(owner, "apiVersion"),
        "kind": text(owner, "kind"),
        "name": text(owner, "metadata", "name"),
        "uid": text(owner, "metadata", "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }
