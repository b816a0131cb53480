"""Direct optimization of a picture: the objective of training made small pixel by pixel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

HISTORY = 20  # corrections kept by L-BFGS
SEARCHED = 25  # evaluations a line search may take
FIRST_MOVE = 1.0  # of 255, root mean square: how far the first, uninformed step looks

Objective = Callable[[Tensor, Tensor], Tensor]  # as models.training.objective's


@dataclass(frozen=True, slots=True, eq=False)
class LbfgsResult:
    """A picture after `iterations` iterations, which took `evaluations` of the objective.

    `path` is the objective after each iteration so far, beginning with that of the start;
    `terms` are the objective's [total, content, style, TV]; `picture` is [1, 3, H, W] float32
    RGB within 0-255. `iterations` is less than what was asked for only where no step goes down.
    """

    iterations: int
    evaluations: int
    path: tuple[float, ...]
    terms: tuple[float, ...]
    picture: Tensor


def optimize(
    objective: Objective,
    photograph: Tensor,  # [1, 3, H, W], float RGB 0-255
    iterations: Sequence[int],
    iterated: Callable[[], None] = lambda: None,
    *,
    start: Tensor | None = None,  # like the photograph
) -> list[LbfgsResult]:
    """Gatys' method (2015, arXiv:1508.06576) with Johnson's objective, from `start`, which is the
    photograph where none is given: what stands after each of `iterations`, which ascend.

    The unknowns are the pixels, and the objective is that of the picture they make when clamped
    to 0-255: unbounded, they would reach objectives that no picture has, as Johnson et al.
    (2016, arXiv:1603.08155, section 4.1) found, who clamp after every iteration instead; that
    spoils the history. One iteration is one step of L-BFGS with a history of HISTORY to a point
    that satisfies the strong Wolfe conditions, which takes little more than one evaluation of
    the objective and its gradient. `iterated` is called after each iteration.
    """
    search = _Search(objective, photograph, photograph if start is None else start)
    reached = []
    for wanted in iterations:
        while search.done < wanted and search.step():
            iterated()
        reached.append(search.standing())
    return reached


def white_noise(photograph: Tensor) -> Tensor:
    """A picture like `photograph` of which every value is drawn from 0-255 alike, the same each
    time: where Johnson et al. begin."""
    drawn = torch.rand(photograph.shape, generator=torch.Generator().manual_seed(0))
    return drawn.mul_(255).to(photograph)


class _Search:
    """An optimization under way."""

    def __init__(self, objective: Objective, photograph: Tensor, start: Tensor) -> None:
        self.done = self._evaluations = 0
        self._path: list[float] = []
        self._objective, self._photograph = objective, photograph
        # L-BFGS takes them as one row, in memory as in shape.
        self._pixels = start.clone(memory_format=torch.contiguous_format).requires_grad_()
        self._seen: tuple[Tensor, Tensor] | None = None  # the last point, and its loss
        self._optimizer = self._fresh()
        self._record()

    def step(self) -> bool:
        """Take one iteration; False where none goes down."""
        if self._descend():
            return True
        self._optimizer = self._fresh()  # the history may have led astray
        return self._descend()

    def standing(self) -> LbfgsResult:
        with torch.no_grad():
            picture = self._pixels.clamp(0, 255)
            terms = self._objective(picture, self._photograph).tolist()
        path = tuple(self._path)
        return LbfgsResult(self.done, self._evaluations, path, tuple(terms), picture)

    def _descend(self) -> bool:
        before = self._pixels.detach().clone()
        self._optimizer.step(self._evaluate)
        self._optimizer.param_groups[0]["lr"] = 1.0  # now the history knows the scale
        if torch.equal(before, self._pixels):
            return False
        self.done += 1
        self._record()
        return True

    def _record(self) -> None:
        self._path.append(float(self._evaluate()) / self._pixels.numel())

    def _evaluate(self) -> Tensor:
        """The loss, its gradient left in the pixels. A step begins where the search before it
        ended: that point is not evaluated again."""
        if self._seen is not None and torch.equal(self._seen[0], self._pixels):
            return self._seen[1]
        self._pixels.grad = None
        # As large as a sum over pixels, for L-BFGS takes a curvature below 1e-10 for none.
        picture = self._pixels.clamp(0, 255)
        loss = self._objective(picture, self._photograph)[0] * self._pixels.numel()
        loss.backward()
        self._evaluations += 1
        self._seen = self._pixels.detach().clone(), loss.detach()
        return self._seen[1]

    def _fresh(self) -> torch.optim.LBFGS:
        """L-BFGS without a history, whose first step looks FIRST_MOVE far along the gradient."""
        self._evaluate()
        gradient = self._pixels.grad
        assert gradient is not None  # it has just been computed
        length, total = float(gradient.norm()), float(gradient.abs().sum())
        shortened = min(1.0, 1.0 / total) if total else 1.0  # what PyTorch does to a first step
        move = FIRST_MOVE * gradient.numel() ** 0.5
        return torch.optim.LBFGS(
            [self._pixels],
            lr=move / (length * shortened) if length else 1.0,
            max_iter=1,
            max_eval=SEARCHED,
            history_size=HISTORY,
            tolerance_grad=0,
            line_search_fn="strong_wolfe",
        )
