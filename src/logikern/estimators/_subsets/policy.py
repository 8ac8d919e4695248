"""The numbers that decide which points a search sees, and what it tries."""

from dataclasses import dataclass

from logikern.estimators._subsets.cells import CellPlan


@dataclass(frozen=True)
class SearchPolicy:
    """How many points a search sees, and what "auto" lets it try.

    No field depends on the memory of the machine, so a search that is resumed elsewhere asks the same questions.

    Parameters
    ----------
    coarse_size, coarse_per_class : int, default=1000, 40
        Points on which a model grows, and at least so many for each class, before it is finished on more.
    fine_size, fine_per_class : int, default=2000, 20
        Points on which "auto" finishes it; with many classes, points for each class.
    entries : int, default=1_500_000
        Folds times classes times points of one evaluation; beyond it there are fewer points.
    enlargement : float, default=2.5
        Factor between subsets of texts, whose evaluations take time linear in the points.
    most_entries : int, default=75_000_000
        Classes times points of the largest of these subsets: 12 GB for Newton's method, 3 GB point by point. All 1733
        classes of wordnet with 20 points each have 60 million.
    loo_work : float, default=12e9
        Operations of one evaluation of leave-one-out, about classes squared times points cubed.
    loo_up_to : int, default=700
        Points of two classes up to which leave-one-out is faster than five folds on average
        (benchmarks/loo_or_cv.py); from 400 to 1500 points it depends on the data.
    smallest_class : int, default=4
        Points of each class that every subset has, if there are as many.
    most_kernels, most_kernel_entries : int and float, default=30, 1e9
        The stage "separate" is tried for at most so many kernels, whose matrices over all points have at most so many
        entries (4 GB in single precision).
    rows_per_parameter : int, default=20
        Finer ties of classes are tried if there are so many rows for each of their parameters: with fewer, single
        classes have too few rows to learn from.
    most_inputs : int, default=100
        Columns up to which a rate for each is tried.
    most_filled : float, default=0.2
        Largest share of entries that are not zero in a table of words.
    fewest_unseen, most_unseen : int, default=200, 2000
        Rows beyond those of the first subset that judge what was learned on it.
    neighbourhoods_from : int, default=4000
        Rows from which a model is finished on whole neighbourhoods, at the density of all rows, rather than on a
        larger random subset with extrapolated rates.
    cells : CellPlan
        These neighbourhoods. Log loss by random subset and by neighbourhoods (benchmarks/density.py): satimage 0.212
        and 0.210, usps 0.198 and 0.196, covtype with 20,000 rows 0.585 and 0.278. Growing the model on neighbourhoods
        as well is worse on usps, where single neighbourhoods have few of the classes (0.241).
    """

    coarse_size: int = 1000
    coarse_per_class: int = 40
    fine_size: int = 2000
    fine_per_class: int = 20
    entries: int = 1_500_000
    enlargement: float = 2.5
    most_entries: int = 75_000_000
    loo_work: float = 12e9
    loo_up_to: int = 700
    smallest_class: int = 4
    most_kernels: int = 30
    most_kernel_entries: float = 1e9
    rows_per_parameter: int = 20
    most_inputs: int = 100
    most_filled: float = 0.2
    fewest_unseen: int = 200
    most_unseen: int = 2000
    neighbourhoods_from: int = 4000
    cells: CellPlan = CellPlan(8, 1000)


USUAL = SearchPolicy()
