"""Classes whose functions are coupled by a label kernel."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from logikern.numerics.outcome import Array, Indices
from logikern.structure.mixing import Mixing


@dataclass(frozen=True)
class LabelKernelPolicy:
    """Tolerances relative to the largest entry or eigenvalue of a matrix."""

    asymmetry: float = 1e-8
    negative: float = 1e-8  # most negative eigenvalue that counts as a rounding error
    # Smallest eigenvalue of a matrix that tells all classes apart by itself. Below it, the identity is added.
    least_own: float = 1e-6
    dropped: float = 1e-12  # eigenvalues of the shared part that count as zero


USUAL = LabelKernelPolicy()


@dataclass(frozen=True, eq=False)
class LabelKernel(Mixing):
    """u = F g + s h: functions g that classes share, and a function h of each class.

    With one kernel k and one variance v, the covariance of two classes is a joint kernel, v k(x, z) times L = F F' +
    s^2 I (Memisevic 2006, sec. 4). With a variance for each of the two parts, the share of the identity is learned.
    Build it with `split`.
    """

    factor: Array  # F, (C, r)
    own: float  # s

    @property
    def matrix(self) -> Array:
        """L, (C, C)."""
        return np.asarray(self.factor @ self.factor.T + self.own**2 * np.eye(self.n_classes))

    @property
    def n_shared(self) -> int:
        """Number of shared functions."""
        return int(self.factor.shape[1])

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return len(self.factor)

    @property
    def n_latent(self) -> int:  # type: ignore[override]
        return self.n_shared + self.n_classes

    @property
    def groupings(self) -> dict[str, Indices]:
        shared, own = np.zeros(self.n_shared, dtype=np.intp), np.arange(1, 1 + self.n_classes)
        return {"level": np.concatenate([shared, np.ones_like(own)]), "leaf": np.concatenate([shared, own])}

    def forward(self, latent: Array) -> Array:
        found = self.factor.astype(latent.dtype) @ latent[..., : self.n_shared, :]
        found += latent.dtype.type(self.own) * latent[..., self.n_shared :, :]
        return np.asarray(found)

    def adjoint(self, per_class: Array) -> Array:
        shared = self.factor.T.astype(per_class.dtype) @ per_class
        return np.concatenate([shared, per_class.dtype.type(self.own) * per_class], axis=-2)

    def describe(self, members: Indices) -> str:
        """The latent functions of a group, in words."""
        if (members < self.n_shared).all():
            return "shared part"
        own = members - self.n_shared
        return "class-specific parts" if len(own) == self.n_classes else f"class-specific part of {_joined(own)}"


def _joined(numbers: Indices) -> str:
    return ", ".join(map(str, numbers))


def split(matrix: Array, policy: LabelKernelPolicy = USUAL) -> LabelKernel:
    """The structure of a positive semidefinite matrix L, as a shared part and the largest multiple of the identity.

    A singular matrix leaves some combination of classes without a function, so that the data could not tell these
    classes apart. The identity times the mean of the diagonal is then added.
    """
    values, vectors = np.linalg.eigh(matrix)
    is_singular = values[0] <= policy.least_own * values[-1]
    least = 0.0 if is_singular else float(values[0])
    shared = np.maximum(values - least, 0.0)
    kept = shared > policy.dropped * values[-1]
    own = float(np.trace(matrix)) / len(matrix) if is_singular else least
    return LabelKernel(np.ascontiguousarray(vectors[:, kept] * np.sqrt(shared[kept])), float(np.sqrt(own)))


def read_label_kernel(given: Any, classes: Array, policy: LabelKernelPolicy = USUAL) -> LabelKernel:
    """The structure of a label kernel: a function of two labels, a frame with labels, or a matrix.

    Parameters
    ----------
    given : callable, frame or array of shape (C, C)
        A frame is read by its labels. It may have more labels than there are classes.
    classes : array of shape (C,)
        The classes in the order of the matrix.
    policy : LabelKernelPolicy

    Raises
    ------
    ValueError
        If the values are not a symmetric positive semidefinite matrix with a row for each class.
    """
    if len(classes) == 2:
        raise ValueError(
            "`label_kernel` needs at least three classes, but `y` has two, whose probabilities depend only on the "
            "difference of their functions. Use label_kernel=None, and set the scale by `variance`."
        )
    matrix = _as_numbers(_values(given, classes))
    _check(matrix, classes, policy)
    return split(0.5 * (matrix + matrix.T), policy)


def _values(given: Any, classes: Array) -> Any:
    """The values between all classes, unchecked."""
    labels = classes.tolist()
    if callable(given):
        return [[given(one, other) for other in labels] for one in labels]
    if not hasattr(given, "columns"):
        return given
    for axis, names in (("rows", given.index), ("columns", given.columns)):
        missing = [label for label in labels if label not in names]
        if missing:
            raise ValueError(
                f"`label_kernel` as a frame must have a row and a column for every class, but its {axis} lack "
                f"{missing[0]!r}. Add it, or pass an array in the order of the classes."
            )
    return given.loc[labels, labels]


def _as_numbers(values: Any) -> Array:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            "`label_kernel` must be a matrix of numbers, a frame with labels, or a function of two labels that "
            f"returns a number, but is {values!r:.80}."
        ) from None


def _check(matrix: Array, classes: Array, policy: LabelKernelPolicy) -> None:
    shape = (len(classes), len(classes))
    if matrix.shape != shape:
        raise ValueError(
            f"`label_kernel` must have a row and a column for each of the {len(classes)} classes, but has shape "
            f"{matrix.shape!r}. Pass values in the order of the sorted labels, a frame with labels, or a function."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("`label_kernel` must be finite, but has NaN or infinite values. Fill them in.")
    largest, asymmetry = float(np.abs(matrix).max()), np.abs(matrix - matrix.T)
    if asymmetry.max() > policy.asymmetry * largest:
        row, column = (int(place) for place in np.unravel_index(asymmetry.argmax(), shape))
        raise ValueError(
            f"`label_kernel` must be symmetric, but is {matrix[row, column]:g} between {classes[row]!r} and "
            f"{classes[column]!r}, and {matrix[column, row]:g} in the other order. Pass (L + L') / 2."
        )
    values = np.linalg.eigvalsh(matrix)
    if not largest or values[0] < -policy.negative * max(values[-1], 0.0):
        what = f"its smallest eigenvalue is {values[0]:.3g}" if largest else "all its values are zero"
        raise ValueError(
            f"`label_kernel` must be positive semidefinite and not zero, but {what}. A covariance of classes has no "
            "negative eigenvalues: set them to zero, or use a kernel such as exp(-distance)."
        )
