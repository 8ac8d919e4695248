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
        Size of the subset on which a model grows: total, and at least per class.
    fine_size, fine_per_class : int, default=2000, 20
        Size of the larger subset on which "auto" finishes the search: total, and per class if there are many classes.
    entries : int, default=1_500_000
        Largest number of folds times classes times points in one evaluation. Subsets are smaller if they exceed it.
    enlargement : float, default=2.5
        Ratio of successive subset sizes for text, whose evaluations take time linear in the points.
    most_entries : int, default=75_000_000
        Largest number of classes times points in a subset for text: 12 GB for Newton's method, 3 GB point by point.
        All 1733 classes of wordnet with 20 points each have 60 million.
    loo_work : float, default=12e9
        Largest number of operations in one evaluation of leave-one-out, about classes squared times points cubed.
    loo_up_to : int, default=700
        Points of two classes up to which leave-one-out is faster than five folds on average
        (benchmarks/loo_or_cv.py); from 400 to 1500 points it depends on the data.
    smallest_class : int, default=4
        Every subset has at least this number of points of each class, if the class has them.
    most_kernels, most_kernel_entries : int and float, default=30, 1e9
        The stage "separate" is tried only with at most this number of kernels, and at most this number of entries in
        their matrices over all points (4 GB in single precision).
    rows_per_parameter : int, default=20
        Finer tyings are tried only with at least this number of rows per parameter: with fewer, single classes have
        too few rows to learn from.
    most_inputs : int, default=100
        Largest number of columns for which a rate per column is tried.
    most_filled : float, default=0.2
        Largest share of entries that are not zero in a table of words.
    fewest_unseen, most_unseen : int, default=200, 2000
        Smallest and largest number of rows outside the first subset that judge models learned on it.
    neighbourhoods_from : int, default=4000
        Number of rows from which the search finishes on whole neighbourhoods, at the density of all rows, instead of
        a larger random subset with extrapolated rates.
    cells : CellPlan
        The neighbourhoods. Log loss of a random subset and of neighbourhoods (benchmarks/density.py): satimage 0.212
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
