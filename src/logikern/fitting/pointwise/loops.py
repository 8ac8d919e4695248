"""The dual solved one point at a time, all of its classes together: loops for the compiler.

With features x of the points, the weighed features z = sum_i x_i dual_i' say all about the other points that one of
them needs to know: its latents are A(z' x) plus the bias, A the tree of variances. Its own shares q are then the
softmax of latents that depend on them in turn, which is solved by Newton's method in time linear in the number of
latent functions. Everything here is plain Python; `compiled` makes it fast.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array, Indices

# Of the residual with which a visit begins, and of an error that latents may feel: what it may leave; this error.
VISIT_FALL, FELT = 0.1, 1.0
MOST_NEWTON = 20
# Of a step's promise what it must hold, the rounding of losses, and the shortest step.
SUFFICIENT, LOSS_ROUNDING, SHORTEST = 1e-4, 1e-9, 1e-6
# Of exponentials: the least argument, and how floats keep integers and powers of two.
LOG_2, LOWEST = math.log(2.0), -700.0
LAST_BITS, EXPONENT_OF_ONE = 1.5 * 2.0**52, 1023


class Rows(NamedTuple):
    """Features of the points, and the covariance between classes of points with the inner product one.

    Attributes
    ----------
    starts, words : integer arrays
        Where the features of each point begin, (n + 1,), and which they are.
    values : array
    own : array of shape (n,)
        Of each point the inner product with itself.
    variances : array of shape (C,)
        Of the function of each class alone.
    bias : float
        Variance of each class's constant.
    above : integer array of shape (C,)
        The inner function right above each class.
    runs : integer array of shape (R, 2)
        Where classes that follow one another below the same inner function begin and end, but for the root's.
    inner_variances : array of shape (I,)
        Of the inner functions, from the top down; the first is the root of all, zero everywhere.
    uppers : integer array of shape (I,)
        The inner function above each; the first has none.
    """

    starts: Indices
    words: Indices
    values: Array
    own: Array
    variances: Array
    bias: float
    above: Indices
    runs: Indices
    inner_variances: Array
    uppers: Indices


def couple(per_class: Array, rows: Any, sums: Array) -> None:
    """Mixing diag(variances) Mixing' applied in place; `sums` (I,) is overwritten."""
    n_inner = len(rows.uppers)
    for number in range(n_inner):
        sums[number] = 0.0
    for run_number in range(len(rows.runs)):
        first, end = rows.runs[run_number, 0], rows.runs[run_number, 1]
        run = 0.0
        for c in range(first, end):
            run += per_class[c]
        sums[rows.above[first]] += run
    for number in range(n_inner - 1, 0, -1):
        sums[rows.uppers[number]] += sums[number]
    sums[0] = 0.0
    for number in range(1, n_inner):
        sums[number] = rows.inner_variances[number] * sums[number] + sums[rows.uppers[number]]
    for c in range(len(per_class)):
        per_class[c] = rows.variances[c] * per_class[c] + sums[rows.above[c]]


def soft_maximum(latent: Array, probabilities: Array, powers: Array) -> float:
    """Write the softmax, and return log sum exp; `powers` (C,) is overwritten.

    Half of a visit is exponentials, and those of `math` go one by one: here exp(x) = 2^k exp(x - k log 2), the
    latter by its series and 2^k by the bits of a float.
    """
    highest = latent[0]
    for c in range(len(latent)):
        highest = max(highest, latent[c])
    for c in range(len(latent)):
        below = max(latent[c] - highest, LOWEST)
        power = np.floor(below / LOG_2 + 0.5)
        rest = below - power * LOG_2
        value = 1.0 / 479001600
        value = value * rest + 1.0 / 39916800
        value = value * rest + 1.0 / 3628800
        value = value * rest + 1.0 / 362880
        value = value * rest + 1.0 / 40320
        value = value * rest + 1.0 / 5040
        value = value * rest + 1.0 / 720
        value = value * rest + 1.0 / 120
        value = value * rest + 1.0 / 24
        value = value * rest + 1.0 / 6
        value = value * rest + 0.5
        value = value * rest + 1.0
        probabilities[c] = value * rest + 1.0
        # An integer of this size stands in the last bits of its float.
        powers[c] = power + LAST_BITS
    bits = powers.view(np.int64)
    total = 0.0
    for c in range(len(latent)):
        bits[c] = (bits[c] + EXPONENT_OF_ONE) << 52
    for c in range(len(latent)):
        probabilities[c] *= powers[c]
        total += probabilities[c]
    part = 1.0 / total
    for c in range(len(latent)):
        probabilities[c] *= part
    return highest + math.log(total)


def find_step(
    probabilities: Array, right: Array, scale: float, bias: float, rows: Any, step: Array, image: Array, work: Array
) -> None:
    """(I + W A) step = right and image = A step, W = diag(p) - p p' and A the covariance between classes at a point.

    A is `scale` times the tree of variances, plus `bias`. First W = diag(p), by messages up and down the tree as in
    `PointSystems`; there the answer to the right-hand side p is p times the gains along the path of each class, and
    with it p p' is accounted for. Both `step` and `right` sum to zero. `work` (3, I) is overwritten.
    """
    precision, mean, gains = work
    n_inner, n_classes = len(rows.uppers), len(right)
    for number in range(n_inner):
        precision[number] = 0.0
        mean[number] = 0.0
    # Loops over classes that touch nothing but classes are apart: they are done several classes at a time.
    for c in range(n_classes):
        gain = 1.0 / (1.0 + (scale * rows.variances[c] + bias) * probabilities[c])
        step[c] = gain
        image[c] = right[c] * gain
    for run_number in range(len(rows.runs)):
        first, end = rows.runs[run_number, 0], rows.runs[run_number, 1]
        run_precision, run_mean = 0.0, 0.0
        for c in range(first, end):
            run_precision += probabilities[c] * step[c]
            run_mean += image[c]
        precision[rows.above[first]] += run_precision
        mean[rows.above[first]] += run_mean
    for number in range(n_inner - 1, 0, -1):
        gain = 1.0 / (1.0 + scale * rows.inner_variances[number] * precision[number])
        gains[number] = gain
        precision[number] *= gain
        mean[number] *= gain
        precision[rows.uppers[number]] += precision[number]
        mean[rows.uppers[number]] += mean[number]
    mean[0], gains[0] = 0.0, 1.0
    for number in range(1, n_inner):
        above = mean[rows.uppers[number]]
        mean[number] = above + scale * rows.inner_variances[number] * (mean[number] - precision[number] * above)
        gains[number] *= gains[rows.uppers[number]]
    total, along = 0.0, 0.0
    for c in range(n_classes):
        above, gain = mean[rows.above[c]], step[c]
        # What is left of the right-hand side, and the gain along the whole path.
        image[c] = above + (scale * rows.variances[c] + bias) * (image[c] - probabilities[c] * gain * above)
        step[c] = gain * gains[rows.above[c]]
        total += right[c] - probabilities[c] * image[c]
        along += probabilities[c] * step[c]
    part = -total / along
    for c in range(n_classes):
        gain = step[c]
        step[c] = right[c] - probabilities[c] * image[c] + part * probabilities[c] * gain
        image[c] += part * (1.0 - gain)


def solve_point(
    shares: Array, latent: Array, log_total: float, probabilities: Array, scale: float, bias: float, rows: Any,
    aim: float, change: Array, scratch: Array, work: Array,
) -> float:  # fmt: skip
    """Find by how much the shares must fall for them to be the softmax of the latents that follow: `change`.

    Newton's method on the convex problem of this point alone, until no share is off by more than `aim`; returns by
    how much one still is. Latents and probabilities are overwritten.
    """
    right, step, image, trial, powers = scratch
    n_classes, left = len(shares), math.inf
    for c in range(n_classes):
        change[c] = 0.0
        right[c] = shares[c] - probabilities[c]
    for _ in range(MOST_NEWTON):
        find_step(probabilities, right, scale, bias, rows, step, image, work)
        slope, curve, linear = 0.0, 0.0, 0.0
        for c in range(n_classes):
            slope -= right[c] * image[c]
            curve += step[c] * image[c]
            linear += (change[c] - shares[c]) * image[c]
        length, reached = 1.0, log_total
        while True:
            for c in range(n_classes):
                trial[c] = latent[c] + length * image[c]
            reached = soft_maximum(trial, probabilities, powers)
            rise = reached - log_total + length * (linear + 0.5 * length * curve)
            if rise <= SUFFICIENT * length * slope + LOSS_ROUNDING * (1.0 + abs(reached)) or length < SHORTEST:
                break
            length *= 0.5
        log_total = reached
        left = 0.0
        for c in range(n_classes):
            change[c] += length * step[c]
            latent[c] = trial[c]
            right[c] = shares[c] - change[c] - probabilities[c]
            left = max(left, abs(right[c]))
        if left <= aim:
            break
    return left


def find_latents(point: int, rows: Any, weighed: Array, total: Array, latent: Array, sums: Array) -> None:
    """Those of a point, from features times dual and from the dual, summed over all points; `sums` is overwritten."""
    for c in range(len(latent)):
        latent[c] = 0.0
    for entry in range(rows.starts[point], rows.starts[point + 1]):
        row, value = weighed[rows.words[entry]], rows.values[entry]
        for c in range(len(latent)):
            latent[c] += value * row[c]
    couple(latent, rows, sums)
    for c in range(len(latent)):
        latent[c] += rows.bias * total[c]


def tell_others(point: int, rows: Any, change: Array, weighed: Array, total: Array) -> None:
    """Account for a change of the point's dual in the sums over all points."""
    for c in range(len(change)):
        total[c] += change[c]
    for entry in range(rows.starts[point], rows.starts[point + 1]):
        row, value = weighed[rows.words[entry]], rows.values[entry]
        for c in range(len(change)):
            row[c] += value * change[c]


def visit_points(
    order: Indices, points: Indices, rows: Any, weights: Array, shares: Array, weighed: Array, total: Array,
    settled: float, residuals: Array, relaxation: float,
) -> None:  # fmt: skip
    """Solve points one after the other; each sees what those before it have changed.

    Parameters
    ----------
    order : integer array
        Places in the arrays that follow, in the order of the visits.
    points : integer array of shape (m,)
        Which points they are.
    rows : Rows
    weights : array of shape (m,)
    shares : array of shape (m, C)
        Changed in place, as are the next two.
    weighed : array of shape (d, C)
        Sum over all points of features times dual.
    total : array of shape (C,)
        Sum of the dual over all points.
    settled : float
        Points whose residual is no larger are left alone.
    residuals : array of shape (m,)
        Of the gradient of each point the largest entry before its visit, overwritten.
    relaxation : float
        Of the way to a point's own solution how far it goes.
    """
    n_classes, n_inner = len(total), len(rows.uppers)
    latent, probabilities, change = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    scratch, work = np.empty((5, n_classes)), np.empty((3, n_inner))
    # Of a class function, that is the sum along its path.
    largest_variance = 0.0
    for number in range(n_inner):
        work[0, number] = rows.inner_variances[number]
        if number > 0:
            work[0, number] += work[0, rows.uppers[number]]
    for c in range(n_classes):
        largest_variance = max(largest_variance, rows.variances[c] + work[0, rows.above[c]])
    for place in order:
        point, weight = points[place], weights[place]
        own = shares[place]
        find_latents(point, rows, weighed, total, latent, work[0])
        log_total = soft_maximum(latent, probabilities, scratch[4])
        found = 0.0
        for c in range(n_classes):
            found = max(found, abs(own[c] - probabilities[c]))
        residuals[place] = weight * found
        if not weight * found > settled:
            continue
        scale = weight * rows.own[point]
        # An error of the shares is felt by the latents times their variance, and by those of similar points as well.
        felt = scale * largest_variance + weight * rows.bias
        aim = VISIT_FALL * min(found, FELT / (FELT + felt))
        bias = weight * rows.bias
        left = solve_point(own, latent, log_total, probabilities, scale, bias, rows, aim, change, scratch, work)
        if not left < found:
            continue
        # Shares sum to one in the precision in which they are kept, and what others are told is what is kept.
        missing, largest = 1.0, 0
        for c in range(n_classes):
            latent[c] = own[c]
            own[c] -= relaxation * change[c]
            missing -= own[c]
            if own[c] > own[largest]:
                largest = c
        own[largest] += missing
        for c in range(n_classes):
            change[c] = weight * (latent[c] - own[c])
        tell_others(point, rows, change, weighed, total)


def visit_linearly(
    order: Indices, points: Indices, rows: Any, weights: Array, probabilities: Array, constants: Array,
    values: Array, weighed: Array, total: Array, settled: float, residuals: Array, relaxation: float,
) -> None:  # fmt: skip
    """The same for (I + W K~) values = constants, W the curvature at given probabilities: a step solves a point.

    Parameters
    ----------
    order, points, rows, weights, settled, residuals, relaxation
        As for `visit_points`.
    probabilities, constants : arrays of shape (m, C)
        Constants sum to zero over classes.
    values : array of shape (m, C)
        Changed in place, as are the next two.
    weighed, total : arrays of shapes (d, C) and (C,)
        Of the values, in place of the dual.
    """
    n_classes, n_inner = len(total), len(rows.uppers)
    latent, right, step, image = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    work = np.empty((3, n_inner))
    for place in order:
        point, weight, likely = points[place], weights[place], probabilities[place]
        find_latents(point, rows, weighed, total, latent, work[0])
        mean = 0.0
        for c in range(n_classes):
            mean += likely[c] * latent[c]
        found = 0.0
        for c in range(n_classes):
            right[c] = constants[place, c] - values[place, c] - weight * likely[c] * (latent[c] - mean)
            found = max(found, abs(right[c]))
        residuals[place] = found
        if not found > settled:
            continue
        find_step(likely, right, weight * rows.own[point], weight * rows.bias, rows, step, image, work)
        for c in range(n_classes):
            step[c] *= relaxation
            values[place, c] += step[c]
        tell_others(point, rows, step, weighed, total)


# Sums may be added up in any order.
_OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}}


@cache
def compiled() -> Callable[..., Any]:
    """`visit_points` as machine code."""
    functions = (couple, soft_maximum, find_step, solve_point, find_latents, tell_others, visit_points)
    return compile_together(functions, **_OPTIONS)


@cache
def compiled_linearly() -> Callable[..., Any]:
    """`visit_linearly` as machine code."""
    return compile_together((couple, find_step, find_latents, tell_others, visit_linearly), **_OPTIONS)
