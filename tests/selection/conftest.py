import pytest

from logikern.selection import growth
from tests.policies import change_policy


@pytest.fixture
def faint_priors(monkeypatch):
    """Priors that have no effect."""
    scales = ("kernel_scale", "variance_scale", "grown_variance_scale", "deviation_scale")
    change_policy(monkeypatch, growth, **dict.fromkeys(scales, 1e6))
