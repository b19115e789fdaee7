"""A contract for import-linter: private modules are imported within their own package only."""

import grimp
from importlinter import Contract, ContractCheck, fields, output


class PrivateModules(Contract):
    """Forbid imports of modules with a leading underscore from outside of the package they lie in.

    Configuration options:
        - shared_packages: private packages that everybody may import, with the public modules in them.
    """

    type_name = "private_modules"

    shared_packages = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        broken = [
            (importer, imported)
            for importer in sorted(graph.modules)
            for imported in sorted(graph.find_modules_directly_imported_by(importer))
            if (owner := self._owner(imported)) and not f"{importer}.".startswith(f"{owner}.")
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        for importer, imported in check.metadata["broken"]:
            output.print_error(f"{importer} imports {imported}")

    def _owner(self, module: str) -> str | None:
        """Return the package of the first private part of a module's name, None if all of it is public."""
        for package in self.shared_packages:
            if module == package or module.startswith(f"{package}."):
                module = module.removeprefix(package)
        parts = module.split(".")
        private = [i for i, part in enumerate(parts) if part.startswith("_")]
        return ".".join(parts[: private[0]]) if private else None
