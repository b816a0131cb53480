"""Formats the metrics of styles stored by `styleforge quality` as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables.cells import figure, markdown_table, without_empty_columns

TRAINED = ("full", "lite")  # the networks of a style; any other one paints every style

# Explanations of columns, each shown if one of its columns is in the tables.
LEGENDS = (
    (
        {"full", "lite"},
        "*Full*, *lite* and *L-BFGS* are values of the training objective, computed on results "
        "clamped to 0-255 and rounded; lower is better. *L-BFGS* optimizes the pixels of the "
        "photograph directly for the given number of iterations. *Full there* is the full network "
        "on the photographs that were optimized this way. *Equals* is the number of iterations "
        "after which L-BFGS reaches the objective of the full network, and *from noise* is the "
        "same with white noise as the initial image, as in Johnson et al.",
    ),
    (
        {"clipped", "frame"},
        "*Clipped* is the fraction of pixels with a channel at 0 or 255. *Frame* is how much "
        "brighter the outermost 4 pixels are than the next ones, on a scale of 255, minus the same "
        "difference in the photograph.",
    ),
    ({"FP16 dB", "BF16 dB"}, "*FP16 dB* and *BF16 dB* are the lowest PSNR relative to FP32."),
    (
        {"still", "panned"},
        "*Still* and *panned* are flicker with a static and a panning camera: the mean "
        "motion-compensated difference of consecutive results, divided by the same difference of "
        "the noisy input frames.",
    ),
    (
        {"style term, full"},
        "*Style term* is the relative style loss of the style's own training, of the result as the "
        "network gives it; the other networks never saw the style.",
    ),
    (
        {"still, without", "panned, without"},
        "*Without* is the same style trained without the stability loss.",
    ),
    (
        {"still, textured", "panned, textured"},
        "*Textured* is the full network behind texture, which moves with the scene.",
    ),
    (
        {"texture in streams"},
        "*Texture in streams* is the style's own amount; *still* and *panned* next to it are the "
        "flicker with texture divided by the flicker without, at the size with the largest ratio. "
        "*Flat* and *structured* are the levels (0-255) by which a texture of 0.5 changes flat and "
        "structured parts of the photograph, averaged over the sizes.",
    ),
    (
        {"films"},
        "*Films* is the mean difference of consecutive frames of styled films along the optical "
        "flow of the source, where both show the same content, divided by the same difference of "
        "the source.",
    ),
)


def quality_markdown(quality: Mapping[str, Any]) -> str:
    """Format the section `quality` of a report: its conditions, then a table per measured part.

    The parts are objectives, borders and precisions; flicker; texture; any-style networks compared
    with the trained ones; films.
    """
    frames, direct = quality["flicker"], quality["direct"]
    count = len(quality["photographs"])
    conditions: list[str] = []
    if count:
        names = ", ".join(Path(photograph["name"]).stem for photograph in quality["photographs"])
        smallest = min(max(photograph["original"]) for photograph in quality["photographs"])
        enlarged = f", enlarged from {smallest}" if smallest < quality["size"] else ""
        noun = "photograph" if count == 1 else "photographs"
        conditions.append(
            f"{count} {noun} with a long side of {quality['size']} px{enlarged}: {names}"
        )
    if direct["photographs"] not in (0, count):
        conditions.append(f"L-BFGS on the first {direct['photographs']}")
    if frames["photographs"]:
        conditions.append(
            f"flicker on the first {frames['photographs']}, {frames['frames']} frames with noise "
            f"of sigma {frames['sigma']:g} on a scale of 255"
        )
    if frames.get("texture"):
        conditions.append(f"texture of {frames['texture']:.0%}")
    if texture := quality.get("texture"):
        sizes = " and ".join(map(str, texture["sizes"]))
        conditions.append(
            f"the effect of texture with long sides of {sizes} px, its flicker on the first "
            f"{texture['flicker_photographs']}, {texture['frames']} frames"
        )
    if films := quality.get("films"):
        names = ", ".join(Path(name).stem for name in films["files"])
        conditions.append(
            f"films with a long side of {films['size']} px at most, the first {films['frames']} "
            f"frames of each: {names}"
        )
    styles = quality["styles"]
    tables = [
        without_empty_columns(lines)
        for lines in (
            _objective_lines(styles, direct),
            _flicker_lines(styles),
            _texture_lines(styles),
            _any_style_lines(styles),
            _film_lines(styles, quality.get("films", {})),
        )
    ]
    columns = {name.partition(", smoothing")[0] for header, *_ in tables for name in header}
    legend = " ".join(text for explained, text in LEGENDS if explained & columns)
    parts = [f"{'; '.join(conditions)}.", legend]
    for header, *lines in tables:
        if len(header) > 1:
            parts.append(markdown_table((header, *lines), left=1))
    parts += [
        f"Not run: {style['title']}, {row['network']}, {row['precision']}: {row['not_run']}."
        for style in styles
        for row in style["networks"]
        if row.get("not_run")
    ]
    return "\n\n".join(parts)


def _objective_lines(
    styles: Sequence[Mapping[str, Any]], direct: Mapping[str, Any]
) -> list[list[str]]:
    """Return the header and a line per style: objectives, clipped pixels, the border, and PSNR."""
    iterations, some = direct["iterations"], direct["photographs"]
    steps = [f"L-BFGS {count}" for count in iterations]
    header = [
        "style", "full", "lite", "full there", *steps, "equals", "from noise", "clipped", "frame",
        "FP16 dB", "BF16 dB",
    ]  # fmt: skip
    lines = [header]
    for style in styles:
        full, lite = (_row(style, network, "FP32") for network in ("full", "lite"))
        reached = {row["iterations"]: row["objective"] for row in style.get("direct", [])}
        lines.append(
            [
                style["title"],
                figure(full.get("seen")),
                figure(lite.get("seen")),
                figure(_mean([one["seen"] for one in full.get("each", [])[:some]])),
                *(figure(reached.get(count)) for count in iterations),
                *(_count(full, name, iterations) for name in ("equals", "equals_from_noise")),
                "-" if "clipped" not in full else f"{full['clipped']:.1%}",
                "-" if "step" not in full else f"{full['step']:+.1f}",
                *(
                    figure(_row(style, "full", title).get("psnr_min"), 1)
                    for title in ("FP16", "BF16")
                ),
            ]
        )
    return lines


def _any_style_lines(styles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the header, and per measured style its style term and flicker by network."""
    found = {row["network"]: None for style in styles for row in style["networks"]}
    others = [name for name in found if name not in TRAINED]
    header = ["style"]
    if not others:
        return [header]
    networks = [name for name in found if name == "full"] + others
    figures = {"style": "style term", "still": "still", "panned": "panned"}
    header += [f"{said}, {name}" for said in figures.values() for name in networks]
    lines = [header]
    for style in styles:
        rows = [_row(style, name, "FP32") for name in networks]
        lines.append([style["title"], *(figure(row.get(key)) for key in figures for row in rows)])
    means = [
        figure(_mean([row[key] for row in rows if row.get(key) is not None]))
        for key in figures
        for rows in ([_row(style, name, "FP32") for style in styles] for name in networks)
    ]
    return [*lines, ["mean", *means]]


def _count(row: Mapping[str, Any], name: str, iterations: Sequence[int]) -> str:
    beyond = name in row and row[name] is None and iterations
    return f"over {iterations[-1]}" if beyond else figure(row.get(name), 0)


def _flicker_lines(styles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the header, and per style its flicker, trained with and without the stability loss."""
    lines = [["style"]]
    for name in ("still", "panned"):
        lines[0] += [f"{name}, without", name, "ratio", f"{name}, textured", f"{name}, lite"]
    for style in styles:
        full, lite = (_row(style, network, "FP32") for network in ("full", "lite"))
        line = [style["title"]]
        for name in ("still", "panned"):
            before, after = style.get("without", {}).get(name), full.get(name)
            ratio = after / before if before and after is not None else None
            with_texture = full.get(f"{name}_textured")
            figures = before, after, ratio, with_texture, lite.get(name)
            line += [figure(value) for value in figures]
        lines.append(line)
    return lines


def _texture_lines(styles: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the header, and per style the effect of texture; the header alone if not judged."""
    header = ["style"]
    if not any(style.get("texture") for style in styles):
        return [header]
    header.append("texture in streams")
    header += [f"{what}, {name}" for what in ("still", "panned") for name in TRAINED]
    header += [f"{part}, {name}" for part in ("flat", "structured") for name in TRAINED]
    lines = [header]
    for style in styles:
        rows = style.get("texture", [])
        of = {name: [row for row in rows if row["network"] == name] for name in TRAINED}
        amounts = [row["stream"] for row in rows if "stream" in row]
        line = [style["title"], figure(amounts[0] if amounts else None)]
        for what in ("still", "panned"):
            for name in TRAINED:
                ratios = [row[what] for row in of[name] if what in row]
                line.append(figure(max(ratios, default=None)))
        for part in ("flat", "structured"):
            for name in TRAINED:
                halves = [
                    each[part]
                    for row in of[name]
                    for each in row["changed"]
                    if each["amount"] == 0.5
                ]
                line.append(figure(_mean([each for each in halves if each is not None]), 1))
        lines.append(line)
    return lines


def _film_lines(styles: Sequence[Mapping[str, Any]], films: Mapping[str, Any]) -> list[list[str]]:
    """Return the header and, if there are films, per style the flicker by smoothing, and a mean."""
    amounts = films.get("smoothing", [])
    lines = [["style", *(f"films, smoothing {amount:g}" for amount in amounts)]]
    if not amounts:
        return lines
    columns: list[list[float]] = [[] for _ in amounts]
    for style in styles:
        rows = style.get("films", [])
        means = [_mean([row["ratios"][place] for row in rows]) for place in range(len(amounts))]
        for column, mean in zip(columns, means, strict=True):
            column += [] if mean is None else [mean]
        lines.append([style["title"], *map(figure, means)])
    return [*lines, ["mean", *(figure(_mean(column)) for column in columns)]]


def _row(style: Mapping[str, Any], network: str, precision: str) -> Mapping[str, Any]:
    for row in style["networks"]:
        if (row["network"], row["precision"]) == (network, precision):
            return row
    return {}


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
