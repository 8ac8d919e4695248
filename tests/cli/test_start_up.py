"""Help and version come at once: nothing heavy is imported for them."""

import subprocess
import sys

from logikern import __version__
from logikern.cli.options import KernelName, OperatorName
from logikern.estimators._cells.settings import NAME as NEIGHBOURHOODS
from logikern.kernels import KERNELS
from logikern.operators.choose import OPERATORS

HEAVY = ("numpy", "scipy", "pandas", "sklearn", "numba")


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


def test_kernel_names_are_those_of_the_library():
    assert list(KernelName) == ["auto", *KERNELS]


def test_operator_names_are_those_of_the_library():
    assert list(OperatorName) == ["auto", *OPERATORS, NEIGHBOURHOODS]
