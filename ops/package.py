"""How `core`, `adapters` and `sandbox` of a checkout become one installed package, `jobledger`.

A wheel has the folders below `jobledger/`, and with them what a checkout keeps elsewhere. For an
editable install `build/package/jobledger` is made of links, so that a change takes effect at once
and type checkers find every module under the name that it is imported by.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = Path("build/package/jobledger")
WHEELS_FRONT = Path("build/front_of_wheel.py")
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
__commit__ = "{commit}"
'''


def commit_of(root: Path) -> str:
    """Return the commit that is built: REVISION says it where there is no history, as in an image.

    Empty if nobody knows.
    """
    given = os.environ.get("REVISION", "").strip()
    if given or not (root / ".git").exists():
        return given
    words = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 no shell
    except OSError:  # there is no git
        return ""
    return done.stdout.strip()


class OnePackage(BuildHookInterface):  # type: ignore[type-arg]  # hatchling loads it by its base
    """Called by hatchling for each wheel, and for an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the package's front; link the parts beside it, or have them copied."""
        root = Path(self.root)
        place = root / PACKAGE
        place.mkdir(parents=True, exist_ok=True)
        is_wheel = version != "editable"
        # Not the front of the checkout, which is of whatever commit is checked out.
        front = root / WHEELS_FRONT if is_wheel else place / "__init__.py"
        commit = commit_of(root) if is_wheel else ""
        filled = FRONT.format(version=self.metadata.version, commit=commit)
        front.write_text(filled, encoding="utf-8")
        if not is_wheel:
            for part in PARTS:
                link = place / part
                link.unlink(missing_ok=True)
                link.symlink_to(Path("../../..") / part)
            return
        build_data["force_include"] |= {
            str(front): "jobledger/__init__.py",
            **{str(root / kept): f"jobledger/{goal}" for kept, goal in KEPT_ELSEWHERE.items()},
        }
