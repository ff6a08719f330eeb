"""The contract that `core` imports the standard library and one library of values only."""

import sys

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def list_of(field: object) -> list[str]:
    """Return the values of a field of a contract; the library replaces the field by its value."""
    assert isinstance(field, list)
    return field


def _inside(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == package or module.startswith(f"{package}.") for package in packages)


class StandardLibraryOnly(Contract):
    """Modules that import the standard library without some of it, and the libraries named."""

    type_name = "stdlib_only"

    source_modules = fields.ListField(subfield=fields.StringField())
    except_modules = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    and_modules = fields.ListField(subfield=fields.StringField(), required=False, default=[])

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002 the library's signature
        """Return whether the contract holds, and every import that breaks it."""
        roots = tuple(map(str, list_of(self.source_modules)))
        banned = set(map(str, list_of(self.except_modules)))
        libraries = set(map(str, list_of(self.and_modules)))
        broken = []
        for module in sorted(graph.modules):
            if not _inside(module, roots):
                continue
            for imported in sorted(graph.find_modules_directly_imported_by(module)):
                top = imported.split(".")[0]
                allowed = (
                    _inside(imported, roots)
                    or (top in sys.stdlib_module_names and top not in banned)
                    or top in libraries
                )
                if not allowed:
                    broken.append(f"{module} imports {imported}")
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print what breaks the contract."""
        for line in check.metadata["broken"]:
            output.print_error(line)
