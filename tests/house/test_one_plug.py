"""One kind of job, one plug: outside its folders and the registration nothing names it."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from jobledger.core.kinds import KINDS

ROOT = Path(__file__).parents[2]
HOMES = tuple(
    f"{folder}/{kind}/"
    for folder in ("core", "adapters/kinds")
    for kind in ("rayjob", "trainjob", "batchjob")
)

NAMERS: Mapping[str, str] = {
    "core/kinds.py": "the registration",
    "adapters/kinds/registry.py": "the registration",
    "adapters/kinds/admission.py": "the registration of webhooks",
    "adapters/kinds/checks.py": "the registration of checks",
    "adapters/settings.py": "the registration of names that settings take",
    "core/ports/cluster.py": "the words of the Kubernetes API",
    "adapters/wiring.py": "upstream's own metrics of RayJobs, and the client of Ray's job API",
    "adapters/progress_wiring.py": "a process for TrainJobs alone",
}
"""File -> why it may name a kind of job."""

MODULE = re.compile(r"\.(?:core|adapters\.kinds)\.(?:rayjob|trainjob|batchjob)\b")
NAME = re.compile(r"(?:RAYJOB|TRAINJOB|BATCHJOB)(?:S|_\w+)?")
SUBMITTERS_TOO = "Job"
"""A kind of job that is also the kind of what is made for others; its name alone says nothing."""
WORDS = {
    word
    for name, kind in KINDS.items()
    if name != SUBMITTERS_TOO
    for word in (name, kind.resource.plural)
}


def named_in(path: Path) -> Iterator[str]:
    """Yield the kinds of job that the code of a file names, with the lines; prose is free to."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names):
                taken = [one.name for one in names if NAME.fullmatch(one.name)]
                if MODULE.search(module) or taken:
                    yield f"{node.lineno} {module} {taken}"
            case ast.Constant(value=str(value)) if value in WORDS:
                yield f"{node.lineno} {value!r}"


def product() -> Iterator[tuple[str, Path]]:
    for folder in ("core", "adapters"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path


def test_only_the_folders_of_a_kind_and_the_registration_name_it() -> None:
    naming = {
        name: found
        for name, path in product()
        if not name.startswith(HOMES) and (found := list(named_in(path)))
    }
    assert {name: found for name, found in naming.items() if name not in NAMERS} == {}
    assert sorted(set(NAMERS) - set(naming)) == [], "an exception that nothing needs any more"
