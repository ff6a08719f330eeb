"""Makes the files of `ops/` that follow from the code: `python -m ops.made`, `--check` to compare.

`make helm` comes before it: the objects for `kubectl apply -k` are the chart's.
"""

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from ops.made.alerts import alerts_file
from ops.made.bill import bill
from ops.made.contents import CONTENTS
from ops.made.dashboards import DASHBOARDS
from ops.made.kustomization import kustomized
from ops.made.licences import licences_page
from ops.made.values_schema import values_schema

OPS = Path(__file__).resolve().parents[1]

FILES: Mapping[str, Callable[[], str]] = {
    "chart/values.schema.json": values_schema,
    "prometheus/alerts.yaml": alerts_file,
    **{f"grafana/{name}": make for name, make in DASHBOARDS.items()},
    "image/licences.md": licences_page,
    **{f"image/sbom-{contents}.cdx.json": partial(bill, contents) for contents in CONTENTS},
    "kustomize/jobledger.yaml": lambda: kustomized(os.environ),
}
"""File below `ops/` -> what makes it, in an order in which each finds what it needs."""


def stale(name: str) -> bool:
    """Tell whether a file is not what the code says."""
    place = OPS / name
    return not place.is_file() or place.read_text(encoding="utf-8") != FILES[name]()


def main(words: list[str]) -> int:
    """Write all files, or tell which are not as they would be written."""
    if words == ["--check"]:
        found = [name for name in FILES if stale(name)]
        for name in found:
            sys.stderr.write(f"ops/{name} is not what `python -m ops.made` makes\n")
        return bool(found)
    for name, make in FILES.items():
        (OPS / name).parent.mkdir(exist_ok=True)
        (OPS / name).write_text(make(), encoding="utf-8")
        sys.stdout.write(f"ops/{name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
