"""What a `fieldRef` names in a Pod.

Source: the fields that the downward API supports (Kubernetes, core/v1 ObjectFieldSelector).
"""

import re

from jobledger.core.values.documents import Manifest, child, text

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


def field_text(pod: Manifest, path: str, ip: str) -> str:
    """Return the text of a Pod's field; empty for one that is absent or not known.

    `ip` is the Pod's address, which its status may not show yet.
    """
    keyed = _KEYED.fullmatch(path)
    if keyed:
        return text(pod, "metadata", keyed.group(1), keyed.group(2))
    if path in ("metadata.labels", "metadata.annotations"):
        entries = child(pod, *path.split("."))
        return "\n".join(f'{key}="{value}"' for key, value in sorted(entries.items()))
    if path in ("status.podIP", "status.podIPs"):
        return ip or text(pod, "status", "podIP")
    if path in ("status.hostIP", "status.hostIPs"):
        return "127.0.0.1"
    return text(pod, *path.split("."))
