"""Pages of the documentation: imports, links, files and terms that they name."""

import re
from pathlib import Path

import pytest

import logikern

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def named(page):
    return str(page.relative_to(ROOT))


def anchors(page):
    """Anchors of the headings of a page, as GitHub and the site make them, and of the names that it documents."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings]
    return slugs + re.findall(r"^::: (logikern\S+)$", text, re.MULTILINE)


def navigation():
    """Pages in the navigation of the site, in order."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    return re.findall(r"(\S+\.md)$", settings, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_examples_import_from_the_top(page):
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    imported = re.findall(r"^\s*(?:from|import) (logikern[\w.]*)", "\n".join(blocks), re.MULTILINE)
    assert set(imported) <= {"logikern", "logikern.dask", "logikern.kernels"}


def test_every_page_is_in_the_navigation_once():
    assert sorted(navigation()) == sorted(page.relative_to(DOCS).as_posix() for page in PAGES[1:])


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", page.read_text(encoding="utf-8")):
        linked = page.parent / target if target else page
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


@pytest.mark.parametrize("page", PAGES[1:], ids=named)
def test_links_of_the_site_stay_inside_it(page):
    targets = re.findall(r"\]\((?!http|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert all((page.parent / target).resolve().is_relative_to(DOCS) for target in targets)


def test_every_image_is_small_and_on_a_page():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    images = [image for image in (DOCS / "images").iterdir() if not image.name.startswith("diagram-")]
    assert images and not [image.name for image in images if f"images/{image.name})" not in pages]
    assert not [image.name for image in images if image.stat().st_size > 350_000]


def test_the_reference_documents_every_public_name_once():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (DOCS / "api").glob("*.md"))
    documented = sorted(re.findall(r"^::: (logikern\S+)$", pages, re.MULTILINE))
    public = [f"logikern.{name}" for name in logikern.__all__ if name not in ("__version__", "kernels")]
    assert documented == sorted([*public, "logikern.dask.DaskKernelLogisticClassifier"])


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


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_benchmarks_that_a_page_names_exist(page):
    named = re.findall(r"benchmarks/\w+\.py", page.read_text())
    assert not [name for name in named if not (ROOT / name).exists()]
