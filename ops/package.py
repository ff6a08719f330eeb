"""How `core`, `adapters` and `sandbox` of a checkout become one installed package, `jobledger`.

A wheel has the folders below `jobledger/`, and with them what a checkout keeps elsewhere. For an
editable install `build/package/jobledger` is made of links, so that a change takes effect at once
and type checkers find every module under the name that it is imported by.
"""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("build/package/jobledger")
PARTS = ("core", "adapters", "sandbox")
KEPT_ELSEWHERE = {
    "migrations": "adapters/postgres/migrations",
    "ops/samples": "sandbox/samples",
    "ops/crds": "sandbox/crds",
    "ops/rbac.yaml": "adapters/kube/checks/rbac.yaml",
    "ops/rbac-recorder.yaml": "adapters/kube/checks/rbac-recorder.yaml",
    "ops/trainer-status.yaml": "adapters/kube/checks/trainer-status.yaml",
}
"""What the package needs and the checkout has at another place, relative to `jobledger/`."""
FRONT = '''"""A Kubernetes controller for RayJob and TrainJob whose memory is a log of events.

`jobledger.core` has the rules, `jobledger.adapters` what touches the world, `jobledger.sandbox` a
small world to try it in.
"""

__version__ = "{version}"
'''


class OnePackage(BuildHookInterface):  # type: ignore[type-arg]  # hatchling loads it by its base
    """Called by hatchling for each wheel, and for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package's front; link the parts beside it, or have them copied."""
        root = Path(self.root)
        place = root / PACKAGE
        place.mkdir(parents=True, exist_ok=True)
        front = place / "__init__.py"
        front.write_text(FRONT.format(version=self.metadata.version), encoding="utf-8")
        if version == "editable":
            for part in PARTS:
                link = place / part
                link.unlink(missing_ok=True)
                link.symlink_to(Path("../../..") / part)
            return
        build_data["force_include"] |= {
            str(front): "jobledger/__init__.py",
            **{str(root / kept): f"jobledger/{goal}" for kept, goal in KEPT_ELSEWHERE.items()},
        }
