"""The shader that measures how the scene has moved, and moves the pattern with it; see motion.h."""

from __future__ import annotations

from functools import cache

from kernels.frames.noise import BANDS
from kernels.network.webgpu.texture.shared import FRAME, floats, shader
from kernels.network.webgpu.wgsl import Binding, Shader, constants

THREADS = 256  # of the only workgroup


def copies_floats(small: tuple[int, int]) -> int:
    """Return the numbers of the buffer of gray copies of a width and height.

    They are the newest copy, the one before, the reference, and halves and quarters of two.
    """
    half, quarter = halved(small), halved(halved(small))
    return 3 * small[0] * small[1] + 2 * half[0] * half[1] + 2 * quarter[0] * quarter[1]


def halved(size: tuple[int, int]) -> tuple[int, int]:
    wide, high = size
    return max(wide // 2, 1), max(high // 2, 1)


@cache
def motion() -> Shader:
    """Return the shader, of one workgroup. It reads the newest copy, and keeps it for the next."""
    (_, fine), (_, coarse) = BANDS
    return shader(
        ("size", "small"),
        (floats("gray", "write"), Binding("state", "write", "State"), FRAME),
        constants(fine_side=fine, coarse_side=coarse),
        _COPIES,
        _SEARCH,
        _REFINE,
        _MEASURE,
        _PLACES,
        _BODY,
        threads=THREADS,
        vectors=2 * THREADS + 64,
    )


# A gray copy in the buffer `gray`: its first number, width and height.
_COPIES = """
struct Copy { at: i32, size: vec2<i32> }
fn level(copy: Copy, row: i32, column: i32) -> f32 {
  return gray[copy.at + row * copy.size.x + column];
}
fn halved(size: vec2<i32>) -> vec2<i32> { return max(size / 2, vec2<i32>(1)); }
fn halve(source: Copy, to: Copy, work: i32, thread: u32) {
  for (var i = i32(thread); i < work * to.size.x * to.size.y; i += i32(THREADS)) {
    let place = vec2<i32>(i % to.size.x, i / to.size.x) * 2;
    let next = min(place + 1, source.size - 1);
    let sum = level(source, place.y, place.x) + level(source, place.y, next.x)
      + level(source, next.y, place.x) + level(source, next.y, next.x);
    gray[to.at + i] = floor((sum + 2.0) * 0.25);
  }
  storageBarrier();
  workgroupBarrier();
}
"""

# The best match in whole pixels, at most REACH from a place. Two threads sum for each of them.
_SEARCH = """
const REACH = 5;
const STEPS = 11;
var<workgroup> costs: array<f32, 242>;

fn difference(size: vec2<i32>, by: vec2<i32>, sum: f32) -> u32 {
  let shown = size - abs(by);
  let pixels = shown.x * shown.y;
  let least = i32(0.25 * f32(size.x * size.y));
  if (shown.x <= 0 || shown.y <= 0 || pixels < least) { return 255u * 64u; }
  return u32(sum) * 64u / u32(pixels);
}

fn searched(
  before: Copy, now: Copy, around: vec2<f32>, work: i32, thread: u32
) -> vec2<f32> {
  let size = now.size;
  let origin = clamp(vec2<i32>(round(around)), -(size / 2), size / 2) - REACH;
  workgroupBarrier();
  if (thread < 242u) {
    let which = i32(thread / 2u);
    let by = origin + vec2<i32>(which % STEPS, which / STEPS);
    var sum = 0.0;
    for (var row = i32(thread % 2u); row < work * size.y; row += 2) {
      if (row + by.y < 0 || row + by.y >= size.y) { continue; }
      for (var column = max(0, -by.x); column < size.x - max(0, by.x); column++) {
        sum += abs(level(before, row, column) - level(now, row + by.y, column + by.x));
      }
    }
    costs[thread] = sum;
  }
  workgroupBarrier();
  var least = 0xffffffffu;
  for (var which = 0; which < STEPS * STEPS; which++) {
    let by = origin + vec2<i32>(which % STEPS, which / STEPS);
    let cost = difference(size, by, costs[2 * which] + costs[2 * which + 1]);
    least = min(least, (cost << 8u) | u32(which));
  }
  let best = i32(least & 255u);
  return vec2<f32>(origin + vec2<i32>(best % STEPS, best / STEPS));
}
"""

# A step of Lucas and Kanade, and whether two copies are alike after it.
_REFINE = """
struct Found { motion: vec2<f32>, scale: f32, known: bool }
struct Sums { a: vec4<f32>, b: vec4<f32> }
struct Both { first: vec2<i32>, size: vec2<i32> }
var<workgroup> sums: array<vec4<f32>, THREADS>;
var<workgroup> others: array<vec4<f32>, THREADS>;

fn reduced(a: vec4<f32>, b: vec4<f32>, thread: u32) -> Sums {
  workgroupBarrier();
  sums[thread] = a;
  others[thread] = b;
  workgroupBarrier();
  for (var step = THREADS / 2u; step > 0u; step /= 2u) {
    if (thread < step) {
      sums[thread] += sums[thread + step];
      others[thread] += others[thread + step];
    }
    workgroupBarrier();
  }
  return Sums(sums[0], others[0]);
}

// The pixels of the earlier copy, without its edge, that the newest one also shows.
fn both_of(size: vec2<i32>, by: vec2<i32>) -> Both {
  let first = max(-by, vec2<i32>(1));
  let end = size - 1 - max(by, vec2<i32>());
  return Both(first, max(end - first, vec2<i32>()));
}

fn sampled(copy: Copy, row: i32, column: i32, rest: vec2<f32>) -> f32 {
  let a = level(copy, row, column);
  let c = level(copy, row + 1, column);
  let above = a + (level(copy, row, column + 1) - a) * rest.x;
  let below = c + (level(copy, row + 1, column + 1) - c) * rest.x;
  return above + (below - above) * rest.y;
}

fn refine(before: Copy, now: Copy, found: Found, work: i32, thread: u32) -> Found {
  let whole = floor(found.motion);
  let by = vec2<i32>(whole);
  let both = both_of(now.size, by);
  let limit = found.scale * found.scale;
  var a = vec4<f32>();
  var b = vec4<f32>();
  for (var i = i32(thread); i < work * both.size.x * both.size.y; i += i32(THREADS)) {
    let row = both.first.y + i / both.size.x;
    let column = both.first.x + i % both.size.x;
    let right = (level(before, row, column + 1) - level(before, row, column - 1)) * 0.5;
    let down = (level(before, row + 1, column) - level(before, row - 1, column)) * 0.5;
    let wrong = level(before, row, column)
      - sampled(now, row + by.y, column + by.x, found.motion - whole);
    let share = limit / (limit + wrong * wrong);
    let weight = share * share;
    a += weight * vec4<f32>(right * right, right * down, down * down, right * wrong);
    b += weight * vec4<f32>(down * wrong, (right * right + down * down) * abs(wrong), 0.0, 0.0);
  }
  let sum = reduced(a, b, thread);
  let xx = sum.a.x;
  let xy = sum.a.y;
  let yy = sum.a.z;
  let wrong = vec2<f32>(sum.a.w, sum.b.x);
  // If the slopes have a single direction, the motion perpendicular to it is unknown and stays.
  let middle = (xx - yy) / 2.0;
  let root = sqrt(middle * middle + xy * xy);
  let large = (xx + yy) / 2.0 + root;
  var step: vec2<f32>;
  if ((xx + yy) / 2.0 - root > 1e-3 * large) {
    step = vec2<f32>(yy * wrong.x - xy * wrong.y, xx * wrong.y - xy * wrong.x);
    step /= xx * yy - xy * xy;
  } else {
    let way = select(vec2<f32>(xy, large - xx), vec2<f32>(large - yy, xy), xx >= yy);
    step = way * (dot(way, wrong) / (dot(way, way) * large));
  }
  let far = length(step);
  var result = found;
  result.known = found.known && xx + yy > 0.0 && far >= 0.0 && far < 1e9;
  if (result.known) {
    result.scale = max(3.0 * sum.b.y / (xx + yy), 8.0);
    result.motion += step * min(1.0, 1.0 / max(far, 1e-6));  // slopes do not reach farther
  }
  return result;
}

fn alike(before: Copy, now: Copy, motion: vec2<f32>, work: i32, thread: u32) -> bool {
  let whole = floor(motion);
  let by = vec2<i32>(whole);
  let both = both_of(now.size, by);
  let pixels = both.size.x * both.size.y;
  var a = vec4<f32>();
  var b = vec4<f32>();
  for (var i = i32(thread); i < work * pixels; i += i32(THREADS)) {
    let row = both.first.y + i / both.size.x;
    let column = both.first.x + i % both.size.x;
    let was = level(before, row, column) - 128.0;
    let seen = sampled(now, row + by.y, column + by.x, motion - whole) - 128.0;
    a += vec4<f32>(was, seen, was * was, seen * seen);
    b.x += was * seen;
  }
  let sum = reduced(a, b, thread);
  let number = f32(pixels);
  let enough = pixels >= 16 && number >= 0.25 * f32(now.size.x * now.size.y);
  let mean = sum.a.xy / max(number, 1.0);
  let variance = sum.a.zw / max(number, 1.0) - mean * mean;
  let together = sum.b.x / max(number, 1.0) - mean.x * mean.y;
  return enough && all(variance >= vec2<f32>(4.0))
    && together >= 0.7 * sqrt(max(variance.x * variance.y, 0.0));
}
"""

# The motion of the newest copy since an earlier one. Barriers must not depend on what was measured,
# so a measurement that is not needed runs with `work` 0, which empties its loops.
_MEASURE = """
fn measured(at: i32, around: vec2<f32>, work: i32, thread: u32) -> Found {
  let size = vec2<i32>(sizes.small);
  let half = halved(size);
  let quarter = halved(half);
  let pixels = size.x * size.y;
  let halves = half.x * half.y;
  let now = Copy(0, size);
  let now_half = Copy(3 * pixels, half);
  let now_quarter = Copy(3 * pixels + 2 * halves, quarter);
  let before = Copy(at, size);
  let before_half = Copy(3 * pixels + halves, half);
  let before_quarter = Copy(3 * pixels + 2 * halves + quarter.x * quarter.y, quarter);
  halve(now, now_half, work, thread);
  halve(now_half, now_quarter, work, thread);
  halve(before, before_half, work, thread);
  halve(before_half, before_quarter, work, thread);
  let coarse = searched(before_quarter, now_quarter, around / 4.0, work, thread);
  var found = Found(coarse * 2.0, 48.0, true);
  for (var i = 0; i < 3; i++) { found = refine(before_half, now_half, found, work, thread); }
  let same = alike(before_half, now_half, found.motion, work, thread);
  found.known = found.known && same;
  found.motion *= 2.0;
  for (var i = 0; i < 2; i++) { found = refine(before, now, found, work, thread); }
  return found;
}
"""

_PLACES = """
fn apart(a: Place, b: Place) -> vec2<f32> {
  return vec2<f32>(a.whole - b.whole) + (a.part - b.part);
}
fn beyond(place: Place, by: vec2<f32>) -> Place {
  let part = place.part + by;
  let whole = floor(part);
  return Place(place.whole + vec2<i32>(whole), part - whole);
}
fn in_tile(at: vec2<i32>, side: u32) -> vec2<u32> {
  let rest = at - at / i32(side) * i32(side);  // Vulkan defines % for positive numbers only
  return vec2<u32>(select(rest, rest + i32(side), rest < vec2<i32>()));
}
// Places the first pixel of the picture in the tiles of noise.
fn placed(given: State) -> State {
  var s = given;
  let inside = s.offset.part > vec2<f32>();
  let corner = -s.offset.whole - select(vec2<i32>(), vec2<i32>(1), inside);
  s.rest = select(vec2<f32>(), 1.0 - s.offset.part, inside);
  s.fine = in_tile(corner, FINE_SIDE);
  s.coarse = in_tile(corner, COARSE_SIDE);
  return s;
}
"""

_BODY = """
@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32) {
  let count = i32(sizes.small.x * sizes.small.y);
  let scale = vec2<f32>(sizes.size) / vec2<f32>(sizes.small);
  var s = state;
  var replaces = frame.continues == 1u;  // whether the newest copy becomes the reference
  let follows = frame.begins == 0u;
  var around = apart(s.moved, s.anchor) / scale;
  if (!follows) { around = vec2<f32>(); }
  var found = measured(2 * count, around, i32(follows), thread);
  // Perhaps the scene is too far from the reference, but not from the frame before.
  let again = follows && !found.known;
  let nearer = measured(count, vec2<f32>(), i32(again), thread);
  if (again) {
    s.anchor = s.moved;
    found = nearer;
  }
  if (!follows) {
    s = State();
    s.presence = 1.0;
  } else {
    s.followed = u32(found.known);
    s.shift = vec2<f32>();
    if (found.known) {
      s.presence = min(1.0, s.presence + 0.05);
      s.moved = beyond(s.anchor, found.motion * scale);
      let moved = apart(s.moved, s.offset);
      if (length(moved) > 0.1 * max(scale.x, scale.y)) {
        s.shift = moved;
        s.offset = s.moved;
      }
    } else {
      s.presence = max(0.0, s.presence - 0.25);
    }
    replaces = !found.known || length(found.motion) > 0.06 * f32(sizes.small.x);
    if (replaces) { s.anchor = s.moved; }
  }
  storageBarrier();
  workgroupBarrier();  // all threads have read the copies and the state
  if (frame.continues == 1u) {
    for (var i = i32(thread); i < count; i += i32(THREADS)) {
      if (replaces) {
        gray[2 * count + i] = gray[i];
      } else if (again) {
        gray[2 * count + i] = gray[count + i];
      }
      gray[count + i] = gray[i];
    }
  }
  if (thread == 0u) { state = placed(s); }
}
"""
