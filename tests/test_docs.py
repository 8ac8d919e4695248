"""The documents agree with the code."""

import inspect
import re
from pathlib import Path

import pytest

from logikern.criteria.base import Criterion
from logikern.fitting.newton.method import NewtonSolver
from logikern.fitting.newton.systems import NewtonSystem
from logikern.fitting.pointwise import schedule as visits
from logikern.fitting.problem import Solver
from logikern.kernels import Kernel
from logikern.likelihoods.base import Likelihood
from logikern.operators.base import KernelOperator
from logikern.selection.prior import Prior
from logikern.structure.base import Mixing

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCE = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.py")))
INTERFACES = (Kernel, KernelOperator, Mixing, Likelihood, Solver, NewtonSolver, NewtonSystem, Criterion, Prior)


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
    assert "eight updates per row" in (ROOT / "docs" / "solvers.md").read_text() and visits.VISITS_PER_ROUND == 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_import_from_the_top(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    imported = re.findall(r"^\s*(?:from|import) (logikern[\w.]*)", "\n".join(blocks), re.MULTILINE)
    assert set(imported) <= {"logikern", "logikern.kernels"}


def test_every_page_is_linked_from_the_readme():
    readme = PAGES[0].read_text()
    assert not [page.name for page in PAGES[1:] if f"docs/{page.name}" not in readme]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        headings = re.findall(r"^#+ (.*)$", linked.read_text(), re.MULTILINE) if anchor else []
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", name).lower().replace(" ", "-") for name in headings]


def test_glossary_explains_the_terms_of_the_model():
    glossary = (ROOT / "docs" / "glossary.md").read_text().lower()
    terms = ("rate", "variance", "tying", "criterion", "stage", "latent", "dual", "temperature", "tolerance")
    assert not [term for term in terms if not re.search(rf"^\*\*[^*]*\b{term}\b", glossary, re.MULTILINE)]


def test_files_that_the_architecture_points_to_exist():
    page = (ROOT / "docs" / "architecture.md").read_text()
    answers = page.partition("## Which file?")[2].partition("## Extend it")[0]
    named = re.findall(r"`([\w/]+)`", " ".join(line.rpartition("| ")[0] + line for line in answers.splitlines()))
    named += [name for names in re.findall(r"<i>([^<]+)</i>", page) for name in names.split(", ")]
    source, known = ROOT / "src" / "logikern", ("outcome_", "y")
    assert len(named) > 20
    assert not [
        name for name in named if not ((source / f"{name}.py").exists() or (source / name).is_dir() or name in known)
    ]
    examples = re.findall(r"`(tests/extending/\w+\.py)`", page)
    assert examples and not [name for name in examples if not (ROOT / name).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_benchmarks_that_a_page_names_exist(page):
    named = re.findall(r"benchmarks/\w+\.py", page.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]
