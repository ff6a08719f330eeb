"""Run all stories beside upstream's operators: `make test-operators`.

A program that is missing fails the run, and so does a story that is skipped. A run that passes
writes its rows of docs/compatibility.md; with arguments (`-k retrying`) some stories are run, and
the rows of the others stay.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.apiserver.build import CannotBuild, assets, jobset_controller, version
from tests.operators.build import OPERATORS
from tests.operators.results import PAGE, all_stories, listed, load, page

NOT_ALL = 1


def missing() -> list[str]:
    """Return what is not built yet, and how to build it."""
    found = []
    if assets(os.environ) is None or jobset_controller(os.environ) is None:
        found.append("there is no API server or no JobSet controller: run `make apiserver`")
    for operator in OPERATORS:
        try:
            operator.built(os.environ)
        except CannotBuild as problem:
            found.append(str(problem))
    return found


def main() -> int:
    """Run the stories; return 0 if all of them passed."""
    problems = missing()
    if problems:
        sys.stderr.write("\n".join(problems) + "\n")
        return NOT_ALL
    chosen = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        results = Path(directory) / "results.json"
        environment = {
            **os.environ,
            "JOBLEDGER_NEEDS_OPERATORS": "1",
            "JOBLEDGER_OPERATOR_RESULTS": str(results),
        }
        command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "tests/operators", *chosen]
        code = subprocess.call(command, env=environment)
        seen = load(results) if results.is_file() else []
    if code or any(item.verdict != "passed" for item in seen):
        sys.stderr.write("not every story passed: docs/compatibility.md is left as it is\n")
        return code or NOT_ALL
    programs = {one.source: one.release for one in OPERATORS} | {"k8s.io/kubernetes": version()}
    before = PAGE.read_text(encoding="utf-8") if PAGE.is_file() else ""
    text = page(seen, programs, before)
    if listed(text) != all_stories():
        sys.stderr.write(f"stories have not run: {sorted(all_stories() - listed(text))}\n")
        return NOT_ALL
    PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
