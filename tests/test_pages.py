"""Pages of the documentation: imports, links, files and terms that they name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_import_from_the_top(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    imported = re.findall(r"^\s*(?:from|import) (logikern[\w.]*)", "\n".join(blocks), re.MULTILINE)
    assert set(imported) <= {"logikern", "logikern.dask", "logikern.kernels"}


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
    source, known = ROOT / "src" / "logikern", ("outcome_", "y", "loo_proba_", "partial_fit")
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
