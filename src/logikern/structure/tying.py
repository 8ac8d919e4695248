"""Which latent functions share a kernel, and which a variance."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from logikern.structure.mixing import Mixing


@dataclass(frozen=True)
class Tying:
    """Which kernel and which variance each latent function uses."""

    kernel_of: tuple[int, ...]  # number of the kernel of each function
    variance_of: tuple[int, ...]  # number of the variance of each function

    @property
    def n_kernels(self) -> int:
        return max(self.kernel_of) + 1

    @property
    def n_variances(self) -> int:
        return max(self.variance_of) + 1


def ever_finer(mixing: Mixing) -> tuple[str, ...]:
    """Names of tyings from coarse to fine, in the order in which "auto" tries them."""
    if "level" in mixing.groupings:
        return ("shared", "level", "leaf", "separate", "leaves")
    return ("shared", "scaled", "separate")


def tie(tying: str | Sequence[Any] | Mapping[Any, Any], mixing: Mixing) -> Tying:
    """Read `tying`, which is a name or has a group label for each latent function.

    Without a hierarchy, "shared": one kernel with one variance (mc-tied of Seeger 2008, sec. 6.2); "scaled": one
    kernel, a variance per class (mc-semi); "separate": a kernel and a variance per class (mc-sep).

    With a tree, "shared" as before; "level": one kernel, a variance per level (H1 of Seeger 2008, sec. 6.1);
    "subtree": one kernel, and for each subtree below the root one variance for inner nodes and one for leaves (H2 has
    one for both); "leaf": one kernel, a variance per level of inner nodes and per leaf; "scaled": one kernel, a
    variance per node; "separate": a kernel and a variance per level; "leaves": a kernel and a variance per level of
    inner nodes and per leaf.

    A list, or for a tree a dict from node to group: a kernel and a variance per group.
    """
    if isinstance(tying, str):
        named = _named(mixing)
        if tying not in named:
            near = difflib.get_close_matches(tying.lower(), ["auto", *named], n=1)
            raise ValueError(
                f"`tying` must be one of {['auto', *sorted(named)]}, or a list with one group for each "
                f"{mixing.unit}, but is {tying!r}." + (f" Did you mean {near[0]!r}?" if near else "")
            )
        return named[tying]
    groups = _numbered(_group_labels(tying, mixing))
    return Tying(groups, groups)


def _named(mixing: Mixing) -> dict[str, Tying]:
    n = mixing.n_latent
    together, alone = (0,) * n, tuple(range(n))
    groups = {name: _numbered(labels.tolist()) for name, labels in mixing.groupings.items()}
    finest = groups.get("level", alone)
    leaves = {"leaves": Tying(groups["leaf"], groups["leaf"])} if "leaf" in groups else {}
    return {
        "shared": Tying(together, together),
        "scaled": Tying(together, alone),
        "separate": Tying(finest, finest),
        **{name: Tying(together, own) for name, own in groups.items()},
        **leaves,
    }


def _numbered(labels: Any) -> tuple[int, ...]:
    """Numbers from 0 in the order of first use."""
    numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
    return tuple(numbers[label] for label in labels)


def _group_labels(tying: Any, mixing: Mixing) -> list[Any]:
    try:
        labels = mixing.inherit_groups(tying) if isinstance(tying, Mapping) else list(tying)
        dict.fromkeys(labels)
    except TypeError:
        raise ValueError(
            f"`tying` must be a name or a list with one hashable group label for each {mixing.unit}, but is "
            f"{tying!r}. Use numbers or strings as labels."
        ) from None
    if len(labels) != mixing.n_latent:
        raise ValueError(
            f"`tying` as a list must have one group label for each {mixing.unit} ({mixing.n_latent}), but has "
            f"{len(labels)}. Pass them in the order of `classes_`, or of `tree_.branches` for a hierarchy."
        )
    return labels
