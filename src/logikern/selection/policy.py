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
    # Scale of the deviations of log rates of single columns, and root of the sum of their squares if each column
    # deviates by this scale. The smaller one counts, because only a few of many columns matter more than the others.
    # With normal deviations, on 23 tables of 64 to 1031 rows, on six splits outside the benchmark, log losses were
    # 1.6 % lower than with 1.0 alone (21 % for 134 rows of 50 columns), and 2 % lower with a spread of 2, which loses
    # if rates do matter.
    relevance_scale: float = 1.0
    relevance_spread: float = 3.0
    # Degrees of freedom of these deviations. Normal ones hold all rates together if few of many columns matter. With
    # 5 of 50 (benchmarks/noise_inputs.py, five seeds), the log loss falls from 0.655 to 0.609, and the rates of these
    # 5 are at least 12 times as large as all others, instead of 4 times. On 30 tables, on splits outside the
    # benchmark, log losses stay the same (ratio 1.000 +- 0.002). With 1 degree, they are 0.4 +- 0.5 % higher on 19 of
    # these tables, and the search takes 6 % more time.
    relevance_degrees: float = 3.0
    # Standard deviation of the loadings of factors around zero, and root of the sum of their squares; the smaller one
    # counts. On tasks drawn from the model, with 300 to 1000 rows of 12 classes and two factors, the log loss falls
    # by 0.006 on average with 0.3, by 0.012 with 0.6 and by 0.011 with 1.0; with 30 classes, most with 0.3.
    loading_scale: float = 0.45
    loading_spread: float = 2.2
    # Slope of a direction, relative to the steepest, from which it becomes a factor.
    factor_share: float = 0.3
    most_factors: int = 5  # largest number of factors that "auto" tries
    # Standard errors that the gain of more kernels or of factors must exceed. One would keep factors that do nothing
    # in one of six fits, and with few rows they do harm. A kernel per class doubles the time on usps, where it gains
    # 1.2 standard errors on unseen rows and loses on test rows.
    structure_errors: float = 2.0
    start_spread: float = 1.5  # standard deviation of further starts
    # Rates and variances change at most as these powers of the number of points.
    largest_power: float = 1.0
    largest_variance_power: float = 3.0
    # A power is extrapolated at most this far, in units of the interval on which it was measured (both in logs of the
    # number of points).
    longest_lever: float = 1.5
    # While models are compared, decreases count as small up to this multiple of the threshold in the final search.
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

    def scale_of_loadings(self, n_loadings: int) -> float:
        """Standard deviation of the loadings of all classes on all factors."""
        return min(self.loading_scale, self.loading_spread / max(n_loadings, 1) ** 0.5)

    def scale_of_rates(self, n_rates: int) -> float:
        """Scale of the deviations of the log rates of `n_rates` columns."""
        return min(self.relevance_scale, self.relevance_spread / max(n_rates, 1) ** 0.5)


USUAL = GrowthPolicy()
