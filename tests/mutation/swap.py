"""A plugin of pytest: one file of `core/` is imported with a mistake in it."""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutation.mutants import mutated
from tests.mutation.runner import WANTED


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        del fullname
        path, number = os.environ[WANTED].split()
        tree = mutated(Path(path).read_text(encoding="utf-8"), int(number))
        return compile(tree, self.path, "exec")


class _Finder:
    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module is, with a loader that makes the mistake if it is that one."""
        if not name.startswith("jobledger.core"):
            return None
        found = PathFinder.find_spec(name, path, target)
        wanted = os.environ[WANTED].split()[0]
        if found is not None and str(found.origin).endswith(f"/{wanted}"):
            found.loader = _Loader(name, str(found.origin))
        return found


sys.meta_path.insert(0, _Finder)
