"""WGSL that averages a picture over the areas that the pixels of a smaller copy cover."""

from __future__ import annotations

from math import gcd

Pair = tuple[int, int]  # width and height, or another field of a shader's `sizes`

AREA_SIZES = ("size", "areas", "spans", "units")  # of a shader with `area_mean`


def area_sizes(size: Pair, areas: Pair) -> tuple[Pair, Pair, Pair, Pair]:
    """Return the numbers for AREA_SIZES of a picture of `size` and a copy of `areas` pixels.

    Borders of areas count in units, of which an area has `spans`, and a pixel `units`. They are
    whole numbers: GPUs divide inexactly, and a mean that ends in 0.5 would be rounded either way.
    """
    across, down = (gcd(whole, few) for whole, few in zip(size, areas, strict=True))
    spans, units = (size[0] // across, size[1] // down), (areas[0] // across, areas[1] // down)
    return size, areas, spans, units


def area_mean(kind: str) -> str:
    """Return the function `area_mean` of an area's number, which averages `values` of pixels.

    Args:
        kind: The type of `values` and of the mean: a vector of FP32 numbers.
    """
    return _AREA_MEAN.replace("KIND", kind)


_AREA_MEAN = """
fn overlap(pixel: u32, begin: u32, end: u32, units: u32) -> f32 {
  return f32(min(end, (pixel + 1u) * units) - max(begin, pixel * units));
}
fn area_mean(area: u32) -> KIND {
  let begin = vec2<u32>(area % sizes.areas.x, area / sizes.areas.x) * sizes.spans;
  let end = begin + sizes.spans;
  let first = begin / sizes.units;
  var sum = KIND();
  for (var y = first.y; y * sizes.units.y < end.y; y++) {
    let tall = overlap(y, begin.y, end.y, sizes.units.y);
    for (var x = first.x; x * sizes.units.x < end.x; x++) {
      let wide = overlap(x, begin.x, end.x, sizes.units.x);
      sum += tall * wide * values(y * sizes.size.x + x);
    }
  }
  return sum / f32(sizes.spans.x * sizes.spans.y);
}
"""
