"""What a release needs: notes, the same version everywhere, and complete archives."""

import re
import subprocess
import sys
import tomllib

import pytest

import logikern
from tests.packaging.archives import DOCUMENTS, ROOT, package_files, source_problems, wheel_problems

KINDS = [
    kind["directory"] for kind in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]["type"]
]
FRAGMENTS = [file for file in sorted((ROOT / "news").iterdir()) if file.name != "README.md"]
INFO = {f"logikern-1.dist-info/{name}" for name in ("METADATA", "entry_points.txt", "licenses/LICENSE")}


def test_draft_of_the_changelog_is_built():
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--date", "2026-01-01"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert result.returncode == 0, result.stderr
    assert "## 9.9.9 (2026-01-01)" in result.stdout
    listed = len(re.findall(r"^- ", result.stdout, flags=re.MULTILINE))
    assert listed >= len({file.read_text() for file in FRAGMENTS}) or not FRAGMENTS


@pytest.mark.parametrize("fragment", FRAGMENTS, ids=lambda file: file.name)
def test_fragment_has_a_kind_and_a_text(fragment):
    # Any other name would be left out of the changelog without a word.
    assert re.fullmatch(rf"(\+[a-z0-9-]+|\d+(-[a-z0-9-]+)?)\.({'|'.join(KINDS)})\.md", fragment.name)
    assert fragment.read_text().strip()


def test_citation_has_the_version_of_the_library():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    assert cited and cited[1] == logikern.__version__


def test_package_has_its_types_and_its_page():
    assert {
        f"logikern/{name}" for name in ("py.typed", "reporting/page.css", "reporting/page.html")
    } <= package_files()


def test_complete_archives_have_no_problems():
    package = package_files()
    assert wheel_problems(package | INFO, package) == []
    assert source_problems({f"src/{name}" for name in package} | set(DOCUMENTS), package) == []


@pytest.mark.parametrize("name", ["logikern/__pycache__/a.pyc", "logikern/iris.csv", "tests/a.py"])
def test_wheel_holds_only_the_package(name):
    package = package_files()
    assert wheel_problems(package | INFO | {name}, package) == [f"holds {name}"]


@pytest.mark.parametrize("name", ["data/covtype.npz", "tests/.pytest_cache/README.md", "model.skops", ".venv/a.py"])
def test_source_archive_holds_no_data_and_no_caches(name):
    package = package_files()
    names = {f"src/{file}" for file in package} | set(DOCUMENTS) | {name}
    assert source_problems(names, package) == [f"holds {name}"]


def test_missing_file_of_the_package_is_found():
    package = package_files()
    assert wheel_problems(package - {"logikern/py.typed"} | INFO, package) == ["lacks logikern/py.typed"]
