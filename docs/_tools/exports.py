"""For mkdocstrings: makes the public names of logikern, which are imported on first use, known to griffe."""

import ast

import griffe


class Exports(griffe.Extension):
    """Adds an alias for every name in `_EXPORTS` of the package, so that pages can say `::: logikern.Gaussian`."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        if pkg.name != "logikern":
            return
        exports = ast.literal_eval(str(pkg["_EXPORTS"].value))
        for module, names in exports.items():
            for name in names:
                pkg.set_member(name, griffe.Alias(name, target=f"logikern.{module}.{name}", parent=pkg))
