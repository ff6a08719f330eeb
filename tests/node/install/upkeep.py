"""The CronJobs of the chart on the node: seals and archives on volumes, signed, and then judged.

With the values that docs/howto/archive.md shows. The volumes are folders of the node.
"""

import os
import re
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.node.install.page import ROOT
from tests.node.install.shell import Shell

PAGE = ROOT / "docs" / "howto" / "archive.md"
CLAIMS = ("jobledger-seals", "jobledger-archive")
"""As the page calls them."""
NOBODY = 65532
"""Whose the image's program is; a folder of the node is given to nobody by `fsGroup`."""
AT_ONCE = "--set archive.olderThan=1s --set archive.failedOlderThan=1s"
UP_AGAIN = "--set image.tag=0.2.0"
WAIT = "kubectl -n jobledger wait job/{name} --for=condition=Complete --timeout=10m"


def seal_and_archive(shell: Shell, folder: Path, ledger: str) -> None:
    """Have a CronJob seal and another archive what is over, and hold the files against the log.

    Args:
        shell: in the checkout of the chart.
        folder: for the volumes and the key.
        ledger: the URL of the database on this machine.

    Raises:
        AssertionError: a Job fails, or `verify` finds something.
    """
    volumes = {claim: folder / "volumes" / claim for claim in CLAIMS}
    for claim, path in volumes.items():
        path.mkdir(parents=True)
        os.chown(path, NOBODY, NOBODY)
        manifest = folder / f"{claim}.yaml"
        manifest.write_text(yaml.safe_dump_all(_volume(claim, path)), encoding="utf-8")
        shell.run(f"kubectl apply -f {manifest}")
    program, key = Path(sys.executable).parent / "jobledger", folder / "seal.pem"
    shell.run(f"{program} seal key {key}")
    shell.run(
        f"kubectl -n jobledger create secret generic jobledger-seal-key --from-file=seal.pem={key}"
    )
    values = folder / "values.yaml"
    [block] = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    values.write_text(block, encoding="utf-8")
    upgrade = "helm upgrade jobledger ops/chart --namespace jobledger --reset-then-reuse-values"
    shell.run(f"{upgrade} {UP_AGAIN} --values {values} {AT_ONCE}")
    shell.run("kubectl -n jobledger rollout status deploy/jobledger")
    shell.run("kubectl -n try-it delete rayjobs,trainjobs --all")
    for part in ("seals", "archive"):
        name = f"{part}-now"
        shell.run(f"kubectl -n jobledger create job {name} --from=cronjob/jobledger-{part}")
        shell.run(WAIT.format(name=name))
    seals, archive = volumes.values()
    told = f"--seals {seals} --archives {archive} --key {key}.pub"
    shell.run(f"DATABASE_URL={ledger} {program} verify {told}")
    files = [path.name for path in archive.glob("archive-*.jsonl.gz")]
    assert files, "the CronJob has archived nothing"


def _volume(name: str, path: Path) -> list[dict[str, Any]]:
    """Return a volume that is a folder of the node, and the claim on it."""
    asked = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    size = {"storage": "1Gi"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {**asked, "capacity": size, "hostPath": {"path": str(path)}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "jobledger"},
        "spec": {**asked, "volumeName": name, "resources": {"requests": size}},
    }
    return [volume, claim]
