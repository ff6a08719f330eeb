"""Cases as they stand in `cases/*.toml`, read and held against their vocabulary.

A case is a table `[[case]]`:

* `title`, `kind` (RayJob, TrainJob or Job) and `story`, one of `stories.STORIES` for its kind;
* `cause`, a name of `causes.toml`; `says`, the sentence of an engineer; `quote`, what of the
  evidence must be quoted; `cites`, where that stands, one of `judging.PLACES`;
* `also`, other lines that answer as well, wherever they stand;
* `log.<whose>`, the end of a log: `driver`, `submitter`, or the role of a Pod;
* `pods` and `events`, one sentence each (`evidence.py`); `missing`, what could not be had;
* `code`, `message`, `reason`, `trouble`: what the story leaves open;
* `blind`: written before the rules of `core.forensics` were read by who wrote it;
* `second`: written once the rules had been mended by the cases before, and counted before they were
  touched again;
* `missed`: why explain does not find it yet. The test fails when it does.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "cases"
CAUSES = Path(__file__).parent / "causes.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A case of the corpus; the module says what its fields hold."""

    title: str
    kind: str
    story: str
    cause: str
    says: str
    quote: str
    cites: str
    theme: str
    """Name of the file that it stands in."""
    log: Mapping[str, str]
    also: tuple[str, ...] = ()
    pods: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    code: int | None = 1
    message: str = ""
    reason: str = ""
    trouble: str = ""
    blind: bool = False
    second: bool = False
    third: bool = False
    missed: str = ""

    @property
    def failure_class(self) -> str:
        """Return the class that explain has to name; raise `KeyError` for an unknown cause."""
        return causes()[self.cause]


@cache
def causes() -> Mapping[str, str]:
    """Return what the corpus calls a cause -> the class of failures that tells it."""
    read: dict[str, str] = tomllib.loads(CAUSES.read_text(encoding="utf-8"))
    return read


def failures() -> Iterator[Failure]:
    """Yield all cases. Raise `ValueError` for one that has an unknown field or lacks one."""
    for path in sorted(FOLDER.glob("*.toml")):
        for table in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            yield _read(table, path.stem)


def _read(table: dict[str, object], theme: str) -> Failure:
    unknown = table.keys() - {field.name for field in fields(Failure)}
    if unknown:
        raise ValueError(f"{table.get('title')} in {theme}: unknown {sorted(unknown)}")
    lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
    known = {"log": {}, "quote": "", "cites": "", **table, **lists}
    try:
        return Failure(theme=theme, **known)  # type: ignore[arg-type] # fields by name
    except TypeError as error:
        raise ValueError(f"{table.get('title')} in {theme}: {error}") from error
