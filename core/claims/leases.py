"""Reads a claim from a Lease, and writes it as one."""

from collections.abc import Iterator
from datetime import timedelta

from jobledger.core.claims.rule import Claim, Standing
from jobledger.core.kinds import KINDS
from jobledger.core.ports.cluster import LEASES
from jobledger.core.values.documents import Json, Manifest, child, text
from jobledger.core.values.instants import Instant, parse_rfc3339
from jobledger.core.values.our_prefix import OUR_PREFIX

LABEL = "jobledger.dev/claim"
SELECTOR = f"{LABEL}=true"
SHOWN_MAX = 200
"""Characters of what others have written that are shown; all of it that is printable."""

DURATION_MAX = 300
"""Seconds for which somebody who has said nothing counts as alive, whatever the claim says."""


def manifest_of(claim: Claim, namespace: str, seconds: int, now: Instant) -> Manifest:
    """Return the Lease that says it."""
    told: dict[str, Json] = {
        f"{OUR_PREFIX}since": claim.since,
        f"{OUR_PREFIX}standing": claim.standing.value,
        f"{OUR_PREFIX}database": claim.database,
        f"{OUR_PREFIX}log-origin": claim.origin,
        f"{OUR_PREFIX}log-position": str(claim.position),
        f"{OUR_PREFIX}namespaces": ",".join(claim.namespaces),
        f"{OUR_PREFIX}kinds": ",".join(claim.kinds),
    }
    if claim.named_in is not None:
        told[f"{OUR_PREFIX}named-in"] = ",".join(claim.named_in)
    labels: Manifest = {LABEL: "true"}
    metadata: Manifest = {
        "name": claim.name,
        "namespace": namespace,
        "labels": labels,
        "annotations": told,
    }
    spec: Manifest = {
        "holderIdentity": claim.owner,
        "leaseDurationSeconds": seconds,
        "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": metadata,
        "spec": spec,
    }


def claim_of(manifest: Manifest) -> Claim:
    """Return what a Lease says; what it does not say, or says wrongly, is the safe side of it."""
    said = {
        key.removeprefix(OUR_PREFIX): str(value)
        for key, value in child(manifest, "metadata", "annotations").items()
    }
    told = {key: _legible(value) for key, value in said.items()}
    position = told.get("log-position", "")
    return Claim(
        name=text(manifest, "metadata", "name"),
        owner=_legible(text(manifest, "spec", "holderIdentity")),
        since=told.get("since", ""),
        standing=_standing(told.get("standing", "")),
        database=told.get("database", ""),
        origin=told.get("log-origin", ""),
        position=int(position) if position.isascii() and position.isdigit() else 0,
        namespaces=tuple(_names(said.get("namespaces", ""))),
        kinds=tuple(_names(told.get("kinds", ""))) or tuple(KINDS),
        named_in=tuple(_names(said["named-in"])) if "named-in" in said else None,
    )


def duration_of(manifest: Manifest) -> float:
    """Return for how many seconds a claim holds without being renewed."""
    given = child(manifest, "spec").get("leaseDurationSeconds")
    return float(min(max(given, 1), DURATION_MAX)) if isinstance(given, int) else 15.0


def is_recent(manifest: Manifest, now: Instant) -> bool:
    """Return whether a claim was renewed lately, by the clocks of two machines."""
    renewed = parse_rfc3339(text(manifest, "spec", "renewTime"))
    return renewed is not None and now - renewed < timedelta(seconds=duration_of(manifest))


def _standing(told: str) -> Standing:
    return next((one for one in Standing if one.value == told), Standing.ACTING)


def _names(told: str) -> Iterator[str]:
    return (name for name in told.split(",") if name)


def _legible(told: str) -> str:
    return "".join(one if one.isprintable() else "�" for one in told[:SHOWN_MAX])
