"""Models of one tree with the hyperparameters of another tree over the same classes, or of independent classes."""

from dataclasses import replace

import numpy as np

from logikern.kernels import Kernel
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import Tying, tie


def start_on_tree(flat: Specification, origin: Specification, tree: Tree) -> Specification:
    """One kernel and one variance for a tree, whose class functions have the mean variance of the flat ones.

    The kernel has the form of the first model of the flat search, `origin`: if the flat model has a rate per column,
    the search with the tree must show again that rates per column are better. If they were free parameters of its
    first model, they would overfit the rows of the search.
    """
    length = float(tree.forward_diagonal(np.ones((tree.n_latent, 1))).mean())
    variance = float(np.exp(np.mean(np.log(flat.latent_variances)))) / length
    kernel = _mean_kernel(flat.kernels, origin.kernels[0])
    return replace(flat, kernels=(kernel,), variances=(variance,), tying=tie("shared", tree), mixing=tree)


def _mean_kernel(kernels: tuple[Kernel, ...], form: Kernel) -> Kernel:
    """The kernel of a form with the mean log parameters of kernels that may have a rate for each column."""
    found: dict[str, list[float]] = {}
    for kernel in kernels:
        for name, value in zip(kernel.parameter_names, kernel.log_parameters, strict=True):
            for own in {name, name.partition("[")[0]}:
                found.setdefault(own, []).append(float(value))
    logs = [float(np.mean(found[name])) for name in form.parameter_names]
    return form.with_log_parameters(np.array(logs)) if logs else form


def carry_to(found: Specification, tree: Tree) -> Specification:
    """The model of another tree: leaves keep their kernel and variance, inner nodes get the values of their level.

    If a level has no function in the first tree, the next one above is used, or else the first one below.
    """
    before = found.mixing
    assert isinstance(before, Tree)
    names = before.classes.tolist()
    leaf_of = {name: int(latent) for name, latent in zip(names, before.leaf_latents, strict=True)}
    ends = dict(zip(tree.leaf_latents.tolist(), tree.classes.tolist(), strict=True))
    origins = [
        [leaf_of[ends[latent]]] if latent in ends else _on_level(before, int(depth))
        for latent, depth in enumerate(tree.latent_depths)
    ]
    kernel_of = tuple(found.tying.kernel_of[own[0]] for own in origins)
    used = sorted(set(kernel_of))
    variances = [float(np.exp(np.mean(np.log(found.latent_variances[own])))) for own in origins]
    return replace(
        found,
        kernels=tuple(found.kernels[number] for number in used),
        variances=tuple(variances),
        tying=Tying(tuple(used.index(number) for number in kernel_of), tuple(range(tree.n_latent))),
        mixing=tree,
    )


def _on_level(tree: Tree, depth: int) -> list[int]:
    """Latent functions of inner nodes at a depth, or at the nearest depth above or below that has such functions."""
    is_inner = ~np.isin(np.arange(tree.n_latent), tree.leaf_latents)
    depths = tree.latent_depths
    inner = np.flatnonzero(is_inner)
    if not inner.size:
        inner = np.arange(tree.n_latent)
    away = np.where(depths[inner] <= depth, depth - depths[inner], depths[inner] + tree.n_latent)
    return inner[away == away.min()].tolist()
