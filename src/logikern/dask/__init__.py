"""Fit large data on a Dask cluster; install with `pip install 'logikern[dask]'`."""

try:
    import distributed  # noqa: F401
except ImportError as error:
    raise ImportError(
        "`logikern.dask` needs dask and distributed, which are not installed. Run pip install 'logikern[dask]'."
    ) from error

from logikern.dask.classifier import DaskKernelLogisticClassifier

__all__ = ["DaskKernelLogisticClassifier"]
