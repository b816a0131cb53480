// Noise where a frame is flat, on the CPU: the counterpart of frame.cu's kernels, with the
// arithmetic of its headers or, where whole rows are computed at once, another order of sums.
// The number of threads changes no bit.
#include <atomic>
#include <cstdint>

#include "include/cpu/buffer.h"
#include "include/cpu/export.h"
#include "include/cpu/parallel.h"
#include "combing.h"
#include "motion.h"

namespace {

using namespace styleforge;

// A team of one thread, which sums whole rows of pixels.
struct Alone {
    static constexpr int rank = 0, size = 1, block = 0, blocks = 1, kParts = 4;

    void sync() const {}
    void sync_all() const {}
    void add(unsigned& sum, unsigned value) const { sum += value; }
    void least(unsigned& least, unsigned value) const {
        if (value < least) least = value;
    }
    unsigned least_of_all(unsigned own) const { return own; }
    void publish(TextureState&) const {}
    // Sums columns first, since they are independent of one another.
    template <int kNumber, typename Add>
    void sum(int rows, int columns, float (&sums)[kNumber], const Add& add) const {
        float of_columns[kNumber][kTracked] = {};
        for (int row = 0; row < rows; ++row)
            for (int column = 0; column < columns; ++column) {
                float values[kNumber] = {};
                add(row, column, values);
                for (int i = 0; i < kNumber; ++i) of_columns[i][column] += values[i];
            }
        for (int i = 0; i < kNumber; ++i)
            for (int column = 0; column < columns; ++column) sums[i] += of_columns[i][column];
    }
};

// For each of `few` areas along an axis of `many` pixels: the first pixel that it covers, and the
// covered share of each pixel.
class Areas {
 public:
    Areas(int many, int few) : first_(few), begin_(few + 1), shares_(many + 2ll * few) {
        if (!*this) return;
        const float wide = static_cast<float>(many) / few;
        int count = 0;
        for (int at = 0; at < few; ++at) {
            const float left = at * wide, right = left + wide;
            first_[at] = -1, begin_[at] = count;
            for (int i = static_cast<int>(left); i < many && i < right; ++i) {
                const float share = fminf(right, i + 1.f) - fmaxf(left, static_cast<float>(i));
                if (share < 1e-3f) continue;
                if (first_[at] < 0) first_[at] = i;
                shares_[count++] = share;
            }
        }
        begin_[few] = count;
    }
    explicit operator bool() const { return first_ && begin_ && shares_; }

    int first(int area) const { return first_[area]; }
    int count(int area) const { return begin_[area + 1] - begin_[area]; }
    float share(int area, int pixel) const { return shares_[begin_[area] + pixel]; }

 private:
    Buffer<int> first_, begin_;
    Buffer<float> shares_;
};

// Means over a row of areas, and with kSquares of the squares, as in gray_area.
template <bool kSquares, typename Use>
void each_area(const uint8_t* gray, int width, const Areas& down, const Areas& across, int row,
               int columns, float* sums, const Use& use) {
    float* const squares = sums + width;
    for (int j = 0; j < (kSquares ? 2 : 1) * width; ++j) sums[j] = 0;
    float tall = 0;
    for (int i = 0; i < down.count(row); ++i) {
        const float share = down.share(row, i);
        const uint8_t* const line = gray + 1ll * (down.first(row) + i) * width;
        tall += share;
        for (int j = 0; j < width; ++j) {
            const float value = line[j], weighted = share * value;
            sums[j] += weighted;
            if (kSquares) squares[j] += weighted * value;
        }
    }
    for (int column = 0; column < columns; ++column) {
        const int first = across.first(column), count = across.count(column);
        float mean = 0, square = 0, wide = 0;
        for (int k = 0; k < count; ++k) {
            const float share = across.share(column, k);
            mean += share * sums[first + k], wide += share;
            if (kSquares) square += share * squares[first + k];
        }
        use(column, mean / (tall * wide), square / (tall * wide));
    }
}

// Blurs a row of cells, down and then across; `line` holds kWide extra cells on both sides.
void blur_row(const TextureParams& p, int row, const float* taps, int reach, float* line,
              float* blurred) {
    const int values = 2 * p.columns;
    const auto* const cells = static_cast<const float*>(p.cells);
    const auto at = [&](int y) { return cells + 1ll * reflected_often(y, p.rows) * values; };
    float* const middle = line + 2 * kWide;
    for (int j = 0; j < values; ++j) middle[j] = taps[0] * at(row)[j];
    for (int k = 1; k <= reach; ++k) {
        const float weight = taps[k], *above = at(row - k), *below = at(row + k);
        for (int j = 0; j < values; ++j) middle[j] += weight * (above[j] + below[j]);
    }
    for (int k = 1; k <= reach; ++k)
        for (int i = 0; i < 2; ++i) {
            middle[-2 * k + i] = middle[2 * reflected_often(-k, p.columns) + i];
            middle[values + 2 * (k - 1) + i] =
                middle[2 * reflected_often(p.columns + k - 1, p.columns) + i];
        }
    for (int j = 0; j < values; ++j) blurred[j] = taps[0] * middle[j];
    for (int k = 1; k <= reach; ++k) {
        const float weight = taps[k];
        for (int j = 0; j < values; ++j)
            blurred[j] += weight * (middle[j - 2 * k] + middle[j + 2 * k]);
    }
}

// Measures the flatness of the cells of a row. `work` holds blurred_floats(columns).
void flat_row(const TextureParams& p, int row, float* work) {
    const int values = 2 * p.columns;
    float *const line = work, *const close = line + values + 4 * kWide, *const wide = close + values;
    blur_row(p, row, p.taps, kClose, line, close);
    blur_row(p, row, p.taps + kClose + 1, kWide, line, wide);
    float* const flat = p.flat + 1ll * row * p.columns;
    for (int j = 0; j < p.columns; ++j) {
        const float most = fmaxf(variance({close[2 * j], close[2 * j + 1]}),
                                 variance({wide[2 * j], wide[2 * j + 1]}));
        flat[j] = fminf(fmaxf(1 - sqrtf(most) / kFlat, 0.f), 1.f);
    }
}

int64_t blurred_floats(int columns) { return 6ll * columns + 4 * kWide; }

// Adds an interpolated row of a tile of noise to `noise`, starting at `left`.
template <int kSide>
void add_noise(const float* tile, int row, int left, float right, float down, int width,
               float* noise) {
    const int y = row % kSide, below = y + 1 == kSide ? 0 : y + 1;
    const float *const here = tile + y * kSide, *const next = tile + below * kSide;
    const auto between = [=](int x, int beside) {
        const float above = here[x] + (here[beside] - here[x]) * right;
        const float under = next[x] + (next[beside] - next[x]) * right;
        return above + (under - above) * down;
    };
    for (int column = 0, x = left % kSide; column < width; x = 0) {
        const int whole = kSide - 1 - x, rest = width - column;
        const int count = whole < rest ? whole : rest;
        for (int j = 0; j < count; ++j) noise[column + j] += between(x + j, x + j + 1);
        column += count;
        if (column < width) noise[column++] += between(kSide - 1, 0);
    }
}

// Adds levels to a row of colors; `each` holds one level per channel.
void lighten_row(const uint8_t* picture, const float* by, int width, short* each,
                 uint8_t* textured) {
    for (int j = 0; j < width; ++j) {
        const short levels = static_cast<short>(rintf(by[j]));
        each[3 * j] = each[3 * j + 1] = each[3 * j + 2] = levels;
    }
    for (int j = 0; j < 3 * width; ++j) {
        const short sum = static_cast<short>(picture[j] + each[j]);
        textured[j] = static_cast<uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
    }
}

// Calls `run(row, floats, shorts)` for every row, with buffers per thread. Returns false without
// memory.
template <typename Run>
bool each_row(int64_t rows, int64_t threads, int64_t floats, int64_t shorts, const Run& run) {
    std::atomic<bool> enough{true};
    parallel_for(rows, threads, [&](int64_t begin, int64_t end) {
        Buffer<float> values(floats);
        Buffer<short> levels(shorts);
        if (!values || !levels) {
            enough = false;
            return;
        }
        for (int64_t row = begin; row < end; ++row)
            run(static_cast<int>(row), &values[0], &levels[0]);
    });
    return enough;
}

// Computes the gray picture, its cells, and the copy for measuring motion.
bool measure(int64_t threads, const TextureParams& p, uint8_t* gray_pixels) {
    parallel_for(p.height, threads, [&](int64_t begin, int64_t end) {
        const uint8_t* const from = p.picture + begin * p.width * 3;
        uint8_t* const to = gray_pixels + begin * p.width;
        for (int64_t i = 0; i < (end - begin) * p.width; ++i)
            to[i] = static_cast<uint8_t>(gray({from[3 * i], from[3 * i + 1], from[3 * i + 2]}));
    });
    const Areas down(p.height, p.rows), across(p.width, p.columns);
    const Areas small_down(p.height, p.small_height), small_across(p.width, p.small_width);
    if (!down || !across || !small_down || !small_across) return false;
    const int tracked = p.continues || p.combed != nullptr ? p.small_height : 0;
    return each_row(p.rows + tracked, threads, 2ll * p.width, 0, [&](int row, float* sums, short*) {
        if (row < p.rows) {
            Cell* const cells = static_cast<Cell*>(p.cells) + 1ll * row * p.columns;
            each_area<true>(gray_pixels, p.width, down, across, row, p.columns, sums,
                            [=](int column, float mean, float square) {
                                cells[column] = {mean, square};
                            });
        } else {
            row -= p.rows;
            uint8_t* const small = p.tracked + row * p.small_width;
            each_area<false>(gray_pixels, p.width, small_down, small_across, row, p.small_width,
                             sums, [=](int column, float mean, float) {
                                 small[column] = static_cast<uint8_t>(to_byte(mean));
                             });
        }
    });
}

// One thread measures motion and then helps the others, which measure the flatness of the cells.
bool follow_and_measure_flatness(int64_t threads, const TextureParams& p) {
    std::atomic<bool> enough{true};
    std::atomic<int> next{0};
    const int64_t team = threads < p.rows + 1 ? threads : p.rows + 1;
    parallel_for(team, team, [&](int64_t begin, int64_t) {
        if (begin == 0) {
            Buffer<MotionWork> work(1);
            if (work)
                follow(Alone(), p, work[0]);
            else
                enough = false;
        }
        Buffer<float> work(blurred_floats(p.columns));
        if (!work) {
            enough = false;
            return;
        }
        for (int row; (row = next.fetch_add(1, std::memory_order_relaxed)) < p.rows;)
            flat_row(p, row, &work[0]);
    });
    return enough;
}

// Blurs the axes of a row's lines; `line` holds kCarryReach extra axes on both sides.
void lines_row(const CombParams& p, int row, Axis* line) {
    const int width = p.small_width;
    Axis* const middle = line + kCarryReach;
    for (int j = 0; j < width; ++j) middle[j] = line_at(p, row, j);
    for (int k = 1; k <= kCarryReach; ++k) {
        middle[-k] = middle[reflected_often(-k, width)];
        middle[width - 1 + k] = middle[reflected_often(width - 1 + k, width)];
    }
    auto* const blurred = static_cast<Blurred*>(p.lines) + 1ll * row * width;
    const float *narrow = p.taps, *wide = p.taps + kNarrowReach + 1;
    for (int j = 0; j < width; ++j) {
        Blurred sum = {{0, 0}, {0, 0}};
        for (int k = -kCarryReach; k <= kCarryReach; ++k)
            add_axis(sum.wide, wide[k < 0 ? -k : k], middle[j + k]);
        for (int k = -kNarrowReach; k <= kNarrowReach; ++k)
            add_axis(sum.narrow, narrow[k < 0 ? -k : k], middle[j + k]);
        blurred[j] = sum;
    }
}

// Blurs a row of blurred lines down; sums whole rows. `sums` holds a Blurred per column.
void followed_row(const CombParams& p, int row, Blurred* sums) {
    const auto& s = *static_cast<const TextureState*>(p.state);
    const int width = p.small_width;
    const float *narrow = p.taps, *wide = p.taps + kNarrowReach + 1;
    for (int j = 0; j < width; ++j) sums[j] = {{0, 0}, {0, 0}};
    for (int k = -kCarryReach; k <= kCarryReach; ++k) {
        const auto* const at = static_cast<const Blurred*>(p.lines) +
                               1ll * reflected_often(row + k, p.small_height) * width;
        const int away = k < 0 ? -k : k;
        const float close = away <= kNarrowReach ? narrow[away] : 0.f;
        for (int j = 0; j < width; ++j) {
            add_axis(sums[j].narrow, close, at[j].narrow);
            add_axis(sums[j].wide, wide[away], at[j].wide);
        }
    }
    auto* const axes = static_cast<Axis*>(p.axes) + 1ll * row * width;
    for (int j = 0; j < width; ++j)
        axes[j] = averaged(p, s, row, j, joined(sums[j].narrow, sums[j].wide));
}

// Calls `run(row, items)` for every row, with `count` items per thread. Returns false without
// memory.
template <typename Item, typename Run>
bool each_row_with(int64_t rows, int64_t threads, int64_t count, const Run& run) {
    std::atomic<bool> enough{true};
    parallel_for(rows, threads, [&](int64_t begin, int64_t end) {
        Buffer<Item> items(count);
        if (!items) {
            enough = false;
            return;
        }
        for (int64_t row = begin; row < end; ++row) run(static_cast<int>(row), &items[0]);
    });
    return enough;
}

bool find_axes(int64_t threads, const CombParams& p) {
    if (p.mode != kFollow) {
        parallel_for(p.small_height, threads, [&](int64_t begin, int64_t end) {
            for (int row = static_cast<int>(begin); row < end; ++row)
                for (int column = 0; column < p.small_width; ++column)
                    static_cast<Axis*>(p.axes)[1ll * row * p.small_width + column] =
                        axis_at(p, row, column);
        });
        return true;
    }
    return each_row_with<Axis>(p.small_height, threads, p.small_width + 2 * kCarryReach,
                               [&](int row, Axis* line) { lines_row(p, row, line); }) &&
           each_row_with<Blurred>(p.small_height, threads, p.small_width,
                                  [&](int row, Blurred* sums) { followed_row(p, row, sums); });
}

bool comb(int64_t threads, const CombParams& p) {
    if (!find_axes(threads, p)) return false;
    parallel_for(noise_rows(p), threads, [&](int64_t begin, int64_t end) {
        for (int row = static_cast<int>(begin); row < end; ++row)
            for (int column = 0; column < noise_columns(p); ++column)
                p.noise[1ll * row * noise_columns(p) + column] = summed_noise(p, row, column);
    });
    const int width = half_of(p.width);
    parallel_for(half_of(p.height), threads, [&](int64_t begin, int64_t end) {
        for (int row = static_cast<int>(begin); row < end; ++row)
            for (int column = 0; column < width; ++column)
                p.combed[1ll * row * width + column] = combed_at(p, row, column);
    });
    keep_axes(p, 0, 1);
    return true;
}

bool add_texture(int64_t threads, const TextureParams& p) {
    const TextureState& s = *static_cast<const TextureState*>(p.state);
    Buffer<LinearTaps> across(p.width);
    if (!across) return false;
    for (int column = 0; column < p.width; ++column)
        across[column] = linear_taps(source_of(column, p.width, p.columns), p.columns);
    const float most = (p.combed != nullptr ? 1.f : 0.70710678f) *
                       (p.amount * kDeviation * s.presence);
    const int half = half_of(p.height), half_width = half_of(p.width);
    const int64_t halves = p.combed != nullptr ? half_width : 0;
    Buffer<LinearTaps> combed(halves > 0 ? p.width : 1);
    if (!combed) return false;
    for (int column = 0; halves > 0 && column < p.width; ++column)
        combed[column] = linear_taps(source_of(column, p.width, half_width), half_width);
    const int64_t floats = p.width + p.columns + halves;
    return each_row(p.height, threads, floats, 3ll * p.width, [&](int row, float* by, short* each) {
        float* const flat = by + p.width;
        const LinearTaps down = linear_taps(source_of(row, p.height, p.rows), p.rows);
        const float *upper = p.flat + 1ll * down.first * p.columns,
                    *lower = p.flat + 1ll * down.second * p.columns;
        for (int j = 0; j < p.columns; ++j)
            flat[j] = most * (upper[j] + (lower[j] - upper[j]) * down.share);
        if (halves > 0) {
            float* const line = flat + p.columns;
            const LinearTaps at = linear_taps(source_of(row, p.height, half), half);
            const float *first = p.combed + at.first * halves,
                        *second = p.combed + at.second * halves;
            for (int j = 0; j < half_width; ++j)
                line[j] = first[j] + (second[j] - first[j]) * at.share;
            for (int j = 0; j < p.width; ++j) {
                const LinearTaps& taps = combed[j];
                by[j] = line[taps.first] + (line[taps.second] - line[taps.first]) * taps.share;
            }
        } else {
            for (int j = 0; j < p.width; ++j) by[j] = 0;
            add_noise<kFineSide>(p.fine, s.top[0] + row, s.left[0], s.right, s.down, p.width, by);
            add_noise<kCoarseSide>(p.coarse, s.top[1] + row, s.left[1], s.right, s.down, p.width,
                                   by);
        }
        for (int j = 0; j < p.width; ++j) {
            const LinearTaps& taps = across[j];
            const float first = flat[taps.first];
            by[j] *= first + (flat[taps.second] - first) * taps.share;
        }
        const int64_t at = 1ll * row * p.width;
        if (p.field != nullptr)
            for (int j = 0; j < p.width; ++j) p.field[at + j] = by[j];
        lighten_row(p.picture + 3 * at, by, p.width, each, p.textured + 3 * at);
    });
}

}  // namespace

// Writes the sizes that the host needs: bytes of the three structs, of a cell and of the state
// between frames, reach of the blurs in cells, sides of the tiles of noise, the maximum tracked
// side, reach of the blurs of directions, sizes of the combed noise, and the most handles.
STYLEFORGE_EXPORT int texture_sizes(int* sizes) {
    const int all[] = {static_cast<int>(sizeof(TextureParams)),
                       static_cast<int>(sizeof(EnlargeTextureParams)),
                       static_cast<int>(sizeof(CombParams)),
                       static_cast<int>(sizeof(Cell)),
                       static_cast<int>(sizeof(TextureState)),
                       kClose, kWide, kFineSide, kCoarseSide, kTracked, kNarrowReach, kCarryReach, kLongest,
                       kMargin, kMostHandles};
    for (int i = 0; i < 15; ++i) sizes[i] = all[i];
    return 0;
}

// Adds texture to the next picture of a stream; `gray` holds one byte per pixel, and `combs` is
// null for strokes without a direction. Returns 1 if an allocation failed.
STYLEFORGE_EXPORT int texture_add(long long threads, const TextureParams* p, const CombParams* combs,
                                  uint8_t* gray) {
    return !(measure(threads, *p, gray) && follow_and_measure_flatness(threads, *p) &&
             (combs == nullptr || comb(threads, *combs)) && add_texture(threads, *p));
}

// Adds the same texture to a larger copy, like `textured`; returns 1 if an allocation failed.
STYLEFORGE_EXPORT int texture_enlarge(long long threads, const EnlargeTextureParams* p) {
    Buffer<CubicTaps> across(p->width);
    if (!across) return 1;
    for (int column = 0; column < p->width; ++column)
        across[column] = cubic_taps(source_of(column, p->width, p->small_width));
    // The edge of a row is repeated, so that taps need no clamping.
    constexpr int kEdge = 4;
    const int64_t floats = p->width + p->small_width + 2 * kEdge;
    return !each_row(p->height, threads, floats, 3ll * p->width,
                     [&](int row, float* by, short* each) {
        float* const line = by + p->width + kEdge;
        const CubicTaps down = cubic_taps(source_of(row, p->height, p->small_height));
        const float* from[4];
        for (int i = 0; i < 4; ++i)
            from[i] = p->field +
                      1ll * clamp(down.first + i, 0, p->small_height - 1) * p->small_width;
        for (int j = 0; j < p->small_width; ++j)
            line[j] = down.taps[0] * from[0][j] + down.taps[1] * from[1][j] +
                      down.taps[2] * from[2][j] + down.taps[3] * from[3][j];
        for (int j = 1; j <= kEdge; ++j)
            line[-j] = line[0], line[p->small_width - 1 + j] = line[p->small_width - 1];
        for (int j = 0; j < p->width; ++j) {
            const CubicTaps& taps = across[j];
            const float* const at = line + taps.first;
            by[j] = taps.taps[0] * at[0] + taps.taps[1] * at[1] + taps.taps[2] * at[2] +
                    taps.taps[3] * at[3];
        }
        const int64_t at = 3ll * row * p->width;
        lighten_row(p->picture + at, by, p->width, each, p->textured + at);
    });
}
