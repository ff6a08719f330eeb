"""What became of which mutant, kept in a file, so that a run that was stopped goes on."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.mutation.mutants import Mutant
from tests.mutation.runner import Fate


@dataclass
class Records:
    """The file. A mutant's fate is forgotten when its source or any test has changed."""

    file: Path
    root: Path
    tests: str
    """Digest of the tests."""
    _fates: dict[str, Fate] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.file.exists():
            for line in self.file.read_text(encoding="utf-8").splitlines():
                kept = json.loads(line)
                self._fates[kept["key"]] = kept["fate"]

    def known(self, mutant: Mutant) -> Fate | None:
        """Return what became of a mutant, if it was tried."""
        return self._fates.get(self._key(mutant))

    def note(self, mutant: Mutant, fate: Fate) -> None:
        """Keep what became of a mutant."""
        key = self._key(mutant)
        self._fates[key] = fate
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "fate": fate, **asdict(mutant)}) + "\n")

    def _key(self, mutant: Mutant) -> str:
        if mutant.path not in self._sources:
            self._sources[mutant.path] = digest_of([self.root / mutant.path])
        return f"{self._sources[mutant.path]} {self.tests} {mutant.path} {mutant.number}"


def digest_of(files: list[Path]) -> str:
    """Return a short digest of what stands in files."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
