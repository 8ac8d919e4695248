"""A fitted model in words: its kernels, which classes share them, and its variances."""

import re
from dataclasses import dataclass

import numpy as np

from logikern.encoding.encoder import Encoder
from logikern.estimators._fitted.frames import rate_names, users
from logikern.kernels import Kernel, leaves
from logikern.numerics.outcome import Array
from logikern.structure.coupling import Coupling, correlations
from logikern.structure.label_kernel import LabelKernel
from logikern.structure.loadings import LabelLoadings
from logikern.structure.specification import Specification
from logikern.structure.tree import Tree
from logikern.structure.tying import tie


@dataclass(frozen=True)
class DescriptionPolicy:
    """Length of a description."""

    # Maximum number of variances in a list; if there are more, only the smallest and the largest are given.
    values: int = 6
    pairs: int = 3  # pairs of classes that are named
    inputs: int = 3  # number of inputs that are named, by largest rate
    characters: int = 30  # longest name of a group of classes
    column_characters: int = 60  # longest name of an input or column


USUAL = DescriptionPolicy()
# Parameters of kernels and models in words.
PARAMETERS = {
    "rate": "inverse squared length scale of the inputs, or inverse length scale of a Laplacian; an input with a "
    "larger rate counts more.",
    "roughness": "the Gaussian's length scale divided by the Laplacian's length scale.",
    "share": "weight of the Laplacian relative to the Gaussian.",
    "variance": "prior variance of the functions; a larger variance allows more certain predictions.",
    "bias variance": "prior variance of the biases, the constant terms of the classes.",
}


# Other words of a table of models and of a plan.
WORDS = {
    "first model": "one of the models with which the search begins. The search refines the best of them.",
    "Gaussian": "kernel for smooth functions; it decays with the squared distance between two rows.",
    "Laplacian": "kernel for functions with steps; it decays with the sum of the absolute differences "
    "between two rows.",
    "Gaussian + Laplacian": "weighted mean of both kernels, called GaussianLaplacian in Python.",
    "standardised": "numbers are scaled to mean 0 and standard deviation 1.",
    "ranks": "numbers are replaced by their ranks, so only their order counts.",
    "unscaled": "numbers are used as they are.",
    "rate per column": "each column has its own rate, instead of one rate for all columns.",
    "kernel product": "product of a kernel matrix with vectors; these products take most of the time.",
    "tolerance": "a fit ends when its gradient is below this value; a smaller tolerance is slower, but more "
    "accurate.",
}


def describe_model(found: Specification, names: Array, unit: str, encoder: Encoder | None) -> list[str]:
    """One line each for kernel, sharing and variances, and for the temperature if there is one.

    Parameters
    ----------
    found : Specification
    names : array of shape (C,)
        Classes or outputs.
    unit : {"class", "output"}
    encoder : Encoder or None
        Encoder of the inputs, for the names of the inputs with the largest rates.
    """
    lines = [_kernels(found.kernels, encoder), sharing(found, unit), f"{_variances(found, names)} {_bias(found)}"]
    if isinstance(found.mixing, Coupling):
        lines.append(_coupling(found, names))
    temperature = found.temperature
    if not temperature.is_neutral:
        values = f"{temperature.certain:.2f} for certain rows, {temperature.uncertain:.2f} for uncertain rows"
        lines.append(f"Inverse temperature: {values}.")
    return lines


def _kernels(kernels: tuple[Kernel, ...], encoder: Encoder | None) -> str:
    """The kind of the kernels, and their parameters as single values or ranges."""
    parts = [type(leaf).__name__ for leaf in leaves(kernels[0])]
    own = type(kernels[0]).__name__
    kind = parts[0] if own == parts[0] else f"{own} of {' and '.join(parts)}"
    found: dict[str, list[float]] = {}
    for kernel in kernels:
        for name, value in zip(kernel.parameter_names, np.exp(kernel.log_parameters), strict=True):
            found.setdefault(name.partition("[")[0], []).append(float(value))
    told = [
        f"{name} {_range(values)}{_inputs(kernels, encoder) * (name == 'rate')}" for name, values in found.items()
    ]
    return f"{'Kernel' if len(kernels) == 1 else f'{len(kernels)} kernels'}: {', '.join([kind, *told])}."


def parameter_terms(kernels: tuple[Kernel, ...], text: str = "") -> list[str]:
    """The meaning of the parameters of these kernels, and of parameters that a text shows as `name=value`."""
    known = {name.partition("[")[0].rpartition(".")[2] for name in kernels[0].parameter_names}
    known |= {"variance", "bias variance"} | set(re.findall(r"\b(\w+)=", text))
    return [f"{name}: {told}" for name, told in PARAMETERS.items() if name in known]


def word_terms(text: str) -> list[str]:
    """The meaning of words that occur in a text about a fit."""
    return [f"{word}: {told}" for word, told in WORDS.items() if re.search(rf"\b{re.escape(word)}s?\b", text)]


def _inputs(kernels: tuple[Kernel, ...], encoder: Encoder | None) -> str:
    """The inputs, or columns of a table, with the largest rates, if each has its own rate."""
    if len(kernels) > 1 or leaves(kernels[0]) != [kernels[0]]:
        return ""
    rates = np.array(getattr(kernels[0], "rate", ()))
    if rates.ndim == 0:
        return " for all inputs"
    if not rates.size:
        return ""
    largest = np.argsort(-rates, kind="stable")[: USUAL.inputs]
    unit = "input" if getattr(kernels[0], "columns", None) is None else "column"
    names = None if encoder is None or encoder.names is None else rate_names(len(rates), encoder)
    named = [
        f"{unit} {place}" if names is None else _short(names[place], USUAL.column_characters) for place in largest
    ]
    return f" (one per {unit}, largest for {', '.join(named)})"


def sharing(found: Specification, unit: str) -> str:
    """Which classes, nodes or outputs share kernels and variances, as a sentence."""
    mixing, tying = found.mixing, found.tying
    if mixing.n_latent == 1:
        return "One kernel and one variance."
    known = ("shared", "scaled", "separate", *mixing.groupings, *(["leaves"] if "leaf" in mixing.groupings else []))
    for name, sentence in sharings_of(found, unit).items():
        if name in known and tie(name, mixing) == tying:
            return sentence
    several = _units(found, unit)[1]
    return f"The {several} are grouped, with {tying.n_kernels} kernels and {tying.n_variances} variances in total."


SHARINGS_OF_LABEL_SETS = {
    "shared": "All functions, of labels and of label sets, share one kernel and one variance.",
    "level": "All functions share one kernel; functions of labels have one variance, and label sets have another.",
    "leaf": "All functions share one kernel; functions of labels have one variance, and each label set has its own.",
    "separate": "All functions of labels share one kernel and one variance; all functions of label sets share "
    "another kernel and variance.",
    "leaves": "Functions of labels share a kernel and a variance; each label set has its own kernel and variance.",
}


SHARINGS_OF_LABEL_KERNELS = {
    "shared": "The covariance of two classes is the product of one kernel, one variance and the label kernel.",
    "level": "One kernel; the part that classes share has one variance, and class-specific parts have another.",
    "leaf": "One kernel; the part that classes share has one variance, and each class-specific part has its own.",
    "separate": "The part that classes share has one kernel and one variance; all class-specific parts share another "
    "kernel and variance.",
    "leaves": "The part that classes share and each class-specific part have their own kernel and variance.",
}
OTHER_SHARINGS: dict[type, dict[str, str]] = {
    LabelLoadings: SHARINGS_OF_LABEL_SETS,
    LabelKernel: SHARINGS_OF_LABEL_KERNELS,
}


def sharings_of(found: Specification, unit: str) -> dict[str, str]:
    """Names of tyings, and a sentence about each."""
    if type(found.mixing) in OTHER_SHARINGS:
        return OTHER_SHARINGS[type(found.mixing)]
    one, several = _units(found, unit)
    return {
        "shared": f"All {several} share one kernel and one variance.",
        "level": f"All {several} share one kernel; each level has its own variance.",
        "subtree": f"All {several} share one kernel; each subtree below the root has its own variances.",
        "scaled": f"All {several} share one kernel; each {one} has its own variance.",
        "separate": f"Each {'level of the tree' if one == 'node' else one} has its own kernel and variance.",
        "leaf": f"All {several} share one kernel; each level of inner nodes and each leaf has its own variance.",
        "leaves": "Each level of inner nodes and each leaf has its own kernel and variance.",
    }


def _coupling(found: Specification, names: Array) -> str:
    """Number of factors, and the most and least similar classes a priori, as sentences."""
    assert isinstance(found.mixing, Coupling)
    n_factors = found.mixing.n_factors
    between = np.tril(correlations(found.mixing, found.latent_variances), -1)
    order = np.argsort(between, axis=None)
    told = [_pairs(between, chosen, names) for chosen in (order[::-1][: USUAL.pairs], order[: USUAL.pairs])]
    what = "One learned factor couples" if n_factors == 1 else f"{n_factors} learned factors couple"
    return f"{what} the classes. Most similar a priori: {told[0]}. Least similar: {told[1]}."


def _pairs(between: Array, chosen: Array, names: Array) -> str:
    """Pairs of classes with their correlations."""
    places = zip(*np.unravel_index(chosen, between.shape), strict=True)
    return ", ".join(f"{names[two]} and {names[one]} ({between[one, two]:z.2f})" for one, two in places)


def _units(found: Specification, unit: str) -> tuple[str, str]:
    """The word for things that have a function each, in singular and plural."""
    if isinstance(found.mixing, Tree):
        return "node", "nodes of the tree"
    return unit, "classes" if unit == "class" else f"{unit}s"


def _variances(found: Specification, names: Array) -> str:
    values = found.variances
    if len(values) == 1:
        return f"Variance: {values[0]:.3g}."
    if len(values) > USUAL.values:
        return f"Variances: {len(values)} values from {_range(list(values), '')}."
    told = [
        f"{value:.3g} ({_short(users(found.tying.variance_of, number, found, names))})"
        for number, value in enumerate(values)
    ]
    return f"Variances: {', '.join(told)}."


def _bias(found: Specification) -> str:
    if np.isinf(found.bias_variance):
        return "Biases are not penalised."
    return f"Bias variance: {found.bias_variance:.3g}." if found.bias_variance else "There are no biases."


def _range(values: list[float], before: str = "from ") -> str:
    low, high = min(values), max(values)
    return f"{low:.3g}" if len(values) == 1 else f"{before}{low:.3g} to {high:.3g}"


def _short(name: str, length: int = USUAL.characters) -> str:
    return name if len(name) <= length else f"{name[: length - 3]}..."
