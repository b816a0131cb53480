"""Measurement of styles on the same photographs, for `styleforge quality`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean, median
from typing import Any

import torch
from torch import Tensor

from benchmarks.quality.contact_sheet import Pixels
from benchmarks.quality.inputs import Photograph, StyleUnderTest
from benchmarks.quality.lbfgs import HISTORY, LbfgsResult, optimize, white_noise
from benchmarks.quality.objective_metrics import ObjectiveMetrics, Styler, evaluate, styler
from models.evaluation import flicker
from models.evaluation.image_metrics import border, clipped, to_pixels, to_tensor
from models.families.any_style import STYLE_SIZE
from models.precision import Precision
from models.training.config import TrainingConfig
from models.training.features import Vgg19Features
from models.training.objective import Objective
from models.training.run import fit
from models.vit_style_transfer import StyleForgeTransformer

REFERENCE = Precision.fp32
SHEET_ITERATIONS = 100

ProgressCallback = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class MeasurementPlan:
    """Options for measuring styles.

    Attributes:
        precisions: The precisions, including FP32.
        iterations: L-BFGS iterations to report, ascending.
        direct_photographs: Number of photographs to optimize with L-BFGS.
        texture: Amount of texture for a second measurement of flicker, 0 to 1; 0 for none.
    """

    networks: tuple[str, ...]
    precisions: tuple[Precision, ...]
    kernels: str
    iterations: tuple[int, ...]
    direct_photographs: int
    flicker_photographs: int
    texture: float = 0.0

    @property
    def sheet_iterations(self) -> int:
        return min(self.iterations, key=lambda wanted: abs(wanted - SHEET_ITERATIONS))


@dataclass(frozen=True, slots=True, eq=False)
class StyleImages:
    """Pictures of a style: FP32 results by network, and L-BFGS ones at the sheets' iteration."""

    key: str
    networks: dict[str, list[Pixels]]
    direct: list[Pixels]


def measurement_conditions(
    plan: MeasurementPlan, photographs: Sequence[Photograph]
) -> dict[str, Any]:
    """Return the conditions of the measurement, and an empty list of styles."""
    pictures = [to_tensor(photograph.pixels, torch.device("cpu")) for photograph in photographs]
    return {
        "kernels": plan.kernels,
        "photographs": [
            {
                "name": photograph.name,
                "original": list(photograph.original),
                "measured": [picture.shape[3], picture.shape[2]],
                "clipped": clipped(picture),
                **asdict(border(picture)),
            }
            for photograph, picture in zip(photographs, pictures, strict=True)
        ],
        "direct": {
            "iterations": list(plan.iterations) if plan.direct_photographs else [],
            "photographs": plan.direct_photographs,
            "history": HISTORY,
            "starts": {"direct": "the photograph", "from_noise": "white noise"},
            "step": "L-BFGS with a strong Wolfe search, over the pixels, clamped to 0-255",
        },
        "flicker": {
            "photographs": plan.flicker_photographs,
            "frames": flicker.FRAMES,
            "sigma": flicker.SIGMA,
            **({"texture": plan.texture} if plan.texture else {}),
        },
        "styles": [],
    }


class QualityMeasurement:
    """A measurement of styles, one after another, on the same photographs."""

    def __init__(
        self,
        plan: MeasurementPlan,
        photographs: Sequence[Photograph],
        features: Vgg19Features | None,
        device: torch.device,
        any_style: Mapping[str, StyleForgeTransformer] | None = None,
    ) -> None:
        """Measure the objective only with `features`, and each `any_style` network per painting."""
        self._plan, self._device = plan, device
        self._any_style = {name: net.to(device) for name, net in (any_style or {}).items()}
        self._names = [photograph.name for photograph in photographs]
        self._pictures = [to_tensor(photograph.pixels, device) for photograph in photographs]
        self._borders = [border(picture) for picture in self._pictures]
        if features is not None:
            features.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._features = features

    def measure(
        self, subject: StyleUnderTest, say: ProgressCallback
    ) -> tuple[dict[str, Any], StyleImages]:
        """Measure one style; return its part of the report, and its pictures."""
        objective = self._objective(subject)
        entry: dict[str, Any] = {
            "key": subject.pack.key,
            "title": subject.pack.title,
            "recipe": _recipe(subject.recipe) if subject.recipe else {},
            "networks": [],
        }
        shown = StyleImages(subject.pack.key, {}, [])
        for name in self._plan.networks:
            state = subject.networks.get(name)
            if state is None:
                none = {"not_run": f"the pack has no {name} network"}
                entry["networks"].append({"network": name, "precision": REFERENCE.title, **none})
                continue
            references: list[Tensor] = []
            for precision in self._plan.precisions:
                say(f"{subject.pack.title}: {name}, {precision.title}")
                row, results = self._network(objective, state, precision, references)
                entry["networks"].append({"network": name, "precision": precision.title, **row})
                if precision is REFERENCE:
                    references = results
                    if results:
                        shown.networks[name] = [to_pixels(result) for result in results]
        for name, network in self._any_style.items():
            say(f"{subject.pack.title}: any-style, {name}")
            row, results = self._judge(objective, self._given(network, subject), [])
            entry["networks"].append({"network": name, "precision": REFERENCE.title, **row})
            if results:
                shown.networks[name] = [to_pixels(result) for result in results]
        if subject.without_stability is not None:
            say(f"{subject.pack.title}: without the stability term")
            entry["without"], _ = self._network(objective, subject.without_stability, REFERENCE, [])
        if self._plan.direct_photographs and objective is not None:
            reached = self._optimized(objective, subject.pack.title, say)
            place = self._plan.iterations.index(self._plan.sheet_iterations)
            shown.direct.extend(to_pixels(stages[place].picture) for stages in reached)
            noisy = self._optimized(objective, subject.pack.title, say, white_noise)
            entry["direct"], entry["from_noise"] = map(self._direct_rows, (reached, noisy))
            for row in entry["networks"]:
                seen = [one["seen"] for one in row.get("each", [])]
                for name, runs in (("equals", reached), ("equals_from_noise", noisy)):
                    if seen:
                        row[name] = _equivalent_iterations(
                            seen, [stages[-1].path for stages in runs]
                        )
        return entry, shown

    def _objective(self, subject: StyleUnderTest) -> Objective | None:
        if self._features is None or subject.recipe is None or subject.painting is None:
            return None
        painting = to_tensor(fit(subject.painting, subject.recipe.style_size), self._device)
        return Objective(subject.recipe, self._features, painting)

    def _given(self, network: StyleForgeTransformer, subject: StyleUnderTest) -> Styler:
        """Return an any-style network that paints in the style of a painting."""
        if subject.painting is None:
            raise ValueError(f"no painting of {subject.pack.title}")
        painting = to_tensor(fit(subject.painting, STYLE_SIZE), self._device)
        with torch.inference_mode():
            code = network.encode_style(painting)
        return torch.inference_mode()(lambda photographs: network.stylize(photographs, code))

    def _network(
        self,
        objective: Objective | None,
        state: dict[str, Tensor],
        precision: Precision,
        references: Sequence[Tensor],
    ) -> tuple[dict[str, Any], list[Tensor]]:
        """Return a row of the report and its pictures, or why the network cannot run."""
        network, limitations = styler(state, self._plan.kernels, precision, self._device)
        row, results = self._judge(objective, network, references)
        return {"remarks": list(limitations), **row}, results

    def _judge(
        self, objective: Objective | None, network: Styler, references: Sequence[Tensor]
    ) -> tuple[dict[str, Any], list[Tensor]]:
        """Return the figures of a network and its pictures, or why it cannot run."""
        try:
            results = [network(picture) for picture in self._pictures]
        except (
            RuntimeError,
            NotImplementedError,
        ) as exc:  # PyTorch's exceptions for unsupported operations
            return {"not_run": str(exc).strip().partition("\n")[0]}, []
        if not all(bool(result.isfinite().all()) for result in results):
            return {"not_run": "its result is not finite"}, []
        judged = [
            evaluate(objective, picture, result, references[n] if references else None)
            for n, (picture, result) in enumerate(zip(self._pictures, results, strict=True))
        ]
        row = self._summary(judged) | self._flicker(network)
        row["each"] = [
            {"name": name, **_as_json(figures)}
            for name, figures in zip(self._names, judged, strict=True)
        ]
        return row, results

    def _summary(self, judged: Sequence[ObjectiveMetrics]) -> dict[str, Any]:
        """Return means, the lowest PSNR and the worst border step, without unmeasured values."""
        means = {
            name: fmean(getattr(figures, name) for figures in judged)
            for name in ("objective", "content", "style", "tv", "seen", "clipped", "beyond")
        }
        means = {name: mean for name, mean in means.items() if not math.isnan(mean)}
        noise = [figures.psnr for figures in judged if math.isfinite(figures.psnr)]
        steps = [
            figures.step - own.step for figures, own in zip(judged, self._borders, strict=True)
        ]
        return {
            **means,
            "psnr": fmean(noise) if noise else None,
            "psnr_min": min(noise) if noise else None,
            "edge": _ratio([f.edge for f in judged], [b.edge for b in self._borders]),
            "within": _ratio([f.within for f in judged], [b.within for b in self._borders]),
            "step": fmean(steps),
            "step_worst": max(steps, key=abs),
        }

    def _flicker(self, network: Styler) -> dict[str, Any]:
        chosen = self._pictures[: self._plan.flicker_photographs]
        if not chosen:
            return {}
        meters = {"still": flicker.still_flicker, "panned": flicker.panned_flicker}
        found: dict[str, Any] = {}
        for name, meter in meters.items():
            each = [meter(network, picture) for picture in chosen]
            found |= {name: fmean(each), f"{name}_each": each}
            if amount := self._plan.texture:
                from benchmarks.quality.textures import textured  # OpenCV

                each = [meter(textured(network, amount), picture) for picture in chosen]
                found |= {f"{name}_textured": fmean(each), f"{name}_textured_each": each}
        return found

    def _optimized(
        self,
        objective: Objective,
        title: str,
        say: ProgressCallback,
        start: Callable[[Tensor], Tensor] = lambda photograph: photograph,
    ) -> list[list[LbfgsResult]]:
        """Optimize the first photographs; return the result at each of the plan's iterations."""
        reached: list[list[LbfgsResult]] = []
        for name, picture in zip(
            self._names, self._pictures[: self._plan.direct_photographs], strict=False
        ):
            say(f"{title}: L-BFGS of {name}, {len(reached) + 1} of {self._plan.direct_photographs}")
            reached.append(
                optimize(objective, picture, self._plan.iterations, start=start(picture))
            )
        return reached

    def _direct_rows(self, reached: Sequence[Sequence[LbfgsResult]]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for n, wanted in enumerate(self._plan.iterations):
            stands = [stages[n] for stages in reached]
            terms = [fmean(column) for column in zip(*(s.terms for s in stands), strict=True)]
            rows.append(
                {
                    "iterations": wanted,
                    "taken": fmean(
                        stand.iterations for stand in stands
                    ),  # fewer if L-BFGS reached a minimum
                    "evaluations": fmean(stand.evaluations for stand in stands),
                    **dict(zip(("objective", "content", "style", "tv"), terms, strict=True)),
                    "each": [stand.terms[0] for stand in stands],
                }
            )
        return rows


def _equivalent_iterations(
    objectives: Sequence[float], paths: Sequence[Sequence[float]]
) -> float | None:
    """Return the median L-BFGS iterations to the network's objective; None if never reached."""
    counts = [
        next((n for n, value in enumerate(path) if value <= reached), math.inf)
        for reached, path in zip(objectives, paths, strict=False)
    ]
    count = median(counts)
    return count if math.isfinite(count) else None


def _ratio(values: Sequence[float], references: Sequence[float]) -> float | None:
    total = sum(references)
    return sum(values) / total if total else None


def _as_json(figures: ObjectiveMetrics) -> dict[str, float | None]:
    values = {f.name: getattr(figures, f.name) for f in fields(figures) if f.name != "picture"}
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def _recipe(config: TrainingConfig) -> dict[str, Any]:
    return {
        "content_weight": config.content_weight,
        "style_weight": config.style_weight,
        "tv_weight": config.tv_weight,
        "style_size": config.style_size,
        "style_scales": list(config.style_scales),
    }
