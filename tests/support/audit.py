"""Which rights the service uses: what the API server's audit log has of a service account.

Only requests of service accounts are logged: everybody else on the test server is a user.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

CREATED = 201
FORBIDDEN = 403
OPTIONS = ("--audit-policy-file", "--audit-log-path")


@dataclass(frozen=True, slots=True, order=True)
class Used:
    """One verb on one kind of object, as a rule of a role has them."""

    group: str
    resource: str
    """Plural, with its subresource after a slash."""
    verb: str


def audited(directory: Path) -> tuple[str, ...]:
    """Return the options of an API server that logs service accounts' requests, without bodies."""
    policy = directory / "audit-policy.yaml"
    rules: list[dict[str, Any]] = [
        {
            "level": "Metadata",
            "userGroups": ["system:serviceaccounts"],
            "omitStages": ["RequestReceived", "ResponseStarted"],
        },
        {"level": "None"},
    ]
    head = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
    policy.write_text(yaml.safe_dump({**head, "rules": rules}), encoding="utf-8")
    said = (str(policy), str(directory / "server" / "audit.log"))
    return tuple(word for pair in zip(OPTIONS, said, strict=True) for word in pair)


def requests_of(server: Path, user: str) -> Iterator[tuple[Used, int]]:
    """Yield what a user has asked of objects so far, and the status code of each answer.

    An apply that makes its object needs the right to create it as well. A watch is logged when it
    ends.
    """
    whole, _, _ = (server / "audit.log").read_text(encoding="utf-8").rpartition("\n")
    for line in whole.splitlines():
        entry = json.loads(line)
        about = entry.get("objectRef")
        if entry["user"]["username"] != user or not about or "resource" not in about:
            continue
        below = f"/{about['subresource']}" if about.get("subresource") else ""
        group, resource = about.get("apiGroup", ""), about["resource"] + below
        code = entry.get("responseStatus", {}).get("code", 0)
        yield Used(group, resource, entry["verb"]), code
        if (entry["verb"], code) == ("patch", CREATED):
            yield Used(group, resource, "create"), code
