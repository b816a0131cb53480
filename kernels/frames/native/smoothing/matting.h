// Rough mattes by the difference to an empty scene, as in app/engine/matting/reference.py, by blocks
// of tiles and by rows.
#pragma once

#include <cstring>

#include "frames/native/matting.h"
#include "channels.h"
#include "enlarged.h"
#include "sliding.h"

namespace styleforge {

inline int tiles_along(int pixels) { return (pixels + kTile - 1) / kTile; }

// The memory of a stream's mattes.
struct Matting {
    int height, width;
    Plane scene[3], length, inverse;  // the empty scene, its brightness, and one by that
    Plane certain;                    // one by the scene's usual deviation
    Plane tile_noise, tile_square;  // of tiles: the scene's noise, and its brightness squared
    Plane plain, kept;  // of tiles: how much a shadow may explain, and how much stays
    Plane around;       // the most of `plain` in the tiles around
    Plane gray, light, color, before;
    ColumnTaps taps;  // from tiles to pixels
    int64_t bytes;

    Matting(void* memory, int tall, int wide) : height(tall), width(wide) {
        Memory parts(memory);
        for (Plane* each : {&scene[0], &scene[1], &scene[2], &length, &inverse, &certain, &gray,
                            &light, &color, &before})
            *each = parts.plane(tall, wide);
        for (Plane* each : {&tile_noise, &tile_square, &plain, &kept, &around})
            *each = parts.plane(tiles_along(tall), tiles_along(wide));
        taps = ColumnTaps::in(parts, wide);
        bytes = parts.used();
    }

    // Calls `rows(first, end)` for parts of the frame.
    template <typename F>
    void parts(int64_t threads, const F& rows) const {
        const int64_t useful = 1 + 1ll * height * width / kLeastWork;
        parallel_for(height, threads < useful ? threads : useful, [&](int64_t first, int64_t end) {
            rows(static_cast<int>(first), static_cast<int>(end));
        });
    }

    // Calls `tile_row(at)` for every row of tiles.
    template <typename F>
    void tile_rows(int64_t threads, const F& tile_row) const {
        parallel_rows(plain.rows, kTile * width, threads, tile_row);
    }
};

// The means of values of a block of tiles.
template <int kCount>
struct TileMeans {
    float of[kCount][kBlock / kTile];
};

// Calls `tiles(first, count, means)` for blocks of a row of tiles, with the means of kCount values,
// whose rows `values(row, begin, size, sums)` adds.
template <int kCount, typename Values, typename Tiles>
void average_tiles(const Matting& m, int at, const Values& values, const Tiles& tiles) {
    static_assert(kBlock % kTile == 0 && kTile == 4, "sums are written out");
    const int top = kTile * at, end = top + kTile < m.height ? top + kTile : m.height;
    float sums[kCount][kBlock];
    TileMeans<kCount> means;
    for (int begin = 0; begin < m.width; begin += kBlock) {
        const int size = block_of(m.width, begin), count = tiles_along(size);
        for (auto& each : sums) std::memset(each, 0, sizeof each);
        for (int row = top; row < end; ++row) values(row, begin, size, sums);
        const int last = size - kTile * (count - 1);  // columns of the last tile
        const float whole = static_cast<float>(kTile * (end - top));
        for (int k = 0; k < kCount; ++k) {
            float* to = means.of[k];
            for (int i = 0; i < count; ++i) {
                const float* four = sums[k] + kTile * i;
                to[i] = four[0] + four[1] + four[2] + four[3];
            }
            const float sum = to[count - 1];
            for (int i = 0; i < count; ++i) to[i] /= whole;
            to[count - 1] = sum / static_cast<float>(last * (end - top));
        }
        tiles(begin / kTile, count, means);
    }
}

// Takes an empty scene: colors, [height, width, 3], and noise, [height, width].
inline void take_scene_tiles(const Matting& m, const float* colors, const float* noise, int at) {
    average_tiles<2>(
        m, at,
        [&](int row, int begin, int size, auto& sums) {
            const int64_t first = 1ll * row * m.width + begin;
            for (int i = 0; i < size; ++i) {
                const float* color = colors + 3 * (first + i);
                for (int k = 0; k < 3; ++k) m.scene[k].row(row)[begin + i] = color[k];
                const float length = length_of(color), usual = noise[first + i];
                m.length.row(row)[begin + i] = length;
                m.inverse.row(row)[begin + i] = 1 / length;
                m.certain.row(row)[begin + i] = 1 / usual;
                sums[0][i] += usual, sums[1][i] += length * length;
            }
        },
        [&](int first, int count, const TileMeans<2>& means) {
            std::memcpy(m.tile_noise.row(at) + first, means.of[0], count * sizeof(float));
            std::memcpy(m.tile_square.row(at) + first, means.of[1], count * sizeof(float));
        });
}

// Compares pixels with the scene in the inverse of its `lights`: light and color, and their sums.
inline void compare(const Matting& m, const float (&seen)[3][kBlock], const float* lights, int row,
                    int begin, int size, float (*sums)[kBlock]) {
    const float *length = m.length.row(row) + begin, *inverse = m.inverse.row(row) + begin;
    float light[kBlock], color[kBlock];  // along the scene, and squared, before they are finished
    for (int i = 0; i < size; ++i) light[i] = color[i] = 0;
    for (int k = 0; k < 3; ++k) {
        const float *scene = m.scene[k].row(row) + begin, over = lights[k];
        for (int i = 0; i < size; ++i) {
            const float lit = seen[k][i] * over, most = greatest(lit, scene[i]);
            const float shown = seen[k][i] >= kBright ? most : lit;
            light[i] += shown * scene[i];
            color[i] += shown * shown;
        }
    }
    for (int i = 0; i < size; ++i) {
        const float part = light[i] * inverse[i];
        light[i] = part - length[i];
        color[i] = sqrtf(greatest(color[i] - part * part, 0.f));
    }
    for (int i = 0; i < size; ++i) sums[0][i] += light[i] * length[i];
    for (int i = 0; i < size; ++i) sums[1][i] += light[i] * light[i];
    for (int i = 0; i < size; ++i) sums[2][i] += color[i];
    std::memcpy(m.light.row(row) + begin, light, size * sizeof(float));
    std::memcpy(m.color.row(row) + begin, color, size * sizeof(float));
}

// Reads a frame, [height, width, 3], and finds where the last matte may stay; with the inverse
// lights of its channels, also compares it with the scene.
template <bool kCompares>
void see_tiles(const Matting& m, const uint8_t* frame, const float* lights, int at) {
    constexpr int kSums = kCompares ? 4 : 1;
    average_tiles<kSums>(
        m, at,
        [&](int row, int begin, int size, auto& sums) {
            float* gray = m.gray.row(row) + begin;
            float seen[3][kBlock], now[kBlock];
            divide(frame + 3 * (1ll * row * m.width + begin), size, seen);
            lumas(seen, size, now);
            for (int i = 0; i < size; ++i) sums[kSums - 1][i] += fabsf(now[i] - gray[i]);
            std::memcpy(gray, now, size * sizeof(float));
            if constexpr (kCompares) compare(m, seen, lights, row, begin, size, sums);
        },
        [&](int first, int count, const TileMeans<kSums>& means) {
            float* kept = m.kept.row(at) + first;
            for (int i = 0; i < count; ++i) kept[i] = kept_by(means.of[kSums - 1][i]);
            if constexpr (kCompares) {
                const float *noise = m.tile_noise.row(at) + first,
                            *square = m.tile_square.row(at) + first;
                float* plain = m.plain.row(at) + first;
                for (int i = 0; i < count; ++i)
                    plain[i] = plain_by(means.of[0][i], means.of[1][i], means.of[2][i], noise[i],
                                        square[i]);
            }
        });
    if constexpr (kCompares) m.plain.extend(at);
}

// Finds the most that a shadow may explain in the tiles around each tile of a row.
inline void around_tiles(const Matting& m, int at) {
    const int last = m.plain.rows - 1;
    const float *above = m.plain.row(clamp(at - 1, 0, last)), *here = m.plain.row(at),
                *below = m.plain.row(clamp(at + 1, 0, last));
    float* to = m.around.row(at);
    const auto most = [&](int i) { return greatest(greatest(above[i], here[i]), below[i]); };
    for (int i = 0; i < m.plain.columns; ++i)
        to[i] = greatest(greatest(most(i - 1), most(i)), most(i + 1));
}

// Computes how unlike the scene the pixels of some rows are, and the rough matte from that, by
// blocks of columns: `each(row, columns, rough)`.
template <typename F>
void rough_block(const Matting& m, int first, int end, Columns block, const F& each) {
    const Columns all = block.with(1), there = all.within(m.width);
    const int left = there.begin, size = there.size();
    Window<1> window;
    EnlargedRows plains(m.around, m.taps, left, size);
    const auto make = [&](int row) {
        float plain[kBlock];
        plains.between(lines_of(m.around, row, m.height), 1.f, plain);
        const float *light = m.light.row(row) + left, *color = m.color.row(row) + left,
                    *length = m.length.row(row) + left, *certain = m.certain.row(row) + left;
        float* to = window.row(row) + (left - all.begin);
        for (int i = 0; i < size; ++i)
            to[i] = unlike_by({light[i], color[i]}, length[i], certain[i], plain[i]);
        mirror(window.row(row), all, m.width);
    };
    slide(first, end, 1, m.height, make, [&](int row) {
        const float* lines[3];
        window.around(row, m.height, lines);
        const float *above = lines[0], *here = lines[1], *below = lines[2];
        float rough[kBlock];
        for (int i = 0; i < block.size(); ++i) {
            float sum = above[i] + above[i + 1] + above[i + 2];
            sum += here[i] + here[i + 1] + here[i + 2];
            rough[i] = rough_by(sum + (below[i] + below[i + 1] + below[i + 2]));
        }
        each(row, rough);
    });
}

// Makes the rough matte of some rows, [height, width]: by the difference to the scene, or the one
// that is in `rough` already. Mixes it with the last one if the stream `continues`.
inline void rough_rows(const Matting& m, bool compares, bool continues, float* rough, int first,
                       int end) {
    constexpr int kWide = kBlock - 2;
    for (int begin = 0; begin < m.width; begin += kWide) {
        const Columns block = {begin, begin + kWide < m.width ? begin + kWide : m.width};
        EnlargedRows kepts(m.kept, m.taps, begin, block.size());
        const auto keep = [&](int row, float* made) {
            float* before = m.before.row(row) + begin;
            if (continues) {
                float kept[kBlock];
                kepts.between(lines_of(m.kept, row, m.height), 1.f, kept);
                for (int i = 0; i < block.size(); ++i)
                    made[i] += kept[i] * (before[i] - made[i]);
            }
            std::memcpy(before, made, block.size() * sizeof(float));
            float* to = rough + 1ll * row * m.width + begin;
            if (to != made) std::memcpy(to, made, block.size() * sizeof(float));
        };
        if (compares)
            rough_block(m, first, end, block, keep);
        else
            for (int row = first; row < end; ++row)
                keep(row, rough + 1ll * row * m.width + begin);
    }
}

}  // namespace styleforge
