"""Images: none is pulled here, but one that no registry can have is not to be had here either.

So the story of an image that cannot be pulled can be told without a registry. Source of reasons and
texts: kubelet, pkg/kubelet/images.
"""

from jobledger.core.values.documents import Json, text

UNREACHABLE_DOMAIN = "invalid"
"""Top-level domain that never exists (RFC 2606): a registry below it has no image."""

PULL_RETRY_SECONDS = 1.0
"""Until an image is tried again (a real kubelet: 10 seconds, doubling up to 300)."""


def pull_trouble(container: Json, before: str) -> tuple[str, str] | None:
    """Return why a container's image is not to be had, as reason and message; None if it is.

    `before` is the reason for which the container has waited so far.
    """
    image = text(container, "image")
    registry, slash, _ = image.partition("/")
    host = registry.partition(":")[0]
    if not slash or host.rpartition(".")[2] != UNREACHABLE_DOMAIN:
        return None
    if text(container, "imagePullPolicy") == "Never":
        said = f'Container image "{image}" is not present with pull policy of Never'
        return "ErrImageNeverPull", said
    cause = f'failed to pull image "{image}": lookup {host}: no such host'
    if before in ("ErrImagePull", "ImagePullBackOff"):
        return "ImagePullBackOff", f'Back-off pulling image "{image}": ErrImagePull: {cause}'
    return "ErrImagePull", cause
