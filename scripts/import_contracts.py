"""The contract that other code imports a capability through its package alone.

import-linter reads it from pyproject.toml. Source: docs/architecture.md, capabilities
"""

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PublicInterfaceContract(Contract):
    """Keeps the modules of each capability private to its folder.

    `capabilities` are folder names, `layers` the packages that have folders of these names.
    """

    type_name = "public_interface"

    layers = fields.ListField(subfield=fields.StringField())
    capabilities = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: ARG002, FBT001 - the library's
        """Return the imports that reach into the folder of a capability."""
        packages = {
            f"{layer}.{capability}"
            for layer in self.layers  # type: ignore[attr-defined] # a descriptor of the library
            for capability in self.capabilities  # type: ignore[attr-defined] # the same
        }
        found = sorted(
            f"{importer} -> {module}"
            for package in packages & graph.modules
            for module in graph.find_descendants(package)
            for importer in graph.find_modules_that_directly_import(module)
            if importer != package and not importer.startswith(f"{package}.")
        )
        return ContractCheck(kept=not found, metadata={"found": found})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one import a line."""
        for line in check.metadata["found"]:
            output.print_error(line)
