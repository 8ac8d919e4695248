"""What a wheel and a source archive hold: `python -m tests.packaging.archives dist/*` prints what is wrong."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "logikern"
# Kinds of files in the package, and of all others in the source archive.
IN_WHEEL = (".py", ".typed", ".css", ".html")
IN_SOURCE = (*IN_WHEEL, ".md", ".toml", ".json", ".jsonl", ".png", ".txt", ".cff", ".yml")
WITHOUT_SUFFIX = ("LICENSE", "Makefile", "PKG-INFO", ".gitignore")
CACHES = re.compile(r"(^|/)(__pycache__|\.(venv|git|hypothesis|[a-z]+_cache))(/|$)|\.pyc$")
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "CITATION.cff", "SECURITY.md")
LARGEST = 8e6  # bytes: a data set would be larger


def package_files() -> set[str]:
    """Files of the package, as a wheel names them."""
    files = (file for file in PACKAGE.rglob("*") if file.is_file() and not CACHES.search(str(file)))
    return {str(file.relative_to(PACKAGE.parent)) for file in files}


def wheel_problems(names: set[str], package: set[str]) -> list[str]:
    """What is wrong with the files of a wheel, given those of the package."""
    own = {name for name in names if ".dist-info/" not in name}
    problems = [f"lacks {name}" for name in sorted(package - names)]
    problems += [f"holds {name}" for name in sorted(own) if name not in package or not name.endswith(IN_WHEEL)]
    for wanted in ("METADATA", "entry_points.txt", "licenses/LICENSE"):
        if not any(name.endswith(f".dist-info/{wanted}") for name in names):
            problems.append(f"lacks {wanted}")
    return problems


def source_problems(names: set[str], package: set[str]) -> list[str]:
    """What is wrong with the files of a source archive, named from its top folder."""
    wanted = {f"src/{name}" for name in package} | set(DOCUMENTS)
    problems = [f"lacks {name}" for name in sorted(wanted - names)]
    for name in sorted(names):
        known = name.endswith(IN_SOURCE) or Path(name).name in WITHOUT_SUFFIX
        if CACHES.search(name) or not known:
            problems.append(f"holds {name}")
    return problems


def problems_of(archive: Path) -> list[str]:
    """What is wrong with an archive."""
    found = [f"has {archive.stat().st_size} bytes"] if archive.stat().st_size > LARGEST else []
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return found + wheel_problems(set(wheel.namelist()), package_files())
    with tarfile.open(archive) as source:
        names = {member.name.partition("/")[2] for member in source.getmembers() if member.isfile()}
    return found + source_problems(names, package_files())


def main(archives: list[str]) -> int:
    wrong = [f"{archive} {problem}" for archive in archives for problem in problems_of(Path(archive))]
    sys.stdout.write("".join(f"{line}\n" for line in wrong or [f"{len(archives)} archives are complete"]))
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
