"""For mkdocstrings: what griffe must know about logikern to document it."""

import ast
import re
from collections.abc import Iterator

import griffe

# Choices of a parameter; griffe drops what follows them: `criterion : {"cv", "loo"}, callable or None, default="cv"`.
CHOICES = re.compile(r"^(\w+(?:, \w+)* : )\{([^}\n]*)\}", re.MULTILINE)


def own_objects(parent: griffe.Object) -> Iterator[griffe.Object]:
    """Everything that is defined in a package."""
    for member in parent.members.values():
        if not member.is_alias:
            yield member
            yield from own_objects(member)


class Exports(griffe.Extension):
    """Adds the public names, which are imported on first use, so that pages can say `::: logikern.Gaussian`."""

    def on_package(self, *, pkg: griffe.Module, **_: object) -> None:
        if pkg.name != "logikern":
            return
        for own in own_objects(pkg):
            if own.docstring is not None:
                own.docstring.value = CHOICES.sub(r"\1\2", own.docstring.value)
        exports = ast.literal_eval(str(pkg["_EXPORTS"].value))
        for module, names in exports.items():
            for name in names:
                pkg.set_member(name, griffe.Alias(name, target=f"logikern.{module}.{name}", parent=pkg))
