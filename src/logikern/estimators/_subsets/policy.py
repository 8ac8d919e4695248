"""Settings that determine which points a search uses, and which models it tries."""

from dataclasses import dataclass

from logikern.estimators._subsets.cells import CellPlan


@dataclass(frozen=True)
class SearchPolicy:
    """How many points a search uses, and which models "auto" tries.

    No field depends on the memory of the machine, so a search that is resumed elsewhere makes the same evaluations.

    Parameters
    ----------
    coarse_size, coarse_per_class : int, default=1000, 40
        Size of the subset on which a model grows: number of points in total, and at least this number per class. With
        500 points, fits to 31 tables take a third less time at the same log loss, but usps and segment end with other
        models, and their losses rise from 0.196 to 0.231 and from 0.052 to 0.071.
    enlargement_from : float, default=1.2
        Smallest ratio of the larger subset to the subset on which a model grows; below it, the model grows on the
        larger subset.
    fine_size, fine_per_class : int, default=2000, 20
        Size of the larger subset on which "auto" finishes the search: number of points in total, and per class if
        there are many classes.
    entries : int, default=1_500_000
        Largest number of folds times classes times points in one evaluation. Subsets that exceed it are reduced.
    enlargement : float, default=2.5
        Ratio of successive subset sizes for text, where an evaluation costs time linear in the number of points.
    most_entries : int, default=75_000_000
        Largest number of classes times points in a subset for text: 12 GB for Newton's method, 3 GB point by point.
        All 1733 classes of wordnet with 20 points each have 60 million.
    loo_work : float, default=12e9
        Largest number of operations in one evaluation of leave-one-out, about classes squared times points cubed.
    loo_up_to : int, default=700
        Largest number of points for which leave-one-out is used, for two classes. It is then faster than five folds
        on average (benchmarks/loo_or_cv.py); from 400 to 1500 points it depends on the data.
    smallest_class : int, default=4
        Smallest number of points of each class in a subset; all points of a smaller class are included.
    most_kernels, most_kernel_entries : int and float, default=30, 1e9
        Limits for the stage "separate": number of kernels, and number of entries in their matrices over all points
        (1e9 entries take 4 GB in single precision).
    rows_per_parameter : int, default=20
        Finer tyings are tried only with at least this number of rows per parameter. With fewer, some classes
        have too few rows to learn their own parameters.
    most_inputs : int, default=100
        Largest number of columns for which a rate per column is tried.
    most_filled : float, default=0.2
        Largest share of nonzero entries for which a sparse table is treated as text.
    fewest_unseen, most_unseen : int, default=200, 2000
        Smallest and largest number of rows outside the first subset on which models learned on it are judged.
    neighbourhoods_from : int, default=4000
        Smallest number of rows for which the search finishes on whole neighbourhoods, which are as dense as the full
        data, instead of a larger random subset with extrapolated rates.
    cells : CellPlan
        Number and size of these neighbourhoods. Log loss with a random subset and with neighbourhoods
        (benchmarks/density.py): satimage 0.212 and 0.205, usps 0.203 and 0.201, covtype with 20,000 rows 0.352 and
        0.276. If the model also grows on neighbourhoods, usps is worse (0.241), because each neighbourhood has only a
        few of the classes.
    """

    coarse_size: int = 1000
    coarse_per_class: int = 40
    enlargement_from: float = 1.2
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
