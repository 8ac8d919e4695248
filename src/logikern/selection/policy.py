"""The numbers that decide how a model grows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GrowthPolicy:
    """Priors of log parameters, extrapolation to more points, and early stopping of candidates.

    Parameters
    ----------
    relevance_centre, relevance_scale : float, default=-4.0, 1.0
        Mean and standard deviation of the log rate of one input, relative to the rate of all: an input that explains
        nothing loses its influence.
    kernel_scale, variance_scale : float, default=1.5
        Standard deviations of other log parameters of kernels, and of log variances, around values read off the data.
    variance_scale_beside_relevance : float, default=0.7
        For log variances beside a rate per input. With all rates pulled down, a variance would rise without end.
    start_spread : float, default=1.5
        Standard deviation of further starts.
    largest_power, largest_variance_power : float, default=1.0, 3.0
        Rates and variances change with the number of points at most by these powers.
    longest_lever : float, default=1.5
        A power is extrapolated at most this many times the step, in logs of the number of points, that it was
        measured on.
    hurdle : float, default=0.5
        A candidate stops early if it has not gained this share of its expected gain by chance.
    """

    relevance_centre: float = -4.0
    relevance_scale: float = 1.0
    kernel_scale: float = 1.5
    variance_scale: float = 1.5
    variance_scale_beside_relevance: float = 0.7
    start_spread: float = 1.5
    largest_power: float = 1.0
    largest_variance_power: float = 3.0
    longest_lever: float = 1.5
    hurdle: float = 0.5


USUAL = GrowthPolicy()
