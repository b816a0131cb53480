// The displayed picture, bit for bit as in finish.h, by blocks of columns.
#pragma once

#include <cstring>

#include "frames/native/finish.h"
#include "include/common/exact.h"
#include "enlarged.h"

namespace styleforge {

constexpr int kChannels = 4;  // red, green, blue, and the luma of the small source

// The channels of a pixel in one register; compilers do not find that by themselves.
#if defined(__GNUC__)
typedef float Four __attribute__((vector_size(16)));
STYLEFORGE_INLINE Four four_at(const float* at) {
    Four four;
    std::memcpy(&four, at, sizeof four);
    return four;
}
#else
struct Four {
    float values[kChannels];
    float operator[](int k) const { return values[k]; }
};
template <typename F>
STYLEFORGE_INLINE Four each_of(const F& value) {
    return {{value(0), value(1), value(2), value(3)}};
}
STYLEFORGE_INLINE Four four_at(const float* at) {
    return {{at[0], at[1], at[2], at[3]}};
}
STYLEFORGE_INLINE Four operator+(const Four& a, const Four& b) {
    return each_of([&](int k) { return a[k] + b[k]; });
}
STYLEFORGE_INLINE Four operator-(const Four& a, const Four& b) {
    return each_of([&](int k) { return a[k] - b[k]; });
}
STYLEFORGE_INLINE Four operator*(float a, const Four& b) {
    return each_of([&](int k) { return a * b[k]; });
}
#endif

// Rows of four values per pixel, with kMargin more pixels on each side.
struct Quads {
    float* values;
    int64_t stride;

    static Quads in(Memory& memory, int rows, int columns) {
        const int64_t stride = kChannels * (columns + 2 * kMargin);
        float* values = memory.take<float>(rows * stride);
        return {values == nullptr ? nullptr : values + kChannels * kMargin, stride};
    }

    float* row(int at) const { return values + at * stride; }

    // Repeats the edge of a row in its margins.
    void extend(int at, int columns) const {
        float *first = row(at), *last = first + kChannels * (columns - 1);
        for (int i = 1; i <= kMargin; ++i)
            for (int k = 0; k < kChannels; ++k)
                first[k - kChannels * i] = first[k], last[k + kChannels * i] = last[k];
    }
};

// The network's result and its source, and the slopes between them.
struct SmallPlanes {
    int rows, columns;
    Quads colors;              // the result's channels, and the luma
    Quads slopes;              // times kSlopeOne
    Plane of[kChannels];       // the same as `colors`
    Plane moments[kChannels];  // the channels' covariances with the luma, and its variance

    static SmallPlanes in(Memory& memory, int rows, int columns) {
        SmallPlanes small = {rows, columns, Quads::in(memory, rows, columns),
                             Quads::in(memory, rows, columns), {}, {}};
        for (Plane& each : small.of) each = memory.plane(rows, columns);
        for (Plane& each : small.moments) each = memory.plane(rows, columns);
        return small;
    }
};

// Divides a row of pictures into channels; without detail, `source` is null and there is no luma.
inline void split_row(const uint8_t* result, const uint8_t* source, const SmallPlanes& small,
                      int row) {
    const int columns = small.columns;
    const int64_t first = 3ll * row * columns;
    const uint8_t* at = result + first;
    float* quads = small.colors.row(row);
    for (int i = 0; i < columns; ++i)
        for (int k = 0; k < 3; ++k) quads[kChannels * i + k] = at[3 * i + k];
    if (source != nullptr) {
        const uint8_t* from = source + first;
        for (int i = 0; i < columns; ++i)
            quads[kChannels * i + 3] =
                static_cast<float>(luma({from[3 * i], from[3 * i + 1], from[3 * i + 2]}));
        for (int k = 0; k < kChannels; ++k) {
            float* plane = small.of[k].row(row);
            for (int i = 0; i < columns; ++i) plane[i] = quads[kChannels * i + k];
            small.of[k].extend(row);
        }
    }
    small.colors.extend(row, columns);
}

// Computes the moments of the 3x3 windows of a row. The sums are exact, so their order is free.
inline void moments_row(const SmallPlanes& small, int row) {
    const int rows = small.rows, columns = small.columns;
    const int lines[3] = {clamp(row - 1, 0, rows - 1), row, clamp(row + 1, 0, rows - 1)};
    float sums[kChannels][kBlock + 2], products[kChannels][kBlock + 2];
    const auto three = [](const float* at, int i) { return at[i] + at[i + 1] + at[i + 2]; };
    for (int begin = 0; begin < columns; begin += kBlock) {
        const int size = block_of(columns, begin);
        const float* gray[3];
        for (int i = 0; i < 3; ++i) gray[i] = small.of[3].row(lines[i]) + begin - 1;
        for (int k = 0; k < kChannels; ++k) {
            const float* at[3];
            for (int i = 0; i < 3; ++i) at[i] = small.of[k].row(lines[i]) + begin - 1;
            for (int i = 0; i < size + 2; ++i) {
                sums[k][i] = at[0][i] + at[1][i] + at[2][i];
                products[k][i] = gray[0][i] * at[0][i] + gray[1][i] * at[1][i] +
                                 gray[2][i] * at[2][i];
            }
        }
        for (int k = 0; k < kChannels; ++k) {
            float* to = small.moments[k].row(row) + begin;
            for (int i = 0; i < size; ++i) {
                const float mean = three(sums[3], i) / 9;
                // As in moments(): the variance multiplies means, a covariance a mean and a sum.
                const float both = k == 3 ? mean * mean : mean * three(sums[k], i) / 9;
                to[i] = three(products[k], i) / 9 - both;
            }
        }
    }
    for (const Plane& each : small.moments) each.extend(row);
}

inline void slopes_row(const SmallPlanes& small, int row) {
    const int rows = small.rows, columns = small.columns;
    float variances[kBlock];
    for (int begin = 0; begin < columns; begin += kBlock) {
        const int size = block_of(columns, begin);
        for (int k = kChannels - 1; k >= 0; --k) {
            const Plane& plane = small.moments[k];
            const float *above = plane.row(clamp(row - 1, 0, rows - 1)) + begin,
                        *here = plane.row(row) + begin,
                        *below = plane.row(clamp(row + 1, 0, rows - 1)) + begin;
            const auto mean = [=](int i) {  // adds in the order of slope()
                return (above[i - 1] + above[i] + above[i + 1] + here[i - 1] + here[i] +
                        here[i + 1] + below[i - 1] + below[i] + below[i + 1]) / 9;
            };
            if (k == kChannels - 1) {
                for (int i = 0; i < size; ++i) variances[i] = mean(i);
                continue;
            }
            float* to = small.slopes.row(row) + kChannels * begin + k;
            float steps[kBlock];
            for (int i = 0; i < size; ++i) {
                const float slope = mean(i) / (variances[i] + kNoise);
                steps[i] = rintf(least(greatest(slope, -kMaxSlope), kMaxSlope) * kSlopeOne);
            }
            for (int i = 0; i < size; ++i) to[kChannels * i] = steps[i];
        }
    }
}

// Rows around a block of columns of the displayed picture, enlarged along it. Callers request rows
// from top to bottom, so that each is enlarged only once.
class CubicRows {
  public:
    CubicRows(const SmallPlanes& small, int width, int begin, int size)
        : small_(small), size_(size) {
        for (int i = 0; i < size; ++i)
            taps_[i] = cubic_taps(source_of(begin + i, width, small.columns));
    }

    // Writes the bytes of the first `count` channels of a row.
    void between(const CubicTaps& rows, int count, int* const* to) {
        const float(*lines[4])[kBlock];
        for (int i = 0; i < 4; ++i) lines[i] = row(clamp(rows.first + i, 0, small_.rows - 1));
        const float a = rows.taps[0], b = rows.taps[1], c = rows.taps[2], d = rows.taps[3];
        for (int k = 0; k < count; ++k) {
            const float *above = lines[0][k], *first = lines[1][k], *second = lines[2][k],
                        *below = lines[3][k];
            int* channel = to[k];
            for (int i = 0; i < size_; ++i)
                channel[i] = to_byte(a * above[i] + b * first[i] + c * second[i] + d * below[i]);
        }
    }

  private:
    const float (*row(int at))[kBlock] {
        auto& values = values_[at & 3];
        if (rows_[at & 3] == at) return values;
        rows_[at & 3] = at;
        const float* from = small_.colors.row(at);
        for (int i = 0; i < size_; ++i) {
            const float *t = taps_[i].taps, *at = from + kChannels * taps_[i].first;
            const Four sum = t[0] * four_at(at) + t[1] * four_at(at + 4) + t[2] * four_at(at + 8) +
                             t[3] * four_at(at + 12);
            for (int k = 0; k < kChannels; ++k) values[k][i] = sum[k];
        }
        return values;
    }

    const SmallPlanes& small_;
    int size_, rows_[4] = {-1, -1, -1, -1};
    CubicTaps taps_[kBlock];
    float values_[4][kChannels][kBlock];
};

// The slopes around a block of columns, enlarged along it in the same way.
class SlopeRows {
  public:
    SlopeRows(const SmallPlanes& small, int width, int begin, int size)
        : small_(small), size_(size) {
        for (int i = 0; i < size; ++i)
            taps_[i] = linear_taps(source_of(begin + i, width, small.columns), small.columns);
    }

    // Writes a channel of a row, rounded.
    void between(const LinearTaps& rows, int channel, float* to) {
        const float *upper = row(rows.first)[channel], *lower = row(rows.second)[channel];
        for (int i = 0; i < size_; ++i)
            to[i] = rintf(upper[i] + (lower[i] - upper[i]) * rows.share);
    }

  private:
    const float (*row(int at))[kBlock] {
        auto& values = values_[at & 1];
        if (rows_[at & 1] == at) return values;
        rows_[at & 1] = at;
        const float* from = small_.slopes.row(at);
        for (int i = 0; i < size_; ++i) {
            const Four left = four_at(from + kChannels * taps_[i].first),
                       right = four_at(from + kChannels * taps_[i].second),
                       found = left + taps_[i].share * (right - left);
            for (int k = 0; k < 3; ++k) values[k][i] = found[k];
        }
        return values;
    }

    const SmallPlanes& small_;
    int size_, rows_[2] = {-1, -1};
    LinearTaps taps_[kBlock];
    float values_[2][3][kBlock];
};

// The channels of part of a row.
struct Colors {
    int red[kBlock], green[kBlock], blue[kBlock];

    Color at(int i) const { return {red[i], green[i], blue[i]}; }
    void put(int i, Color c) { red[i] = c.r, green[i] = c.g, blue[i] = c.b; }

    void read(const uint8_t* from, int size) {
        for (int i = 0; i < size; ++i)
            red[i] = from[3 * i], green[i] = from[3 * i + 1], blue[i] = from[3 * i + 2];
    }
    void write(uint8_t* to, int size) const {
        for (int i = 0; i < size; ++i) {
            to[3 * i] = static_cast<uint8_t>(red[i]);
            to[3 * i + 1] = static_cast<uint8_t>(green[i]);
            to[3 * i + 2] = static_cast<uint8_t>(blue[i]);
        }
    }
};

// Adds the detail that a frame has beyond the known luma to an enlarged result.
inline void add_detail(SlopeRows& slopes, const LinearTaps& down, const Colors& frame,
                       const int* known, Colors& enlarged, int size) {
    float rest[kBlock], slope[kBlock];
    for (int i = 0; i < size; ++i) {
        const int beyond = luma(frame.at(i)) - known[i];
        rest[i] = static_cast<float>(beyond - clamp(beyond, -kNoiseFloor, kNoiseFloor));
    }
    int* channels[3] = {enlarged.red, enlarged.green, enlarged.blue};
    for (int k = 0; k < 3; ++k) {
        slopes.between(down, k, slope);
        int* to = channels[k];
        for (int i = 0; i < size; ++i) {
            const int added = static_cast<int>(rintf(slope[i] * rest[i] / kSlopeOne));
            to[i] = clamp(to[i] + added, 0, 255);
        }
    }
}

// Mixes part of an enlarged result with the frame.
inline void mix(const FinishParams& p, const Colors& frame, Colors& enlarged, int size) {
    if (p.keep_colors)
        for (int i = 0; i < size; ++i)
            enlarged.put(i, with_chroma(enlarged.at(i), frame.at(i)));
    if (p.strength >= 1) return;
    for (int i = 0; i < size; ++i) {
        const Color c = enlarged.at(i), from = frame.at(i);
        enlarged.put(i, {mixed(c.r, from.r, p.strength), mixed(c.g, from.g, p.strength),
                         mixed(c.b, from.b, p.strength)});
    }
}

inline void finish_rows(const FinishParams& p, const SmallPlanes& small, bool detailed,
                        int first_row, int end_row) {
    const int rows = p.small_height;
    const bool reads = detailed || p.keep_colors || p.strength < 1;
    Colors frame, enlarged;
    int known[kBlock];
    int* channels[kChannels] = {enlarged.red, enlarged.green, enlarged.blue, known};
    for (int begin = 0; begin < p.width; begin += kBlock) {
        const int size = block_of(p.width, begin);
        CubicRows cubics(small, p.width, begin, size);
        SlopeRows slopes(small, p.width, begin, size);
        for (int row = first_row; row < end_row; ++row) {
            const float y = source_of(row, p.height, rows);
            const int64_t at = 3 * (1ll * row * p.width + begin);
            cubics.between(cubic_taps(y), detailed ? kChannels : 3, channels);
            if (reads) frame.read(p.frame + at, size);
            if (detailed) add_detail(slopes, linear_taps(y, rows), frame, known, enlarged, size);
            mix(p, frame, enlarged, size);
            enlarged.write(p.picture + at, size);
        }
    }
}

}  // namespace styleforge
