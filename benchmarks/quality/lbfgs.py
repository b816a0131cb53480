"""Optimizes the pixels of a picture with L-BFGS: a lower bound for networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.loss_terms import ObjectiveTerms, read_terms

HISTORY = 20  # corrections in the history of L-BFGS
MAX_EVALUATIONS = 25  # per line search
FIRST_MOVE = 1.0  # of 255, root mean square: the length of the first trial step

Objective = Callable[[Tensor, Tensor], ObjectiveTerms[Tensor]]  # as in models.training.objective


@dataclass(frozen=True, slots=True, eq=False)
class LbfgsResult:
    """The state of an optimization after a number of iterations.

    Attributes:
        iterations: Iterations done; fewer than requested only if no step reduces the loss.
        evaluations: Evaluations of the objective and its gradient so far.
        path: The objective of the start and after each iteration.
        picture: [1, 3, H, W] float32, RGB, within 0-255.
    """

    iterations: int
    evaluations: int
    path: tuple[float, ...]
    terms: ObjectiveTerms[float]
    picture: Tensor


def optimize(
    objective: Objective,
    photograph: Tensor,
    iterations: Sequence[int],
    iterated: Callable[[], None] = lambda: None,
    *,
    start: Tensor | None = None,
) -> list[LbfgsResult]:
    """Minimize the objective over the pixels (Gatys et al. 2015, arXiv:1508.06576).

    The pixels are unconstrained, but the objective sees them clamped to 0-255. Without the clamp,
    they would reach objectives that no picture has. Johnson et al. (2016, arXiv:1603.08155,
    section 4.1) clamp after every iteration instead, which invalidates the history. One iteration
    is one L-BFGS step, with a history of HISTORY, to a point that satisfies the strong Wolfe
    conditions. It costs little more than one evaluation of the objective.

    `start` defaults to the photograph, [1, 3, H, W], RGB 0-255. Returns the state after each number
    in `iterations`, which ascend. Calls `iterated` after every iteration.
    """
    search = _Search(objective, photograph, photograph if start is None else start)
    reached: list[LbfgsResult] = []
    for count in iterations:
        while search.iterations < count and search.step():
            iterated()
        reached.append(search.result())
    return reached


def white_noise(photograph: Tensor) -> Tensor:
    """Draw a start as Johnson et al. do: uniform in 0-255, like `photograph`, always the same."""
    drawn = torch.rand(photograph.shape, generator=torch.Generator().manual_seed(0))
    return drawn.mul_(255).to(photograph)


class _Search:
    """The state of an optimization between two iterations."""

    def __init__(self, objective: Objective, photograph: Tensor, start: Tensor) -> None:
        self.iterations = self._evaluations = 0
        self._path: list[float] = []
        self._objective, self._photograph = objective, photograph
        # L-BFGS flattens its parameters with `view`.
        self._pixels = start.clone(memory_format=torch.contiguous_format).requires_grad_()
        self._evaluated: tuple[Tensor, Tensor] | None = None  # the last point, and its loss
        self._optimizer = self._new_optimizer()
        self._record()

    def step(self) -> bool:
        """Run one iteration; return False if no step reduces the loss."""
        if self._descend():
            return True
        self._optimizer = self._new_optimizer()  # the history may yield a bad direction
        return self._descend()

    def result(self) -> LbfgsResult:
        with torch.no_grad():
            picture = self._pixels.clamp(0, 255)
            terms = read_terms(self._objective(picture, self._photograph))
        return LbfgsResult(self.iterations, self._evaluations, tuple(self._path), terms, picture)

    def _descend(self) -> bool:
        before = self._pixels.detach().clone()
        self._optimizer.step(lambda: float(self._evaluate()))
        self._optimizer.param_groups[0]["lr"] = 1.0  # from here on the history determines the scale
        if torch.equal(before, self._pixels):
            return False
        self.iterations += 1
        self._record()
        return True

    def _record(self) -> None:
        self._path.append(float(self._evaluate()) / self._pixels.numel())

    def _evaluate(self) -> Tensor:
        """Compute the loss, and its gradient in `_pixels.grad`, unless the line search just did."""
        if self._evaluated is not None and torch.equal(self._evaluated[0], self._pixels):
            return self._evaluated[1]
        self._pixels.grad = None
        # Scaled to a sum over the pixels: L-BFGS discards curvatures below 1e-10.
        picture = self._pixels.clamp(0, 255)
        loss = self._objective(picture, self._photograph).total * self._pixels.numel()
        torch.autograd.backward(loss)
        self._evaluations += 1
        self._evaluated = self._pixels.detach().clone(), loss.detach()
        return self._evaluated[1]

    def _new_optimizer(self) -> torch.optim.Optimizer:
        """Create an L-BFGS without a history, whose first trial step is FIRST_MOVE long."""
        self._evaluate()
        gradient = self._pixels.grad
        assert gradient is not None  # it has just been computed
        # PyTorch: the parameters of Tensor.norm have no annotations.
        length = float(gradient.norm())  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        total = float(gradient.abs().sum())
        shortened = min(1.0, 1.0 / total) if total else 1.0  # PyTorch's factor of a first step
        move = FIRST_MOVE * gradient.numel() ** 0.5
        return torch.optim.LBFGS(
            [self._pixels],
            lr=move / (length * shortened) if length else 1.0,
            max_iter=1,
            max_eval=MAX_EVALUATIONS,
            history_size=HISTORY,
            tolerance_grad=0,
            line_search_fn="strong_wolfe",
        )
