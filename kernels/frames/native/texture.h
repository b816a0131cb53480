// The noise added to the network's input where a frame is flat: the flatness of each cell's
// surroundings, and the noise at a pixel. Sizes refer to that input.
#pragma once

#include "guided.h"

namespace styleforge {

constexpr int kFineSide = 509, kCoarseSide = 661;  // of the tiles of noise
constexpr float kDeviation = 20.f;  // levels: noise in flat parts at full texture
constexpr float kFlat = 18.f;       // levels: parts that deviate this much get no texture
constexpr int kClose = 5, kWide = 14;  // reach of the two windows' blurs, in cells
constexpr int kTileRows = 16, kTileColumns = 32;  // cells, one tile per team

// The mean of a cell or of its surroundings, and the mean of the squares.
struct Cell {
    float mean, square;
};

// A frame of a stream. Cells are [rows, columns]; the copies for measuring motion are
// [small_height, small_width].
struct TextureParams {
    const uint8_t* picture;  // [height, width, 3], the network's input
    uint8_t* textured;       // [height, width, 3], may alias `picture`
    const float* fine;       // [kFineSide, kFineSide], periodic, of unit deviation
    const float* coarse;     // [kCoarseSide, kCoarseSide]
    const float* taps;       // [kClose + 1 + kWide + 1], of the blurs, from the center outwards
    void* cells;             // [cells] of Cell
    float* flat;             // [cells], 1 if flat, 0 if structured
    float* field;            // [height, width], receives the added levels, or null
    const float* combed;     // [half_of(height), half_of(width)], noise of strokes with a
                             // direction, or null for noise without
    uint8_t* tracked;        // gray, of this frame
    uint8_t* before;         // gray, of the previous frame
    uint8_t* reference;      // gray, of the reference frame for motion
    void* state;             // TextureState
    int height, width, rows, columns, small_height, small_width;
    int first;      // whether to forget earlier frames
    int continues;  // whether the frame continues the previous one, so that motion is measured
    float amount;   // 0 for no texture, 1 for the most
};

// The same texture applied to a larger copy of the picture.
struct EnlargeTextureParams {
    const uint8_t* picture;  // [height, width, 3]
    uint8_t* textured;       // [height, width, 3], may alias `picture`
    const float* field;      // [small_height, small_width]
    int height, width, small_height, small_width;
};

// The state carried from frame to frame, and the position of the pattern, in pixels of the
// network's input, to the right and down.
struct TextureState {
    double offset[2];  // of the pattern, which ignores measurement noise
    double moved[2];   // of the scene
    double anchor[2];  // of the scene at the reference
    float presence;    // of the texture: 0 after the motion was unknown for a while
    int known;         // whether a reference exists
    // Position of the picture's first pixel in the tiles: whole pixels, and the fraction.
    int left[2], top[2];
    float right, down;
    double shift[2];  // of the pattern since the previous frame
    int followed;     // whether the motion since then is known
    int keeps_axes;   // whether the strokes of the previous frame followed its lines
    int placed;       // whether a GPU has already computed the state of this frame
};

STYLEFORGE_PORTABLE int half_of(int side) { return (side + 1) / 2; }

// OpenCV's gray conversion with 15 fractional bits.
constexpr int kGrayBits = 15, kRedShare = 9798, kGreenShare = 19235, kBlueShare = 3735;

STYLEFORGE_PORTABLE int gray(Color c) {
    return (c.r * kRedShare + c.g * kGreenShare + c.b * kBlueShare + (1 << (kGrayBits - 1))) >>
           kGrayBits;
}

// Weighted sums over an area.
struct AreaSums {
    float mean, square, weight;
};

// Sums over the area that a pixel of a [height, width] copy covers, from row `first` of the area on,
// every `step` rows.
STYLEFORGE_PORTABLE AreaSums area_sums(const Picture& p, int row, int column, int height, int width,
                                       int first, int step) {
    const float tall = static_cast<float>(p.height) / height;
    const float wide = static_cast<float>(p.width) / width;
    const float top = row * tall, bottom = top + tall, left = column * wide, right = left + wide;
    AreaSums sum = {0, 0, 0};
    for (int i = static_cast<int>(top) + first; i < p.height && i < bottom; i += step) {
        const float rows = fminf(bottom, i + 1.f) - fmaxf(top, static_cast<float>(i));
        if (rows < 1e-3f) continue;
        for (int j = static_cast<int>(left); j < p.width && j < right; ++j) {
            const float columns = fminf(right, j + 1.f) - fmaxf(left, static_cast<float>(j));
            if (columns < 1e-3f) continue;
            const float weight = rows * columns, value = static_cast<float>(gray(pixel(p, i, j)));
            sum.mean += weight * value, sum.square += weight * value * value;
            sum.weight += weight;
        }
    }
    return sum;
}

// Measures the area that a pixel of a [height, width] copy covers.
STYLEFORGE_PORTABLE Cell gray_area(const Picture& p, int row, int column, int height, int width) {
    const AreaSums sum = area_sums(p, row, column, height, width, 0, 1);
    return {sum.mean / sum.weight, sum.square / sum.weight};
}

// Save an area's measurement, as a cell and as a pixel of the copy for motion.
STYLEFORGE_PORTABLE void keep_cell(const TextureParams& p, int row, int column, Cell area) {
    static_cast<Cell*>(p.cells)[1ll * row * p.columns + column] = area;
}

STYLEFORGE_PORTABLE void keep_pixel(const TextureParams& p, int row, int column, Cell area) {
    p.tracked[1ll * row * p.small_width + column] = static_cast<uint8_t>(to_byte(area.mean));
}

// A team's working memory for a tile. Rows have one cell more than they need, so that the threads
// of a warp, which work on different rows, read different banks.
struct FlatWork {
    Cell around[kTileRows + 2 * kWide][kTileColumns + 2 * kWide + 1];
    Cell close[kTileRows + 2 * kWide][kTileColumns + 1];  // blurred along the rows
    Cell wide[kTileRows + 2 * kWide][kTileColumns + 1];
    float taps[kClose + 1 + kWide + 1];
};

STYLEFORGE_PORTABLE void add(Cell& sum, float weight, Cell cell) {
    sum.mean += weight * cell.mean, sum.square += weight * cell.square;
}

STYLEFORGE_PORTABLE float variance(Cell c) { return fmaxf(c.square - c.mean * c.mean, 0.f); }

// Adds a cell to both blurs of a run of kRun cells, from `at` cells before the first.
template <int kRun>
STYLEFORGE_PORTABLE void blur(Cell (&close)[kRun], Cell (&wide)[kRun], const float* taps, int at,
                              Cell near, Cell far) {
    STYLEFORGE_UNROLL
    for (int k = 0; k < kRun; ++k) {
        const int away = at < k ? k - at : at - k;
        if (away <= kClose) add(close[k], taps[away], near);
        if (away <= kWide) add(wide[k], taps[kClose + 1 + away], far);
    }
}

// Copies the cells around a tile, reflected at the edges, and the taps.
template <typename Team>
STYLEFORGE_PORTABLE void copy_around(const Team& team, const TextureParams& p, int first_row,
                                     int first_column, FlatWork& work) {
    constexpr int kRows = kTileRows + 2 * kWide, kColumns = kTileColumns + 2 * kWide;
    const auto* cells = static_cast<const Cell*>(p.cells);
    const bool once = p.rows >= kRows && p.columns >= kColumns;  // one reflection is enough
    STYLEFORGE_UNROLL
    for (int i = team.rank; i < kRows * kColumns; i += team.size) {
        const int row = i / kColumns, column = i % kColumns;
        const int y = first_row + row - kWide, x = first_column + column - kWide;
        work.around[row][column] =
            once ? cells[1ll * reflected(y, p.rows) * p.columns + reflected(x, p.columns)]
                 : cells[1ll * reflected_often(y, p.rows) * p.columns +
                         reflected_often(x, p.columns)];
    }
    for (int i = team.rank; i < kClose + 1 + kWide + 1; i += team.size) work.taps[i] = p.taps[i];
}

// Measures the flatness of the cells of the tile at `first_row` and `first_column`. A team is the
// threads of a block or a single thread: `rank` of `size`, with the barrier `sync`. A thread blurs
// runs of cells, since adjacent cells need nearly the same others.
template <typename Team>
STYLEFORGE_PORTABLE void measure_flatness(const Team& team, const TextureParams& p, int first_row,
                                          int first_column, FlatWork& work) {
    constexpr int kRows = kTileRows + 2 * kWide, kAcross = 4, kDown = 2;
    copy_around(team, p, first_row, first_column, work);
    team.sync();
    for (int i = team.rank; i < kRows * kTileColumns / kAcross; i += team.size) {
        const int row = i % kRows, first = i / kRows * kAcross;
        Cell close[kAcross] = {}, wide[kAcross] = {};
        STYLEFORGE_UNROLL
        for (int j = 0; j < kAcross + 2 * kWide; ++j) {
            const Cell cell = work.around[row][first + j];
            blur(close, wide, work.taps, j - kWide, cell, cell);
        }
        STYLEFORGE_UNROLL
        for (int k = 0; k < kAcross; ++k)
            work.close[row][first + k] = close[k], work.wide[row][first + k] = wide[k];
    }
    team.sync();
    for (int i = team.rank; i < kTileRows * kTileColumns / kDown; i += team.size) {
        const int first = i / kTileColumns * kDown, column = i % kTileColumns;
        Cell close[kDown] = {}, wide[kDown] = {};
        STYLEFORGE_UNROLL
        for (int j = 0; j < kDown + 2 * kWide; ++j) {
            const bool near = j >= kWide - kClose && j < kWide + kClose + kDown;
            const Cell far = work.wide[first + j][column];
            blur(close, wide, work.taps, j - kWide, near ? work.close[first + j][column] : far, far);
        }
        STYLEFORGE_UNROLL
        for (int k = 0; k < kDown; ++k) {
            const int y = first_row + first + k, x = first_column + column;
            const float deviation = sqrtf(fmaxf(variance(close[k]), variance(wide[k])));
            if (y < p.rows && x < p.columns)
                p.flat[1ll * y * p.columns + x] = fminf(fmaxf(1 - deviation / kFlat, 0.f), 1.f);
        }
    }
}

// Samples a tile of noise between its pixels; `right` and `down` are less than a pixel.
template <int kSide>
STYLEFORGE_PORTABLE float noise_at(const float* tile, int row, int column, float right,
                                   float down) {
    const int y = row % kSide, x = column % kSide;
    const int below = y + 1 == kSide ? 0 : y + 1, beside = x + 1 == kSide ? 0 : x + 1;
    const float *here = tile + y * kSide, *next = tile + below * kSide;
    const float above = here[x] + (here[beside] - here[x]) * right;
    const float under = next[x] + (next[beside] - next[x]) * right;
    return above + (under - above) * down;
}

// The combed noise at a pixel.
STYLEFORGE_PORTABLE float combed_noise(const TextureParams& p, int row, int column) {
    const int height = half_of(p.height), width = half_of(p.width);
    const LinearTaps down = linear_taps(source_of(row, p.height, height), height);
    const LinearTaps across = linear_taps(source_of(column, p.width, width), width);
    const float *upper = p.combed + 1ll * down.first * width,
                *lower = p.combed + 1ll * down.second * width;
    return interpolated(down, across, upper[across.first], upper[across.second],
                        lower[across.first], lower[across.second]);
}

// The texture to add to a pixel, in levels.
STYLEFORGE_PORTABLE float texture_at(const TextureParams& p, int row, int column) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
    const LinearTaps across = linear_taps(source_of(column, p.width, p.columns), p.columns);
    const float *upper = p.flat + 1ll * down.first * p.columns,
                *lower = p.flat + 1ll * down.second * p.columns;
    const float flat = interpolated(down, across, upper[across.first], upper[across.second],
                                    lower[across.first], lower[across.second]);
    const float most = p.amount * kDeviation * s.presence;
    if (p.combed != nullptr) return combed_noise(p, row, column) * flat * most;
    const float noise =
        noise_at<kFineSide>(p.fine, s.top[0] + row, s.left[0] + column, s.right, s.down) +
        noise_at<kCoarseSide>(p.coarse, s.top[1] + row, s.left[1] + column, s.right, s.down);
    return noise * 0.70710678f * flat * most;
}

STYLEFORGE_PORTABLE Color lighter(Color c, int levels) {
    return {clamp(c.r + levels, 0, 255), clamp(c.g + levels, 0, 255),
            clamp(c.b + levels, 0, 255)};
}

// Returns texture_at in whole levels, and saves it in the field.
STYLEFORGE_PORTABLE int levels_at(const TextureParams& p, int row, int column) {
    const float by = texture_at(p, row, column);
    if (p.field != nullptr) p.field[1ll * row * p.width + column] = by;
    return static_cast<int>(rintf(by));
}

// Adds the field, enlarged by cubic interpolation, to a pixel.
STYLEFORGE_PORTABLE Color textured(const EnlargeTextureParams& p, int row, int column) {
    const CubicTaps rows = cubic_taps(source_of(row, p.height, p.small_height));
    const CubicTaps columns = cubic_taps(source_of(column, p.width, p.small_width));
    float by = 0;
    for (int i = 0; i < 4; ++i) {
        const float* line =
            p.field + 1ll * clamp(rows.first + i, 0, p.small_height - 1) * p.small_width;
        float sum = 0;
        for (int j = 0; j < 4; ++j)
            sum += columns.taps[j] * line[clamp(columns.first + j, 0, p.small_width - 1)];
        by += rows.taps[i] * sum;
    }
    return lighter(pixel({p.picture, p.height, p.width}, row, column),
                   static_cast<int>(rintf(by)));
}

}  // namespace styleforge
