// Combs the noise of a tile and adds it to the picture.
#pragma once

#include "add.cuh"
#include "combing.h"

namespace styleforge {

// Pixels at half size per side: of a tile, whose kCombPixels pixels are between these and are whole
// words, and of the noise around it.
constexpr int kCombSide = kCombPixels / 2 + 2, kCombNoise = 64;

static_assert(kCombSide == kWarp && kCombPixels % 4 == 0);
static_assert(kCombNoise > kCombSide + 2 * (kLongest + 1));

// A value and its difference from the next one.
struct alignas(8) NoisePair {
    float value, step;
};

// A block's working memory.
struct CombWork {
    NoisePair noise[kCombNoise * kCombNoise];
    float combed[kCombSide][kCombSide + 1];
};

// A tile: the first pixel of the picture, and the first at half size. Pixels at half size beyond an
// edge repeat it.
struct CombTile {
    int row, column, half_row, half_column;
};

// The whole part of a position of few digits, and the rest. No conversion between float and int is
// needed, of which a multiprocessor computes few.
struct Floor {
    int whole;
    float rest;
};

// In float, numbers from here on are whole; adding one leaves the whole part in the lower bits.
constexpr float kWholeFrom = 12582912.f;
constexpr int kWholeBits = 0x4b400000;

__device__ __forceinline__ Floor floor_of(float position) {
    const float whole = __fadd_rd(position, kWholeFrom);
    return {__float_as_int(whole) - kWholeBits, position - (whole - kWholeFrom)};
}

// The unit vector along an axis, as tangent_of.
__device__ __forceinline__ Axis fast_tangent_of(float axis_x, float axis_y) {
    const float square = axis_x * axis_x + axis_y * axis_y;
    if (!(square > 1e-24f)) return {1, 0};
    const float length = square * rsqrtf(square);
    const bool right = axis_x > -0.5f * length;
    const float x = right ? length + axis_x : axis_y, y = right ? axis_y : length - axis_x;
    const float share = rsqrtf(x * x + y * y);
    return {x * share, y * share};
}

// The unit vector at a position in the picture at half its size, as tangent_at.
__device__ __forceinline__ Axis fast_tangent_at(const CombParams& p, float row, float column) {
    const Floor y = floor_of((row + 0.5f) * p.tall - 0.5f);
    const Floor x = floor_of((column + 0.5f) * p.wide - 0.5f);
    const int top = clamp(y.whole, 0, p.small_height - 1) * p.small_width;
    const int bottom = clamp(y.whole + 1, 0, p.small_height - 1) * p.small_width;
    const int left = clamp(x.whole, 0, p.small_width - 1);
    const int right = clamp(x.whole + 1, 0, p.small_width - 1);
    const auto* axes = static_cast<const float2*>(p.axes);
    const float2 a = axes[top + left], b = axes[top + right];
    const float2 c = axes[bottom + left], d = axes[bottom + right];
    const float upper_x = a.x + (b.x - a.x) * x.rest, lower_x = c.x + (d.x - c.x) * x.rest;
    const float upper_y = a.y + (b.y - a.y) * x.rest, lower_y = c.y + (d.y - c.y) * x.rest;
    return fast_tangent_of(upper_x + (lower_x - upper_x) * y.rest,
                           upper_y + (lower_y - upper_y) * y.rest);
}

// Fills the noise of a tile: of its pixels, and `reach` more on each side. Each lane of a warp
// computes a value and gets the next one from the next lane.
__device__ __forceinline__ void fill_noise(const CombParams& p, const CombTile& tile, int reach,
                                           CombWork& work) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const float tall = static_cast<float>(p.height) / half_of(p.height);
    const float wide = static_cast<float>(p.width) / half_of(p.width);
    const int side = kCombSide + 2 * reach + 1, count = side * side;
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    constexpr int kStored = kWarp - 1, kShift = 20;
    const unsigned inverse = (1u << kShift) / side + 1;  // exact for all counts
    for (int first = warp * kStored; first < count; first += kCombTeam / kWarp * kStored) {
        const int at = min(first + lane, count - 1);
        const int row = static_cast<int>(at * inverse >> kShift), column = at - row * side;
        const Floor y = floor_of(near_source(tile.half_row - reach + row, tall) + s.down);
        const Floor x = floor_of(near_source(tile.half_column - reach + column, wide) + s.right);
        const float value =
            noise_at<kFineSide>(p.fine, s.top[0] + y.whole + kFineSide,
                                s.left[0] + x.whole + kFineSide, x.rest, y.rest) +
            noise_at<kCoarseSide>(p.coarse, s.top[1] + y.whole + kCoarseSide,
                                  s.left[1] + x.whole + kCoarseSide, x.rest, y.rest);
        const float next = __shfl_down_sync(~0u, value, 1);
        if (lane < kStored) work.noise[row * kCombNoise + column] = {value, next - value};
    }
}

// Samples the noise at a distance from a pixel, `base` less kWholeBits in both directions.
__device__ __forceinline__ float sampled_noise(const NoisePair* noise, unsigned base, float down,
                                               float right) {
    const float row = __fadd_rd(down, kWholeFrom), column = __fadd_rd(right, kWholeFrom);
    const unsigned at = base + static_cast<unsigned>(__float_as_int(row)) * kCombNoise +
                        static_cast<unsigned>(__float_as_int(column));
    const NoisePair upper = noise[at], lower = noise[at + kCombNoise];
    const float y = down - (row - kWholeFrom), x = right - (column - kWholeFrom);
    const float above = upper.value + upper.step * x, below = lower.value + lower.step * x;
    return above + (below - above) * y;
}

// One of the two halves of a line: its direction at the pixel, and how it bends.
struct Ray {
    Axis ahead, bend;
};

__device__ __forceinline__ Ray ray_of(const CombParams& p, float row, float column, Axis ahead,
                                      float share) {
    const float length = 0.5f * p.steps;
    Axis then = fast_tangent_at(p, row + ahead.y * length, column + ahead.x * length);
    if (then.x * ahead.x + then.y * ahead.y < 0) then = {-then.x, -then.y};
    return {ahead, {(then.x - ahead.x) * share, (then.y - ahead.y) * share}};
}

__device__ __forceinline__ float sampled_on(const Ray& ray, const NoisePair* noise, unsigned base,
                                            float k) {
    return sampled_noise(noise, base, k * (ray.ahead.y + k * ray.bend.y),
                         k * (ray.ahead.x + k * ray.bend.x));
}

// The combed noise at a pixel, as combed_at; `place` is its place in the noise.
__device__ __forceinline__ float combed_in(const CombParams& p, int row, int column, int place,
                                           const CombWork& work) {
    const float y = static_cast<float>(row), x = static_cast<float>(column);
    const Axis along = fast_tangent_at(p, y, x);
    const float share = 1.f / p.steps, least = 1.f / (p.steps + 1);
    const Ray ahead = ray_of(p, y, x, along, share);
    const Ray behind = ray_of(p, y, x, {-along.x, -along.y}, share);
    const unsigned base = static_cast<unsigned>(place) -
                          static_cast<unsigned>(kWholeBits) * (kCombNoise + 1);
    float sum = work.noise[place].value;
    float k = 1;
#pragma unroll 2
    for (int i = 0; i < p.steps; ++i, k += 1) {
        const float away = k * least, weight = 1 - away * away;
        sum += weight * (sampled_on(ahead, work.noise, base, k) +
                         sampled_on(behind, work.noise, base, k));
    }
    return sum * p.gain;
}

// Adds the combed noise of a tile to the picture. A warp processes a row at a time.
__device__ __forceinline__ void add_combed(const TextureParams& p, const CombTile& tile,
                                           const CombWork& work) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const float tall = static_cast<float>(half_of(p.height)) / p.height;
    const float wide = static_cast<float>(half_of(p.width)) / p.width;
    const float most = p.amount * kDeviation * s.presence;
    const int rows = min(kCombPixels, p.height - tile.row);
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
#pragma unroll
    for (int begin = 0; begin < kCombPixels; begin += kWarp) {
        const int first = tile.column + begin;
        const int pixels = min(min(kWarp, kCombPixels - begin), p.width - first);
        if (pixels <= 0) return;
        const int column = first + min(lane, pixels - 1);
        const FlatColumn flat(p, column);
        const Floor x = floor_of(near_source(column, wide));
        const int left = clamp(x.whole - tile.half_column, 0, kCombSide - 1);
        const int right = min(left + 1, kCombSide - 1);
        for (int i = warp; i < rows; i += kCombTeam / kWarp) {
            const int row = tile.row + i;
            const Floor y = floor_of(near_source(row, tall));
            const int top = clamp(y.whole - tile.half_row, 0, kCombSide - 1);
            const float *upper = work.combed[top],
                        *lower = work.combed[min(top + 1, kCombSide - 1)];
            const float above = upper[left] + (upper[right] - upper[left]) * x.rest;
            const float below = lower[left] + (lower[right] - lower[left]) * x.rest;
            const float by = (above + (below - above) * y.rest) * (flat.at(row) * most);
            if (p.field != nullptr) p.field[1ll * row * p.width + column] = by;
            add_levels(p, row, first, pixels, static_cast<int>(rintf(by)));
        }
    }
}

// Adds combed noise to the tile of kCombPixels^2 pixels of a block of kCombTeam threads.
__device__ __forceinline__ void comb_tile(const TextureParams& p, const CombParams& c, int row,
                                          int column, CombWork& work) {
    const int height = half_of(p.height), width = half_of(p.width);
    const float tall = static_cast<float>(height) / p.height;
    const float wide = static_cast<float>(width) / p.width;
    const CombTile tile = {row, column, floor_of(near_source(row, tall)).whole,
                           floor_of(near_source(column, wide)).whole};
    const int reach = c.steps + 1;  // by rounding, a line may be a little longer than its steps
    fill_noise(c, tile, reach, work);
    __syncthreads();
    const int lane = threadIdx.x % kWarp;
    for (int i = threadIdx.x / kWarp; i < kCombSide; i += kCombTeam / kWarp) {
        const int y = clamp(tile.half_row + i, 0, height - 1);
        const int x = clamp(tile.half_column + lane, 0, width - 1);
        const int place =
            (y - tile.half_row + reach) * kCombNoise + x - tile.half_column + reach;
        work.combed[i][lane] = combed_in(c, y, x, place, work);
    }
    __syncthreads();
    add_combed(p, tile, work);
}

}  // namespace styleforge
