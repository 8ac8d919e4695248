"""Help and version come at once, and a prediction soon: nothing is imported that they do not need."""

import subprocess
import sys

import pytest

from logikern import __version__
from logikern.cli.options import KernelName, OperatorName
from logikern.estimators._cells.settings import NAME as NEIGHBOURHOODS
from logikern.kernels import KERNELS
from logikern.operators.choose import OPERATORS

HEAVY = ("numpy", "scipy", "pandas", "sklearn", "numba")
# skops imports every module of scikit-learn, and through them dask and pytest.
UNUSED_BY_PREDICTIONS = (
    *("skops", "dask", "pytest", "numba", "matplotlib"),
    *(f"sklearn.{name}" for name in ("compose", "feature_extraction", "linear_model", "metrics", "model_selection")),
)


def test_commands_are_declared_without_heavy_imports():
    code = f"import sys, logikern.cli.main; print([name for name in {HEAVY} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "[]"


def test_package_runs_as_a_module():
    result = subprocess.run(
        [sys.executable, "-m", "logikern", "--version"], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stdout.strip()) == (0, f"logikern {__version__}"), result.stderr


def test_missing_library_names_what_to_install():
    code = "import sys; sys.modules['typer'] = None; from logikern.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.returncode, "Traceback" in result.stderr) == (1, False)
    assert "pip install 'logikern[cli]'" in result.stderr


@pytest.mark.parametrize(
    ("library", "arguments", "extra"),
    [
        ("rich", ("info", "{model}"), "cli"),
        ("pandas", ("predict", "{model}", "{data}"), "cli"),
        ("pyarrow", ("predict", "{model}", "{data}", "--out", "{folder}/out.parquet"), "cli"),
        ("jinja2", ("report", "{model}", "{data}", "--target", "kind", "--out", "{folder}/r.html"), "report"),
        ("matplotlib", ("evaluate", "{model}", "{data}", "--report", "{folder}/r.html"), "report"),
    ],
)
def test_command_without_its_library_names_the_extra(library, arguments, extra, model, table, tmp_path):
    table.to_csv(tmp_path / "t.csv", index=False)
    words = [word.format(model=model, data=tmp_path / "t.csv", folder=tmp_path) for word in arguments]
    code = f"import sys; sys.modules[{library!r}] = None; from logikern.__main__ import main; main()"
    result = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stdout) == (1, "")
    assert f"needs {library}. Install it with `pip install 'logikern[{extra}]'`." in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_prediction_imports_only_what_it_needs(suffix, model, table, tmp_path):
    data = tmp_path / f"row.{suffix}"
    row = table.head(1).drop(columns="kind")
    row.to_csv(data, index=False) if suffix == "csv" else row.to_parquet(data, index=False)
    code = (
        "import sys; from logikern.cli.main import app; app(sys.argv[1:], standalone_mode=False); "
        f"print([name for name in {UNUSED_BY_PREDICTIONS} if name in sys.modules])"
    )
    command = [sys.executable, "-c", code, "predict", str(model), str(data)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    header, prediction, unused = result.stdout.splitlines()
    assert header.startswith("predicted,probability_apple")
    assert prediction.startswith("apple,")
    assert unused == "[]"


def test_kernel_names_are_those_of_the_library():
    assert list(KernelName) == ["auto", *KERNELS]


def test_operator_names_are_those_of_the_library():
    assert list(OperatorName) == ["auto", *OPERATORS, NEIGHBOURHOODS]
