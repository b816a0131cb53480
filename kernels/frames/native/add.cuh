// Adds levels to runs of pixels with warps, and texture without a direction to rows.
#pragma once

#include "frames.h"

namespace styleforge {

constexpr int kWarp = 32;

__device__ __forceinline__ unsigned lighter_byte(unsigned value, int levels) {
    return static_cast<unsigned>(clamp(static_cast<int>(value) + levels, 0, 255));
}

// Adds levels to `pixels` pixels of a row from `first` on, one per lane of a warp, all of whose
// lanes call it. Lanes write adjacent words, of one or two pixels each. A run that is not whole
// words is processed by bytes.
__device__ __forceinline__ void add_levels(const TextureParams& p, int row, int first, int pixels,
                                           int levels) {
    const int lane = threadIdx.x % kWarp, bytes = pixels * 3;
    const long long begin = (1ll * row * p.width + first) * 3;
    const uint8_t* from = p.picture + begin;
    uint8_t* to = p.textured + begin;
    const size_t places = reinterpret_cast<size_t>(from) | reinterpret_cast<size_t>(to);
    if ((places | static_cast<size_t>(bytes)) % 4 == 0) {
        const int held = lane * 4 / 3, next = (lane * 4 + 3) / 3, whole = (held + 1) * 3 - lane * 4;
        const int one = __shfl_sync(~0u, levels, held % kWarp);
        const int other = __shfl_sync(~0u, levels, next % kWarp);
        if (lane >= bytes / 4) return;
        const unsigned word = reinterpret_cast<const unsigned*>(from)[lane];
        unsigned made = 0;
#pragma unroll
        for (int k = 0; k < 4; ++k)
            made |= lighter_byte(word >> k * 8 & 255, k < whole ? one : other) << k * 8;
        reinterpret_cast<unsigned*>(to)[lane] = made;
        return;
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        const int byte = k * kWarp + lane;
        const int by = __shfl_sync(~0u, levels, byte / 3);
        if (byte < bytes) to[byte] = static_cast<uint8_t>(lighter_byte(from[byte], by));
    }
}

// source_of in FP32, for positions that need no exact rounding; `share` is few / many.
__device__ __forceinline__ float near_source(int at, float share) {
    return (at + 0.5f) * share - 0.5f;
}

// The flatness at pixels of a column.
struct FlatColumn {
    const float* flat;
    int rows, columns;
    LinearTaps across;
    float share;

    __device__ FlatColumn(const TextureParams& p, int column)
        : flat(p.flat), rows(p.rows), columns(p.columns),
          across(linear_taps(near_source(column, static_cast<float>(p.columns) / p.width),
                             p.columns)),
          share(static_cast<float>(p.rows) / p.height) {}

    __device__ float at(int row) const {
        const LinearTaps down = linear_taps(near_source(row, share), rows);
        const float *upper = flat + 1ll * down.first * columns,
                    *lower = flat + 1ll * down.second * columns;
        return interpolated(down, across, upper[across.first], upper[across.second],
                            lower[across.first], lower[across.second]);
    }
};

// A column of a tile of noise, between its pixels.
template <int kSide>
struct NoiseColumn {
    const float* tile;
    int here, beside;
    float right;

    __device__ NoiseColumn(const float* from, int column, float share)
        : tile(from), here(column % kSide), beside(here + 1 == kSide ? 0 : here + 1),
          right(share) {}

    __device__ float at(int row) const {
        const float* line = tile + row % kSide * kSide;
        return line[here] + (line[beside] - line[here]) * right;
    }
};

// Adds texture without a direction to up to kAddRows rows from `first_row` on, in the columns of a
// warp. A lane reads each row of noise once.
__device__ __forceinline__ void add_texture(const TextureParams& p, int first_row,
                                            int first_column) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const int left = p.width - first_column, pixels = left < kWarp ? left : kWarp;
    const int column = first_column + min(static_cast<int>(threadIdx.x % kWarp), pixels - 1);
    const NoiseColumn<kFineSide> fine(p.fine, s.left[0] + column, s.right);
    const NoiseColumn<kCoarseSide> coarse(p.coarse, s.left[1] + column, s.right);
    float lines[kAddRows + 1][2];
#pragma unroll
    for (int i = 0; i <= kAddRows; ++i)
        lines[i][0] = fine.at(s.top[0] + first_row + i),
        lines[i][1] = coarse.at(s.top[1] + first_row + i);
    const FlatColumn flat(p, column);
    const float most = 0.70710678f * (p.amount * kDeviation * s.presence);
    float by[kAddRows];
#pragma unroll
    for (int i = 0; i < kAddRows; ++i) {
        const float noise = lines[i][0] + (lines[i + 1][0] - lines[i][0]) * s.down + lines[i][1] +
                            (lines[i + 1][1] - lines[i][1]) * s.down;
        by[i] = noise * (flat.at(first_row + i) * most);
    }
#pragma unroll
    for (int i = 0; i < kAddRows; ++i) {
        const int row = first_row + i;
        if (row >= p.height) return;
        if (p.field != nullptr) p.field[1ll * row * p.width + column] = by[i];
        add_levels(p, row, first_column, pixels, static_cast<int>(rintf(by[i])));
    }
}

}  // namespace styleforge
