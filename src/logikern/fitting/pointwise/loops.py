"""Dual ascent one point at a time, for all classes of the point together: compiled loops.

With features x of the points, the weighted features z = sum_i x_i dual_i' hold all that a point needs to know about
the others: its latents are A(z' x) plus the bias, A the tree of variances. Its shares q, a distribution over classes,
must be the softmax of latents that depend on q in turn. Newton's method solves this in time linear in the number of
latent functions. Everything here is plain Python; `compiled` makes it fast. The constants are compiled in, so a
policy record cannot hold them.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from logikern.numerics.compilation import compile_together
from logikern.numerics.outcome import Array, Indices

# Fraction of its first residual that a visit may leave, and the largest number of its Newton steps.
VISIT_FALL, MOST_NEWTON = 0.1, 20
# Line search of a visit: sufficient decrease, rounding of losses, shortest step.
SUFFICIENT, LOSS_ROUNDING, SHORTEST = 1e-4, 1e-9, 1e-6
# Exponentials: smallest argument, and how floats store integers and powers of two (a number of this size has an
# integer in its last bits).
LOG_2, LOWEST = math.log(2.0), -700.0
LAST_BITS, EXPONENT_OF_ONE = 1.5 * 2.0**52, 1023


class PointFeatures(NamedTuple):
    """Features of the points, and the covariance between classes where the inner product is one."""

    starts: Indices  # (n + 1,): where the features of each point begin
    words: Indices  # which features they are
    values: Array
    own: Array  # (n,): inner product of each point with itself
    variances: Array  # (C,): variance of each class's own function
    bias: float  # variance of each class's constant
    above: Indices  # (C,): parent of each class among the inner functions
    runs: Indices  # (R, 2): first and end of consecutive classes with the same parent, except below the root
    # (I,): variances of the inner functions, from the top down; the first is the root, zero everywhere.
    inner_variances: Array
    uppers: Indices  # (I,): parent of each inner function; unused for the root


def couple(per_class: Array, features: Any, sums: Array) -> None:
    """Mixing diag(variances) Mixing' applied in place; `sums` (I,) is overwritten."""
    n_inner = len(features.uppers)
    for number in range(n_inner):
        sums[number] = 0.0
    for run_number in range(len(features.runs)):
        first, end = features.runs[run_number, 0], features.runs[run_number, 1]
        run = 0.0
        for c in range(first, end):
            run += per_class[c]
        sums[features.above[first]] += run
    for number in range(n_inner - 1, 0, -1):
        sums[features.uppers[number]] += sums[number]
    sums[0] = 0.0
    for number in range(1, n_inner):
        sums[number] = features.inner_variances[number] * sums[number] + sums[features.uppers[number]]
    for c in range(len(per_class)):
        per_class[c] = features.variances[c] * per_class[c] + sums[features.above[c]]


def soft_maximum(latent: Array, probabilities: Array, powers: Array) -> float:
    """Write the softmax, and return log sum exp; `powers` (C,) is overwritten.

    Exponentials take half of the time of a visit, and `math.exp` is not vectorised. Here exp(x) is
    computed as 2^k exp(x - k log 2): 2^k from the bits of a float, and the other factor from its series.
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
        # The last bits of a float of this size are an integer.
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
    probabilities: Array, right: Array, scale: float, bias: float, features: Any, step: Array, image: Array,
    work: Array,
) -> None:  # fmt: skip
    """(I + W A) step = right and image = A step, W = diag(p) - p p' and A the covariance between classes at a point.

    A is `scale` times the tree of variances, plus `bias`. W = diag(p) is solved first, by messages up and down the
    tree as in `PointSystems`. There the solution for the right-hand side p is p times the gains along the path of
    each class, which accounts for p p'. Both `step` and `right` sum to zero. `work` (3, I) is overwritten.
    """
    precision, mean, gains = work
    n_inner, n_classes = len(features.uppers), len(right)
    for number in range(n_inner):
        precision[number] = 0.0
        mean[number] = 0.0
    # Loops over classes alone are separate, so that the compiler vectorises them.
    for c in range(n_classes):
        gain = 1.0 / (1.0 + (scale * features.variances[c] + bias) * probabilities[c])
        step[c] = gain
        image[c] = right[c] * gain
    for run_number in range(len(features.runs)):
        first, end = features.runs[run_number, 0], features.runs[run_number, 1]
        run_precision, run_mean = 0.0, 0.0
        for c in range(first, end):
            run_precision += probabilities[c] * step[c]
            run_mean += image[c]
        precision[features.above[first]] += run_precision
        mean[features.above[first]] += run_mean
    for number in range(n_inner - 1, 0, -1):
        gain = 1.0 / (1.0 + scale * features.inner_variances[number] * precision[number])
        gains[number] = gain
        precision[number] *= gain
        mean[number] *= gain
        precision[features.uppers[number]] += precision[number]
        mean[features.uppers[number]] += mean[number]
    mean[0], gains[0] = 0.0, 1.0
    for number in range(1, n_inner):
        above = mean[features.uppers[number]]
        mean[number] = above + scale * features.inner_variances[number] * (mean[number] - precision[number] * above)
        gains[number] *= gains[features.uppers[number]]
    total, along = 0.0, 0.0
    for c in range(n_classes):
        above, gain = mean[features.above[c]], step[c]
        # Remaining right-hand side, and the gain along the whole path.
        image[c] = above + (scale * features.variances[c] + bias) * (image[c] - probabilities[c] * gain * above)
        step[c] = gain * gains[features.above[c]]
        total += right[c] - probabilities[c] * image[c]
        along += probabilities[c] * step[c]
    part = -total / along
    for c in range(n_classes):
        gain = step[c]
        step[c] = right[c] - probabilities[c] * image[c] + part * probabilities[c] * gain
        image[c] += part * (1.0 - gain)


def solve_point(
    shares: Array, latent: Array, log_total: float, probabilities: Array, scale: float, bias: float, features: Any,
    tolerance: float, change: Array, scratch: Array, work: Array,
) -> float:  # fmt: skip
    """Find `change`, the decrease of the shares after which they equal the softmax of the resulting latents.

    Newton's method on the convex problem of this point alone, until no share is off by more than `tolerance`;
    returns the largest error left. Latents and probabilities are overwritten.
    """
    right, step, image, trial, powers = scratch
    n_classes, left = len(shares), math.inf
    for c in range(n_classes):
        change[c] = 0.0
        right[c] = shares[c] - probabilities[c]
    for _ in range(MOST_NEWTON):
        find_step(probabilities, right, scale, bias, features, step, image, work)
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
        if left <= tolerance:
            break
    return left


def find_latents(point: int, features: Any, weighed: Array, total: Array, latent: Array, sums: Array) -> None:
    """Latents of a point, from the sums over all points of features times dual and of the dual; overwrites `sums`."""
    for c in range(len(latent)):
        latent[c] = 0.0
    for entry in range(features.starts[point], features.starts[point + 1]):
        row, value = weighed[features.words[entry]], features.values[entry]
        for c in range(len(latent)):
            latent[c] += value * row[c]
    couple(latent, features, sums)
    for c in range(len(latent)):
        latent[c] += features.bias * total[c]


def update_sums(point: int, features: Any, change: Array, weighed: Array, total: Array) -> None:
    """Add a change of the point's dual to the sums over all points."""
    for c in range(len(change)):
        total[c] += change[c]
    for entry in range(features.starts[point], features.starts[point + 1]):
        row, value = weighed[features.words[entry]], features.values[entry]
        for c in range(len(change)):
            row[c] += value * change[c]


def visit_points(
    order: Indices, points: Indices, features: Any, weights: Array, shares: Array, weighed: Array, total: Array,
    skip_below: float, residuals: Array, relaxation: float,
) -> None:  # fmt: skip
    """Solve points one after the other; each uses the results of earlier points.

    Parameters
    ----------
    order : integer array
        Positions in the following arrays, in the order of the visits.
    points : integer array of shape (m,)
        The point at each position.
    features : PointFeatures
    weights : array of shape (m,)
    shares : array of shape (m, C)
        Changed in place, as are the next two.
    weighed : array of shape (d, C)
        Sum over all points of features times dual.
    total : array of shape (C,)
        Sum of the dual over all points.
    skip_below : float
        Points whose residual is no larger are skipped.
    residuals : array of shape (m,)
        Overwritten by the largest entry of each point's gradient before its visit.
    relaxation : float
        Step towards a point's own solution: 1 reaches it, more is over-relaxation.
    """
    n_classes, n_inner = len(total), len(features.uppers)
    latent, probabilities, change = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    scratch, work = np.empty((5, n_classes)), np.empty((3, n_inner))
    # The variance of a class function is the sum along its path.
    largest_variance = 0.0
    for number in range(n_inner):
        work[0, number] = features.inner_variances[number]
        if number > 0:
            work[0, number] += work[0, features.uppers[number]]
    for c in range(n_classes):
        largest_variance = max(largest_variance, features.variances[c] + work[0, features.above[c]])
    for place in order:
        point, weight = points[place], weights[place]
        own = shares[place]
        find_latents(point, features, weighed, total, latent, work[0])
        log_total = soft_maximum(latent, probabilities, scratch[4])
        found = 0.0
        for c in range(n_classes):
            found = max(found, abs(own[c] - probabilities[c]))
        residuals[place] = weight * found
        if not weight * found > skip_below:
            continue
        scale = weight * features.own[point]
        # An error of the shares, times the variance, changes latents here and at similar points.
        sensitivity = scale * largest_variance + weight * features.bias
        tolerance = VISIT_FALL * min(found, 1.0 / (1.0 + sensitivity))
        bias, arrays = weight * features.bias, (change, scratch, work)
        left = solve_point(own, latent, log_total, probabilities, scale, bias, features, tolerance, *arrays)
        if not left < found:
            continue
        # Stored shares sum to one exactly, and the sums over points get the stored change.
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
        update_sums(point, features, change, weighed, total)


def visit_linearly(
    order: Indices, points: Indices, features: Any, weights: Array, probabilities: Array, constants: Array,
    values: Array, weighed: Array, total: Array, skip_below: float, residuals: Array, relaxation: float,
) -> None:  # fmt: skip
    """Solve (I + W K~) values = constants point by point, W the curvature at given probabilities; one step per point.

    Parameters
    ----------
    order, points, features, weights, skip_below, residuals, relaxation
        As for `visit_points`.
    probabilities, constants : arrays of shape (m, C)
        Constants sum to zero over classes.
    values : array of shape (m, C)
        Changed in place, as are the next two.
    weighed, total : arrays of shapes (d, C) and (C,)
        Sums of the values instead of the dual.
    """
    n_classes, n_inner = len(total), len(features.uppers)
    latent, right, step, image = np.empty(n_classes), np.empty(n_classes), np.empty(n_classes), np.empty(n_classes)
    work = np.empty((3, n_inner))
    for place in order:
        point, weight, likely = points[place], weights[place], probabilities[place]
        find_latents(point, features, weighed, total, latent, work[0])
        mean = 0.0
        for c in range(n_classes):
            mean += likely[c] * latent[c]
        found = 0.0
        for c in range(n_classes):
            right[c] = constants[place, c] - values[place, c] - weight * likely[c] * (latent[c] - mean)
            found = max(found, abs(right[c]))
        residuals[place] = found
        if not found > skip_below:
            continue
        find_step(likely, right, weight * features.own[point], weight * features.bias, features, step, image, work)
        for c in range(n_classes):
            step[c] *= relaxation
            values[place, c] += step[c]
        update_sums(point, features, step, weighed, total)


# Sums may be reordered.
_OPTIONS: dict[str, Any] = {"fastmath": {"reassoc", "contract", "arcp", "nsz"}}


@cache
def compiled() -> Callable[..., Any]:
    """`visit_points` as machine code."""
    functions = (couple, soft_maximum, find_step, solve_point, find_latents, update_sums, visit_points)
    return compile_together(functions, **_OPTIONS)


@cache
def compiled_linearly() -> Callable[..., Any]:
    """`visit_linearly` as machine code."""
    return compile_together((couple, find_step, find_latents, update_sums, visit_linearly), **_OPTIONS)
