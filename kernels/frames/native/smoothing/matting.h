// Mattes by the difference to an empty scene, and their edges, as in
// app/engine/matting/reference.py, by rows of planes.
#pragma once

#include "frames/native/matting.h"
#include "enlarged.h"
#include "moving.h"

namespace styleforge {

inline int tiles_along(int pixels) { return (pixels + kTile - 1) / kTile; }

// The memory of a stream's mattes.
struct Matting {
    int height, width;
    Plane scene[3], length, noise;  // the empty scene, its brightness, and its usual deviation
    Plane tile_noise, tile_square;  // of tiles: the scene's noise, and its brightness squared
    Plane plain, kept;  // of tiles: how much a shadow may explain, and how much stays
    Plane gray, light, color, rough, before;
    Plane products[2], means[4], slope, base;
    ColumnTaps taps;  // from tiles to pixels
    int64_t bytes;

    Matting(void* memory, int tall, int wide) : height(tall), width(wide) {
        Memory parts(memory);
        for (Plane* each : {&scene[0], &scene[1], &scene[2], &length, &noise, &gray, &light, &color,
                            &rough, &before, &products[0], &products[1], &means[0], &means[1],
                            &means[2], &means[3], &slope, &base})
            *each = parts.plane(tall, wide);
        for (Plane* each : {&tile_noise, &tile_square, &plain, &kept})
            *each = parts.plane(tiles_along(tall), tiles_along(wide));
        taps = ColumnTaps::in(parts, wide);
        bytes = parts.used();
    }

    // Calls `row(at)` for every row.
    template <typename F>
    void rows(int64_t threads, const F& row) const {
        parallel_rows(height, width, threads, row);
    }

    // Calls `tile_row(at)` for every row of tiles.
    template <typename F>
    void tile_rows(int64_t threads, const F& tile_row) const {
        parallel_rows(plain.rows, kTile * width, threads, tile_row);
    }
};

// Calls `tile(column, sums, count)` with the sums of `values(row, column)` over each tile of a row.
template <int kCount, typename Values, typename Tile>
void sum_tiles(const Matting& m, int at, const Values& values, const Tile& tile) {
    const int top = kTile * at, end = top + kTile < m.height ? top + kTile : m.height;
    float sums[kCount][kBlock];
    static_assert(kBlock % kTile == 0, "a block has whole tiles");
    for (int begin = 0; begin < m.width; begin += kBlock) {
        const int size = block_of(m.width, begin);
        for (auto& each : sums)
            for (int i = 0; i < size; ++i) each[i] = 0;
        for (int row = top; row < end; ++row) values(row, begin, size, sums);
        for (int i = 0; i < size; i += kTile) {
            const int wide = size - i < kTile ? size - i : kTile;
            float of[kCount];
            for (int k = 0; k < kCount; ++k) {
                of[k] = 0;
                for (int j = 0; j < wide; ++j) of[k] += sums[k][i + j];
                of[k] /= static_cast<float>(wide * (end - top));
            }
            tile((begin + i) / kTile, of);
        }
    }
}

// Takes an empty scene: colors, [height, width, 3], and noise, [height, width].
inline void take_scene_row(const Matting& m, const float* colors, const float* noise, int row) {
    for (int column = 0; column < m.width; ++column) {
        const float* at = colors + 3 * (1ll * row * m.width + column);
        for (int k = 0; k < 3; ++k) m.scene[k].row(row)[column] = at[k];
        m.length.row(row)[column] =
            sqrtf(greatest(at[0] * at[0] + at[1] * at[1] + at[2] * at[2], 1.f));
        m.noise.row(row)[column] = noise[1ll * row * m.width + column];
    }
}

inline void take_scene_tiles(const Matting& m, int at) {
    sum_tiles<2>(
        m, at,
        [&](int row, int begin, int size, auto& sums) {
            const float *noise = m.noise.row(row) + begin, *length = m.length.row(row) + begin;
            for (int i = 0; i < size; ++i) {
                sums[0][i] += noise[i];
                sums[1][i] += length[i] * length[i];
            }
        },
        [&](int column, const float* mean) {
            m.tile_noise.row(at)[column] = mean[0], m.tile_square.row(at)[column] = mean[1];
        });
}

// Divides `size` pixels into channels.
inline void divide(const uint8_t* from, int size, float (&channels)[3][kBlock]) {
    for (int i = 0; i < size; ++i)
        for (int k = 0; k < 3; ++k) channels[k][i] = from[3 * i + k];
}

// Computes the lumas of pixels as luma() does: every sum is a whole number below 2^24.
inline void lumas(const float (&channels)[3][kBlock], int size, float* to) {
    constexpr float kOne = 1 << kColorBits;
    for (int i = 0; i < size; ++i)
        to[i] = floorf((4899.f * channels[0][i] + 9617.f * channels[1][i] +
                        1868.f * channels[2][i] + kColorHalf) / kOne);
}

// Reads a frame, [height, width, 3], and finds where the last matte may stay.
inline void see_tiles(const Matting& m, const uint8_t* frame, int at) {
    sum_tiles<1>(
        m, at,
        [&](int row, int begin, int size, auto& sums) {
            float* gray = m.gray.row(row) + begin;
            float seen[3][kBlock], now[kBlock];
            divide(frame + 3 * (1ll * row * m.width + begin), size, seen);
            lumas(seen, size, now);
            for (int i = 0; i < size; ++i) {
                sums[0][i] += fabsf(now[i] - gray[i]);
                gray[i] = now[i];
            }
        },
        [&](int column, const float* change) {
            m.kept.row(at)[column] = kSteady * clipped(2 - change[0] * (2 / kChange));
        });
    const int end = kTile * at + kTile < m.height ? kTile * at + kTile : m.height;
    for (int row = kTile * at; row < end; ++row) m.gray.mirror(row);
}

// Compares a frame with the scene in `lights` times its light.
inline void compare_tiles(const Matting& m, const uint8_t* frame, const float* lights, int at) {
    float inverse[3];
    for (int k = 0; k < 3; ++k) inverse[k] = 1 / lights[k];
    sum_tiles<3>(
        m, at,
        [&](int row, int begin, int size, auto& sums) {
            const float* length = m.length.row(row) + begin;
            float seen[3][kBlock], along[kBlock], square[kBlock];
            divide(frame + 3 * (1ll * row * m.width + begin), size, seen);
            for (int i = 0; i < size; ++i) along[i] = square[i] = 0;
            for (int k = 0; k < 3; ++k) {
                const float *scene = m.scene[k].row(row) + begin, over = inverse[k];
                for (int i = 0; i < size; ++i) {
                    const float lit = seen[k][i] * over, most = greatest(lit, scene[i]);
                    const float shown = seen[k][i] >= kBright ? most : lit;
                    along[i] += shown * scene[i];
                    square[i] += shown * shown;
                }
            }
            float *light = m.light.row(row) + begin, *color = m.color.row(row) + begin;
            for (int i = 0; i < size; ++i) {
                const float part = along[i] / length[i];
                light[i] = part - length[i];
                color[i] = sqrtf(greatest(square[i] - part * part, 0.f));
                sums[0][i] += light[i] * length[i];
                sums[1][i] += light[i] * light[i];
                sums[2][i] += color[i];
            }
        },
        [&](int column, const float* of) {
            // A shadow scales the brightness of a whole tile; structure is what no scale explains.
            const float scaled = of[0] * of[0] / m.tile_square.row(at)[column];
            const float structure = sqrtf(greatest(of[1] - scaled, 0.f)) + of[2];
            m.plain.row(at)[column] =
                clipped(kPlain - structure / m.tile_noise.row(at)[column]);
        });
}

// Enlarges a plane of tiles along a row, block by block: `each(begin, size, values)`.
template <typename F>
void enlarged_tiles(const Matting& m, const Plane& tiles, int row, const F& each) {
    float values[kBlock];
    const LinearTaps down = linear_taps(source_of(row, m.height, tiles.rows), tiles.rows);
    for (int begin = 0; begin < m.width; begin += kBlock) {
        const int size = block_of(m.width, begin);
        EnlargedRows(tiles, m.taps, begin, size).between(down, 1.f, values);
        each(begin, size, values);
    }
}

// Computes how unlike the scene a row is in deviations, into `color`.
inline void unlike_row(const Matting& m, int row) {
    enlarged_tiles(m, m.plain, row, [&](int begin, int size, const float* plain) {
        const float *light = m.light.row(row) + begin, *length = m.length.row(row) + begin;
        const float* noise = m.noise.row(row) + begin;
        float* color = m.color.row(row) + begin;
        for (int i = 0; i < size; ++i) {
            const float shadow = least(greatest(-light[i], 0.f), (1 - kDarkest) * length[i]);
            const float unlike = fabsf(light[i]) - kShade * shadow * plain[i];
            const float tint = kColor * color[i];
            color[i] = least(sqrtf(unlike * unlike + tint * tint) / noise[i], kEnough);
        }
    });
    m.color.mirror(row);
}

// Computes the rough matte of a row.
inline void rough_row(const Matting& m, int row) {
    const float* lines[3];
    for (int i = 0; i < 3; ++i) lines[i] = m.color.row(reflected_often(row + i - 1, m.height));
    float* rough = m.rough.row(row);
    for (int i = 0; i < m.width; ++i) {
        float sum = 0;
        for (int k = 0; k < 3; ++k) sum += lines[k][i - 1] + lines[k][i] + lines[k][i + 1];
        rough[i] = clipped((sum / 9 - kLeast) / (kMost - kLeast));
    }
}

// Averages the rough matte of a row with the last one, where the picture has not changed.
inline void steady_row(const Matting& m, int row) {
    enlarged_tiles(m, m.kept, row, [&](int begin, int size, const float* kept) {
        const float* before = m.before.row(row) + begin;
        float* rough = m.rough.row(row) + begin;
        for (int i = 0; i < size; ++i) rough[i] += kept[i] * (before[i] - rough[i]);
    });
}

inline void multiply_row(const Matting& m, int row) {
    m.rough.mirror(row);
    const float *gray = m.gray.row(row), *rough = m.rough.row(row);
    float *square = m.products[0].row(row), *both = m.products[1].row(row);
    for (int i = 0; i < m.width; ++i) square[i] = gray[i] * gray[i], both[i] = gray[i] * rough[i];
    for (const Plane& each : m.products) each.mirror(row);
}

// Fits the matte around every pixel of a row by a linear function of the luma.
inline void fit_row(const Matting& m, int row) {
    const float *level = m.means[0].row(row), *mean = m.means[1].row(row),
                *square = m.means[2].row(row), *both = m.means[3].row(row);
    float *slope = m.products[0].row(row), *base = m.products[1].row(row);
    for (int i = 0; i < m.width; ++i) {
        const float variance = square[i] - level[i] * level[i];
        slope[i] = (both[i] - level[i] * mean[i]) / (variance + kSoft);
        base[i] = mean[i] - slope[i] * level[i];
    }
    for (const Plane& each : m.products) each.mirror(row);
}

// Refines the rough matte to `slope` and `base`.
inline void guide(const Matting& m, int64_t threads) {
    m.rows(threads, [&](int row) { multiply_row(m, row); });
    const Plane* from[] = {&m.gray, &m.rough, &m.products[0], &m.products[1]};
    m.rows(threads, [&](int row) {
        for (int k = 0; k < 4; ++k) mean_row(*from[k], m.means[k], row);
    });
    m.rows(threads, [&](int row) { fit_row(m, row); });
    m.rows(threads, [&](int row) {
        mean_row(m.products[0], m.slope, row), mean_row(m.products[1], m.base, row);
    });
}

// Mixes a painting with its frame by a matte.
struct MattedPicture {
    const uint8_t *painted, *frame;  // [height, width, 3]
    Plane slope, base;
    uint8_t* mixed;  // [height, width, 3]
    int height, width, swapped;
};

inline void mix_rows(const MattedPicture& p, int first_row, int end_row) {
    float slope[kBlock], base[kBlock], share[kBlock];
    int first[kBlock], second[kBlock];
    for (int begin = 0; begin < p.width; begin += kBlock) {
        const int size = block_of(p.width, begin);
        for (int i = 0; i < size; ++i) {
            const float at = source_of(begin + i, p.width, p.slope.columns);
            const LinearTaps taps = linear_taps(at, p.slope.columns);
            first[i] = taps.first, second[i] = taps.second, share[i] = taps.share;
        }
        const ColumnTaps taps = {first, second, share};
        EnlargedRows slopes(p.slope, taps, 0, size), bases(p.base, taps, 0, size);
        for (int row = first_row; row < end_row; ++row) {
            const LinearTaps down =
                linear_taps(source_of(row, p.height, p.slope.rows), p.slope.rows);
            slopes.between(down, 1.f, slope), bases.between(down, 1.f, base);
            const int64_t from = 3 * (1ll * row * p.width + begin);
            const uint8_t *frame = p.frame + from, *painted = p.painted + from;
            uint8_t* mixed = p.mixed + from;
            float seen[3][kBlock], made[3][kBlock], gray[kBlock];
            divide(frame, size, seen), divide(painted, size, made);
            lumas(seen, size, gray);
            const float start = p.swapped ? 1.f : 0.f, turn = p.swapped ? -1.f : 1.f;
            for (int i = 0; i < size; ++i)
                gray[i] = start + turn * clipped(slope[i] * gray[i] + base[i]);
            for (int k = 0; k < 3; ++k)
                for (int i = 0; i < size; ++i)
                    made[k][i] = rintf(seen[k][i] + (made[k][i] - seen[k][i]) * gray[i]);
            for (int i = 0; i < size; ++i)
                for (int k = 0; k < 3; ++k) mixed[3 * i + k] = static_cast<uint8_t>(made[k][i]);
        }
    }
}

}  // namespace styleforge
