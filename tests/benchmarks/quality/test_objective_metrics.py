"""The objective, for networks and for direct optimization."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from benchmarks.quality.lbfgs import optimize, white_noise
from benchmarks.quality.measure import _equivalent_iterations
from benchmarks.quality.objective_metrics import evaluate, styler
from models.evaluation.flicker import panned_flicker, still_flicker
from models.evaluation.image_metrics import to_tensor
from models.loss_terms import ObjectiveTerms
from models.precision import Precision
from models.training.features import Vgg19Features
from models.training.objective import Objective
from tests.benchmarks.quality.conftest import TINY, painting, state
from tests.models.evaluation.conftest import CPU

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.full
def test_direct_optimization_goes_down_and_tells_what_it_took(objective, photograph) -> None:
    with torch.no_grad():
        before = float(objective(photograph, photograph).total)
    told: list[int] = []
    few, more = optimize(objective, photograph, (2, 6), lambda: told.append(1))
    assert before > few.terms.total > more.terms.total > 0
    assert (few.iterations, more.iterations, len(told)) == (2, 6, 6)
    assert 6 < more.evaluations <= 6 * 3
    with torch.no_grad():
        assert float(objective(more.picture, photograph).total) == pytest.approx(more.terms.total)
    assert 0 <= float(more.picture.min()) <= float(more.picture.max()) <= 255
    assert more.path[:3] == few.path
    assert [more.path[n] for n in (0, 2, 6)] == pytest.approx(
        [before, few.terms.total, more.terms.total], rel=1e-4
    )


@pytest.mark.full
def test_direct_optimization_begins_with_noise_where_that_is_asked_for(objective, photograph):
    start = white_noise(photograph)
    assert torch.equal(start, white_noise(photograph))
    assert 120 < start.mean() < 135
    assert 0 <= start.min() < 5 < 250 < start.max() <= 255
    (reached,) = optimize(objective, photograph, (3,), start=start)
    with torch.no_grad():
        assert reached.path[0] == pytest.approx(float(objective(start, photograph).total))
    assert reached.path[3] < reached.path[0]
    assert reached.path[0] > optimize(objective, photograph, (1,))[0].path[0]


def test_direct_optimization_is_content_with_what_cannot_be_better() -> None:
    photograph = torch.full((1, 3, 8, 8), 100.0)

    def objective(pixels: Tensor, photograph: Tensor) -> ObjectiveTerms[Tensor]:
        loss = (pixels - photograph).square().mean()
        return ObjectiveTerms(loss, loss, loss, loss)

    (reached,) = optimize(objective, photograph, (5,))
    assert (reached.iterations, reached.terms.total) == (0, 0)


@pytest.mark.full
def test_a_network_is_judged_by_the_objective_of_its_picture(objective, photograph) -> None:
    network, limitations = styler(state(), "baseline", Precision.fp32, CPU)
    assert not limitations
    picture = network(photograph)
    figures = evaluate(objective, photograph, picture)
    total, content, style, tv = (float(term) for term in objective(picture, photograph))
    assert figures.objective == pytest.approx(total)
    assert total == pytest.approx(content + 2 * style + 1e-6 * tv, rel=1e-4)
    assert (figures.content, figures.style, figures.tv) == pytest.approx((content, style, tv))
    assert figures.psnr == float("inf")
    half, _ = styler(state(), "baseline", Precision.bf16, CPU)
    assert 20 < evaluate(objective, photograph, half(photograph), picture).psnr < 80


@pytest.mark.gpu
def test_a_gpu_measures_what_the_cpu_does(vgg_state, photograph) -> None:
    cuda = torch.device("cuda:0")
    reached = []
    for device in (CPU, cuda):
        features = Vgg19Features(vgg_state, "caffe").to(device)
        objective = Objective(TINY, features, to_tensor(painting(), device))
        (stands,) = optimize(objective, photograph.to(device), (5,))
        network, _ = styler(state(), "fused", Precision.fp32, device)
        figures = evaluate(objective, photograph.to(device), network(photograph.to(device)))
        flickers = (f(network, photograph.to(device)) for f in (still_flicker, panned_flicker))
        reached.append((stands.terms.total, figures.objective, *flickers))
    assert reached[0] == pytest.approx(reached[1], rel=0.05)


def test_a_network_is_compared_with_the_iterations_that_reach_as_far() -> None:
    paths = [(9.0, 5.0, 3.0, 2.0), (9.0, 4.0, 2.0, 1.0), (9.0, 8.0, 7.0, 6.0)]
    assert _equivalent_iterations([3.0, 3.0, 6.5], paths) == 2
    assert _equivalent_iterations([1.0, 0.5, 9.0], paths) is None, "two of three are out of reach"
    assert _equivalent_iterations([9.0], paths[:1]) == 0
