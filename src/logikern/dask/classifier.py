"""The classifier whose neighbourhoods are fitted by a Dask cluster."""

import inspect
from typing import Any, Self

import numpy as np
from distributed import Client, get_client
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from logikern.dask import waiting
from logikern.dask.cells import ClusterCells
from logikern.dask.chunks import is_lazy, require_room, row_chunks, stack
from logikern.dask.prediction import lazily
from logikern.encoding.roles import list_chosen
from logikern.estimators.classifier import KernelLogisticClassifier

_LOCAL = inspect.signature(KernelLogisticClassifier).parameters


class DaskKernelLogisticClassifier(ClassifierMixin, BaseEstimator):
    """A `KernelLogisticClassifier` for Dask arrays and frames, with the same parameters and the same result.

    The workers sort rows into neighbourhoods, and each neighbourhood is fitted in one task. The search for
    hyperparameters uses a few thousand rows and runs in the process that calls `fit`, so checkpoints, callbacks and
    Ctrl-C work as usual.
    The model contains its training rows, which must fit into the memory of that process.

    Fits that are not divided, because they have at most 12,000 rows or a kernel that is not based on distances, run
    in that process as well. The guide "Fitting on a Dask cluster" describes the network traffic and
    says when a cluster is worthwhile.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client of the cluster. None uses the default client at the time of `fit`. The client is not pickled.
    **settings :
        Parameters of `KernelLogisticClassifier`, by name.

    Attributes
    ----------
    client_ : distributed.Client
        Available only while `fit` runs.
    classes_, and other names that end with an underscore :
        Attributes of the fitted `KernelLogisticClassifier` that `to_local` returns.
    """

    def __init__(self, client: Client | None = None, **settings: Any) -> None:
        unknown = [name for name in settings if name not in _LOCAL]
        if unknown:
            raise TypeError(f"DaskKernelLogisticClassifier has no parameter {unknown[0]!r}.")
        self.client = client
        for name, parameter in _LOCAL.items():
            setattr(self, name, settings.get(name, parameter.default))

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask array or dask dataframe of shape (n_samples, n_features)
            The chunks of an array must have known sizes, which may differ. Chunks stay in the memory of the workers
            during the fit.
        y : dask array, dask series or frame, or array
            Class labels, or a distribution over the classes for each row.
        sample_weight : dask array, dask series, array or None, default=None
            Weight of each row in the log likelihood.
        groups : dask array, dask series, array or None, default=None
            Group of each row. Cross-validation and leave-one-out hold out whole groups.

        Returns
        -------
        self : object
        """
        self.__dict__ = {name: value for name, value in vars(self).items() if name in _LOCAL or name == "client"}
        if not is_lazy(X):
            raise TypeError(
                f"`X` must be a Dask array or a Dask dataframe, but is of type {type(X).__name__}. Use "
                "KernelLogisticClassifier, or `dask.array.from_array`."
            )
        given = [X, y, sample_weight, groups]
        chunks = [row_chunks(own, name) if is_lazy(own) else None for own, name in zip(given, _NAMES, strict=True)]
        require_room(X)
        self.client_ = find_client(self.client)
        try:
            self._local = self._fit(given, chunks, waiting.Watch(self.client_, waiting.USUAL))
        finally:
            del self.client_
        self.__dict__ |= {name: value for name, value in vars(self._local).items() if _is_result(name)}
        return self

    def _fit(self, given: list[Any], chunks: list[Any], watch: waiting.Watch) -> KernelLogisticClassifier:
        """The local estimator, fitted to the gathered rows; workers fit its neighbourhoods."""
        lazy = [None if own is None else watch.client.compute(own) for own in chunks]
        parts = [None if own is None else waiting.fetch(own, watch) for own in lazy]
        assert lazy[0] is not None and parts[0] is not None
        lengths = [own.shape[0] for own in parts[0]]
        rows = [old if own is None else stack(own) for old, own in zip(given, parts, strict=True)]
        del parts, lazy[1:]
        local = self._make_local()
        cluster = ClusterCells(watch, lazy[0], lengths, bool(list_chosen(self.categorical_features)))
        local._fit_cells = cluster
        try:
            return local.fit(*rows)
        finally:
            cluster.cancel()
            del local._fit_cells

    def _make_local(self) -> KernelLogisticClassifier:
        return KernelLogisticClassifier(**{name: getattr(self, name) for name in _LOCAL})

    def to_local(self) -> KernelLogisticClassifier:
        """The fitted `KernelLogisticClassifier`, for model files, leave-one-out and explanations."""
        check_is_fitted(self)
        local = self._make_local()
        local.__dict__ |= vars(self._local)
        return local

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, (n_samples, n_classes); a Dask array if X is a Dask array or frame."""
        return self._predict("predict_proba", X, np.empty((0, len(self.to_local().classes_))))

    def predict_log_proba(self, X: Any) -> Any:
        """Log probabilities of the classes, (n_samples, n_classes); see `predict_proba`."""
        return self._predict("predict_log_proba", X, np.empty((0, len(self.to_local().classes_))))

    def predict(self, X: Any) -> Any:
        """The most probable class of each row, (n_samples,); see `predict_proba`."""
        return self._predict("predict", X, self.to_local().classes_[:0])

    def _predict(self, method: str, X: Any, empty: Any) -> Any:
        local = self.to_local()
        local.__dict__.pop("_training", None)  # not needed for predictions, and as large as the model
        return lazily(local, method, X, empty) if is_lazy(X) else getattr(local, method)(X)

    @property
    def hyperparameters_(self) -> Any:
        """Name, class or group, value and starting value of each hyperparameter, as a frame."""
        return self.to_local().hyperparameters_

    def __sklearn_clone__(self) -> Self:
        """The same parameters, unfitted; the client is shared, because it cannot be copied."""
        return type(self)(self.client, **clone(self._make_local()).get_params(deep=False))

    def __getstate__(self) -> dict[str, Any]:
        """The state without the client, which belongs to this process."""
        return super().__getstate__() | {"client": None}


# The signature that scikit-learn and help() read parameters from.
_OWN = [*inspect.signature(DaskKernelLogisticClassifier.__init__).parameters.values()][:2]
DaskKernelLogisticClassifier.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [*_OWN, *(own.replace(kind=inspect.Parameter.KEYWORD_ONLY) for own in _LOCAL.values())]
)
_NAMES = ("X", "y", "sample_weight", "groups")


def find_client(client: Client | None) -> Client:
    """The given client, or the default client."""
    if client is None:
        try:
            client = get_client()
        except ValueError:
            raise ValueError(
                "There is no Dask client. Create one with `distributed.Client(address)`, or pass one as `client`."
            ) from None
    if not isinstance(client, Client):
        raise TypeError(f"`client` must be a distributed.Client, but is of type {type(client).__name__}.")
    if client.asynchronous:
        raise ValueError("`client` is asynchronous, but `fit` is synchronous. Pass a client with asynchronous=False.")
    return client


def _is_result(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")
