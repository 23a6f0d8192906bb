"""How strongly does an adapter act, and what is left of it after merging?

>>> W, A, B = [[1, 2], [3, 4]], [[1, 1]], [[2], [0]]
>>> lora_forward([1, 1], W, A, B, alpha=2)
[11.0, 7.0]
>>> merge(W, A, B, alpha=2)
[[5.0, 6.0], [3.0, 4.0]]
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from operator import mul

from rl_lab._models import whole_number

Matrix = Sequence[Sequence[float]]


def scaling(alpha: float, r: int, rslora: bool = False) -> float:
    """Return the factor in front of ``B @ A``: alpha / r, or in rsLoRA alpha / sqrt(r).

    The forward pass, the merge and every page of the course take it from here.

    Parameters
    ----------
    alpha : float
        Any finite number above 0; LoRA's paper fixes it once and does not tune it.
    r : int
        Rank, at least 1.
    rslora : bool
        Divide by the square root of the rank, so that a higher rank does not act more weakly.

    Returns
    -------
    float
        The factor.

    Raises
    ------
    TypeError, ValueError
        If `alpha` is no finite number above 0, or `r` no whole number from 1.

    References
    ----------
    Hu et al. (2021), arXiv:2106.09685, section 4.1; Kalajdzievski (2023), arXiv:2312.03732.

    Examples
    --------
    >>> scaling(16, 8), scaling(12, 8), scaling(16, 64), scaling(16, 64, rslora=True)
    (2.0, 1.5, 0.25, 2.0)
    """
    if isinstance(alpha, bool) or not isinstance(alpha, numbers.Real):
        raise TypeError(f"alpha must be a number, got {alpha!r}; pass for instance 16")
    rank = whole_number("r", r)
    try:
        factor = float(alpha) / (math.sqrt(rank) if rslora else rank)
    except OverflowError:  # a whole number beyond the range of floats
        raise ValueError("alpha and r must fit a float; pass for instance 16 and 8") from None
    if not (math.isfinite(factor) and alpha > 0):
        raise ValueError(f"alpha must be a finite number above 0, got {alpha}; pass for instance 16")
    return factor


def merge(
    W: Matrix, A: Matrix, B: Matrix, alpha: float, r: int | None = None, rslora: bool = False
) -> list[list[float]]:
    """Fold an adapter into its matrix: ``W + scaling(alpha, r) * B @ A``, as a new matrix.

    Parameters
    ----------
    W : sequence of sequences of float
        Frozen matrix, d rows of k numbers. It is not changed; merging into the result once more adds it
        twice.
    A, B : sequence of sequences of float
        The adapter: A of shape r x k, B of shape d x r.
    alpha : float
        As in :func:`scaling`.
    r : int, optional
        Rank; by default the number of rows of A. Given, it must agree with both shapes.
    rslora : bool
        As in :func:`scaling`.

    Returns
    -------
    list of list of float
        d rows of k floats.

    Raises
    ------
    ValueError
        If the shapes do not fit; the message gives all of them.
    TypeError
        If a matrix is no list of rows.

    Examples
    --------
    >>> merge([[1, 2], [3, 4]], A=[[1, 1]], B=[[2], [0]], alpha=1)
    [[3.0, 4.0], [3.0, 4.0]]
    """
    rank = _check_shapes(W, A, B, r)
    s = scaling(alpha, rank, rslora)
    columns = list(zip(*A, strict=True))
    return [
        [float(w + s * sum(map(mul, b, a))) for w, a in zip(row, columns, strict=True)]
        for row, b in zip(W, B, strict=True)
    ]


def lora_forward(
    x: Sequence[float],
    W: Matrix,
    A: Matrix,
    B: Matrix,
    alpha: float,
    r: int | None = None,
    rslora: bool = False,
) -> list[float]:
    """Apply a layer with its adapter beside it: ``W x + scaling(alpha, r) * B (A x)``.

    Parameters
    ----------
    x : sequence of float
        Input, k numbers.
    W, A, B, alpha, r, rslora
        As in :func:`merge`, whose result applied to `x` gives the same output up to rounding.

    Returns
    -------
    list of float
        Output, d numbers.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> lora_forward([1, 1], [[1, 2], [3, 4]], A=[[1, 1]], B=[[2], [0]], alpha=1)
    [7.0, 7.0]
    """
    rank = _check_shapes(W, A, B, r)
    if len(x) != len(W[0]):
        raise ValueError(f"x must hold {len(W[0])} numbers, one per column of W, got {len(x)}")
    s = scaling(alpha, rank, rslora)
    low = _times(A, x)  # r numbers: the bottleneck
    return [float(w + s * b) for w, b in zip(_times(W, x), _times(B, low), strict=True)]


def _times(M: Matrix, x: Sequence[float]) -> list[float]:
    return [sum(map(mul, row, x)) for row in M]


def _check_shapes(W: Matrix, A: Matrix, B: Matrix, r: int | None) -> int:
    """Return the rank, once W is d x k, A is r x k and B is d x r."""
    (d, k), a, b = (_shape(name, matrix) for name, matrix in (("W", W), ("A", A), ("B", B)))
    rank = a[0] if r is None else whole_number("r", r)
    if (a, b) != ((rank, k), (d, rank)):
        raise ValueError(
            f"beside W of {d}x{k}, A must be r x k = {rank}x{k} and B d x r = {d}x{rank}; "
            f"got A {a[0]}x{a[1]} and B {b[0]}x{b[1]}"
        )
    return rank


def _shape(name: str, matrix: Matrix) -> tuple[int, int]:
    if not hasattr(matrix, "__len__") or not all(hasattr(row, "__len__") for row in matrix):
        raise TypeError(f"{name} must be a list of rows of numbers, got {matrix!r:.60}")
    widths = {len(row) for row in matrix}
    if len(widths) != 1 or widths == {0}:
        raise ValueError(f"{name} must have rows of one length, at least one, got lengths {sorted(widths)}")
    return len(matrix), widths.pop()
