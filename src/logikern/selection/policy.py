"""The numbers that decide how a model grows."""

from dataclasses import dataclass


@dataclass(frozen=True)
class GrowthPolicy:
    """Priors of log parameters, extrapolation to more points, and early stopping of candidates."""

    # Standard deviations of log parameters of a kernel, and of its log variance, around estimates from the data. A
    # variance limits how certain predictions may be, so the data must decide it if classes can be separated. With 1.5
    # instead of 6, and one kernel for all classes, the log loss of 30 tables was 1.2 times as large, and up to 14
    # times if it is near zero. With 6 instead of 4, tables with few rows and many columns are overfitted.
    kernel_scale: float = 1.5
    variance_scale: float = 4.0
    # Standard deviation of the mean log variance of a finer model around its value in the model it grew from.
    grown_variance_scale: float = 0.5
    deviation_scale: float = 1.5  # standard deviation of log parameters of single classes around their mean
    # Standard deviation of log rates of single columns around their mean, and root of the sum of their squared
    # deviations; the smaller one counts, because few of many columns matter more than others. On 23 tables of 64 to
    # 1031 rows, on six splits outside the benchmark, log losses were 1.6 % lower than with 1.0 alone (21 % for 134
    # rows of 50 columns), and 2 % lower with a spread of 2, which loses if rates do matter.
    relevance_scale: float = 1.0
    relevance_spread: float = 3.0
    start_spread: float = 1.5  # standard deviation of further starts
    # Rates and variances change at most as these powers of the number of points.
    largest_power: float = 1.0
    largest_variance_power: float = 3.0
    # A power is extrapolated at most this far, in units of the interval on which it was measured (both in logs of the
    # number of points).
    longest_lever: float = 1.5
    # While models are compared, decreases count as small up to this multiple of what counts in the final search.
    rough_worth: float = 4.0
    # Early stopping: a candidate ends if its first evaluations have not lowered the criterion by this share.
    hurdle: float = 0.005
    # Early stopping: an alternative first model ends after this many evaluations if it is behind the best one.
    patience: int = 2
    # ... and after the first one if it is behind by more than this share of the best one's objective. A first step
    # lowers the criterion by up to a fifth.
    excess: float = 0.3
    # Evaluations of the kept model on a larger subset. Further ones lower the criterion a little, but not the loss of
    # new rows.
    most_on_more_points: int = 8

    def scale_of_rates(self, n_rates: int) -> float:
        """Standard deviation of the log rates of `n_rates` columns around their mean."""
        return min(self.relevance_scale, self.relevance_spread / max(n_rates, 1) ** 0.5)


USUAL = GrowthPolicy()
