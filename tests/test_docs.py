"""The documents agree with the code."""

import inspect
import re
from pathlib import Path

import pytest

from logikern.criteria.base import Criterion
from logikern.estimators._cells import plan
from logikern.estimators._subsets import policy
from logikern.estimators.multilabel import _comparison, _structures
from logikern.fitting.newton.method import NewtonSolver
from logikern.fitting.newton.systems import NewtonSystem
from logikern.fitting.pointwise import schedule
from logikern.fitting.problem import Solver
from logikern.kernels import Kernel
from logikern.likelihoods.base import Likelihood
from logikern.likelihoods.curvature import Curvature
from logikern.operators.base import KernelOperator
from logikern.selection.prior import Prior
from logikern.structure.mixing import Mixing

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))
INTERFACES = (
    Kernel,
    KernelOperator,
    Mixing,
    Likelihood,
    Curvature,
    Solver,
    NewtonSolver,
    NewtonSystem,
    Criterion,
    Prior,
)


def described(interface):
    """The lines of the architecture that describe an interface."""
    page = (ROOT / "docs" / "architecture.md").read_text().partition("## Interfaces")[2]
    return re.search(rf"^class {interface.__name__}\b.*\n((?:    .*\n)*)", page, re.MULTILINE)[1]


@pytest.mark.parametrize("interface", INTERFACES)
def test_architecture_names_what_an_interface_asks_for(interface):
    wanted = interface.__abstractmethods__ & vars(interface).keys()
    assert wanted <= set(re.findall(r"\w+", described(interface)))


@pytest.mark.parametrize("interface", INTERFACES)
def test_methods_in_the_architecture_are_those_of_the_code(interface):
    for name, arguments in re.findall(r"def (\w+)\(([^)]*)\)", described(interface)):
        assert arguments.split(", ") == list(inspect.signature(getattr(interface, name)).parameters), name


def test_names_in_the_notation_are_names_in_the_code():
    table = (ROOT / "docs" / "notation.md").read_text().partition("## Symbols")[2].partition("**Phi stands")[0]
    second = " ".join(line.split(" | ")[1] for line in table.splitlines() if line.startswith("| "))
    named = set(re.findall(r"[A-Za-z_]\w+", " ".join(re.findall(r"`([^`]+)`", second))))
    assert len(named) > 20 and not [word for word in named if not re.search(rf"\b{word}\b", SOURCE)]


def test_nothing_is_planned():
    assert not [page.name for page in PAGES if "planned" in page.read_text()]


def test_model_files_have_one_suffix():
    assert not [page.name for page in PAGES if re.search(r"\w\.logikern\b", page.read_text())]


def test_visits_of_a_round_are_as_many_as_documented():
    assert (
        "eight updates per row" in (ROOT / "docs" / "solvers.md").read_text()
        and schedule.POLICY.visits_per_round == 8
    )


def test_numbers_of_large_data_are_those_of_the_policies():
    page, final = " ".join((ROOT / "docs" / "large-data.md").read_text().split()), plan.USUAL
    told = (
        f"Above {final.exact_up_to:,} rows",
        f"for data of up to {final.undivided_up_to:,} rows, fits all rows exactly",
        f"by more than {final.largest_loss:.0%}".replace("%", " %"),
        f"down to {final.smallest} rows",
        f"With {policy.USUAL.neighbourhoods_from:,} rows or more",
    )
    assert not [sentence for sentence in told if sentence not in page]
    assert final.check_share == 0.25 and "at most a quarter of the time" in page


def test_numbers_of_several_labels_are_those_of_the_policies():
    page = " ".join((ROOT / "docs" / "multilabel.md").read_text().split())
    assert f"the number of rows exceeds {_structures.USUAL.most_entries:,}" in page
    assert f"the number of rows is at least {_structures.USUAL.many_entries:,}" in page
    assert f"at most {_comparison.USUAL.most_rows} rows" in page
    assert _structures.USUAL.most_unseen == 0.5 and "more than half of the rows" in page
