// Conversion of data into the input of a model, on the CPU: embeddings of tokens with positions and
// the gradient of their table, pictures as normalized tensors, and windows over series with their
// gradient. Arithmetic is in FP32, and the number of threads changes no bit.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "include/cpu/buffer.h"
#include "include/cpu/export.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/streams.h"
#include "include/cpu/with_type.h"

namespace {

using namespace styleforge;

constexpr int64_t kBlock = 1024;  // windows per step

enum Reduction { kSum = 0, kMean = 1, kMax = 2, kMin = 3 };
template <int64_t kReduction>
using Kind = std::integral_constant<int64_t, kReduction>;

// The pixels of a row or a column whose weighted mean is an output pixel, as in PyTorch's
// interpolate(antialias=True), or without antialiasing. Positions are exact, in half output pixels.
struct Taps {
    int64_t first, count;
    float offset, inverse;

    Taps(int64_t at, int64_t in, int64_t out, bool antialias) {
        const int64_t unit = 2 * out, middle = (2 * at + 1) * in;
        const int64_t reach = antialias && in > out ? 2 * in : unit;
        const int64_t end = (middle + out + reach) / unit;
        first = middle + out > reach ? (middle + out - reach) / unit : 0;
        count = (end < in ? end : in) - first;
        offset = static_cast<float>(unit * first + out - middle) / static_cast<float>(unit);
        inverse = static_cast<float>(unit) / static_cast<float>(reach);
    }
    float weight(int64_t tap) const {
        const float w = 1 - std::fabs((static_cast<float>(tap) + offset) * inverse);
        return w > 0 ? w : 0;
    }
};

struct Picture {
    const unsigned char* pixels;  // first pixel of the box
    int64_t row_bytes, box_height, box_width, height, width;
    bool mirrored, antialias;
    const float *color, *normal;
};

// Resamples a row into `made`: planes of `width`, before the color matrix. `line` holds 3 numbers
// per pixel of a row of the box.
void resample_row(const Picture& p, int64_t row, float* line, float* made) {
    const Taps down(row, p.box_height, p.height, p.antialias);
    const int64_t numbers = 3 * p.box_width;
    float total = 0;
    for (int64_t i = 0; i < numbers; ++i) line[i] = 0;
    for (int64_t tap = 0; tap < down.count; ++tap) {
        const float weight = down.weight(tap);
        const unsigned char* const from = p.pixels + (down.first + tap) * p.row_bytes;
        total += weight;
        for (int64_t i = 0; i < numbers; ++i) line[i] += weight * static_cast<float>(from[i]);
    }
    for (int64_t at = 0; at < p.width; ++at) {
        const int64_t column = p.mirrored ? p.width - 1 - at : at;
        const Taps across(column, p.box_width, p.width, p.antialias);
        float sums[3] = {}, weights = 0;
        for (int64_t tap = 0; tap < across.count; ++tap) {
            const float weight = across.weight(tap);
            weights += weight;
            for (int64_t c = 0; c < 3; ++c) sums[c] += weight * line[3 * (across.first + tap) + c];
        }
        const float unit = 1 / (255 * total * weights);
        for (int64_t c = 0; c < 3; ++c) made[c * p.width + at] = sums[c] * unit;
    }
}

// Applies the color matrix and the normalization to planes of `width`.
void colored(const Picture& p, float* planes) {
    float *const r = planes, *const g = planes + p.width, *const b = planes + 2 * p.width;
    const float *const m = p.color, *const n = p.normal;
    const auto normalized = [&](float value, int64_t c) {
        value = value > 0 ? value : 0;
        return ((value < 1 ? value : 1) - n[c]) * n[3 + c];
    };
    for (int64_t i = 0; i < p.width; ++i) {
        const float red = r[i], green = g[i], blue = b[i];
        r[i] = normalized(m[0] * red + m[1] * green + m[2] * blue + m[3], 0);
        g[i] = normalized(m[4] * red + m[5] * green + m[6] * blue + m[7], 1);
        b[i] = normalized(m[8] * red + m[9] * green + m[10] * blue + m[11], 2);
    }
}

// to = from * scale + added, if `added` is not null.
template <typename T>
void embed_row(const T* from, const T* added, T* to, int64_t width, float scale) {
    if (added == nullptr && scale == 1.f) {
        std::memcpy(to, from, static_cast<size_t>(width) * sizeof(T));
        return;
    }
    float values[kBlock], others[kBlock];
    for (int64_t at = 0; at < width; at += kBlock) {
        const int64_t count = width - at < kBlock ? width - at : kBlock;
        widen_row(values, from + at, count);
        for (int64_t i = 0; i < count; ++i) values[i] *= scale;
        if (added != nullptr) {
            widen_row(others, added + at, count);
            for (int64_t i = 0; i < count; ++i) values[i] += others[i];
        }
        narrow_row(to + at, values, count);
    }
}

// The same in FP32, in one pass.
void embed_row(const float* __restrict from, const float* __restrict added, float* __restrict to,
               int64_t width, float scale) {
    if (added != nullptr)
        for (int64_t i = 0; i < width; ++i) to[i] = from[i] * scale + added[i];
    else if (scale != 1.f)
        for (int64_t i = 0; i < width; ++i) to[i] = from[i] * scale;
    else
        std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float));
}

// The same, bypassing the caches, for rows that can be streamed.
void stream_embedded(const float* from, const float* added, float* to, int64_t width,
                     float scale) {
    alignas(64) float piece[kPiece];
    for (int64_t i = 0; i < width; i += kPiece) {
        embed_row(from + i, added == nullptr ? added : added + i, piece, kPiece, scale);
        stream(to + i, piece);
    }
}
template <typename T>
void stream_embedded(const T* from, const T* added, T* to, int64_t width, float scale) {
    embed_row(from, added, to, width, scale);
}

template <typename T>
void add_row(const T* __restrict from, float* __restrict sums, int64_t count) {
    for (int64_t i = 0; i < count; ++i) sums[i] += static_cast<float>(from[i]);
}

inline float join(int64_t reduction, float a, float b) {
    if (reduction == kMax) return b > a || b != b ? b : a;
    if (reduction == kMin) return b < a || b != b ? b : a;
    return a + b;
}

// Calls `use` with the size of groups, as a constant if it is a small power of 2: compilers
// vectorize loops with known strides.
template <typename Use>
inline void with_group(int64_t group, const Use& use) {
    if (group == 2) return use(std::integral_constant<int64_t, 2>());
    if (group == 4) return use(std::integral_constant<int64_t, 4>());
    if (group == 8) return use(std::integral_constant<int64_t, 8>());
    use(group);
}

// Reduces `count` groups of elements, which are always in the same windows, to one number each.
template <int64_t kReduction>
void join_groups(const float* __restrict x, int64_t count, int64_t group, float* __restrict made) {
    with_group(group, [&](auto size) {
        for (int64_t i = 0; i < count; ++i) {
            float joined = x[i * size];
            for (int64_t k = 1; k < size; ++k) joined = join(kReduction, joined, x[i * size + k]);
            made[i] = joined;
        }
    });
}

// The inverse: copies a group's number to all of its elements.
inline void spread_groups(const float* __restrict from, int64_t count, int64_t group,
                          float* __restrict to) {
    with_group(group, [&](auto size) {
        for (int64_t i = 0; i < count; ++i)
            for (int64_t k = 0; k < size; ++k) to[i * size + k] = from[i];
    });
}

// Reduces `count` windows, the first beginning at x. Each position is added for all windows at
// once, so that compilers vectorize it. A mean is divided by `elements`.
template <int64_t kReduction>
void reduce_windows(const float* x, int64_t count, int64_t size, int64_t step, float elements,
                    float* made) {
    for (int64_t w = 0; w < count; ++w) made[w] = x[w * step];
    for (int64_t k = 1; k < size; ++k) {
        const float* const from = x + k;
        if (step == 1)
            for (int64_t w = 0; w < count; ++w) made[w] = join(kReduction, made[w], from[w]);
        else
            for (int64_t w = 0; w < count; ++w)
                made[w] = join(kReduction, made[w], from[w * step]);
    }
    if (kReduction == kMean)
        for (int64_t w = 0; w < count; ++w) made[w] /= elements;
}

// Returns the greatest common divisor: this many elements are always in the same windows.
inline int64_t group_of(int64_t size, int64_t step) {
    while (step != 0) {
        const int64_t rest = size % step;
        size = step, step = rest;
    }
    return size;
}

// A table of embeddings, and the output rows: [rows, width].
struct Table {
    const void *rows, *position;
    void* out;
    int64_t type, length, width, entries;
    float scale;
};

// Embeds `token_of(row)` for each row; the token may be negative for zeros, or kMissing. Returns
// whether a token is not in the table.
constexpr int64_t kMissing = INT64_MIN;

template <typename TokenOf>
bool embed(int64_t threads, const Table& t, int64_t rows, const TokenOf& token_of) {
    std::atomic<bool> failed{false};
    with_type(t.type, [&](auto element) {
        using T = decltype(element);
        const int64_t of_row = t.width * static_cast<int64_t>(sizeof(T));
        const int64_t read = (rows < t.entries ? rows : t.entries) + (t.position ? rows : 0);
        const int64_t moved = (rows + read) * of_row;
        ask_for_large_pages(t.out, rows * of_row);
        const bool streams = t.type == 0 && moved > kCached && can_stream(t.out, t.width);
        parallel_for(rows, threads, [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const int64_t token = token_of(row);
                if (token >= t.entries || token == kMissing) {
                    failed = true;
                    continue;
                }
                T* const to = static_cast<T*>(t.out) + row * t.width;
                if (token < 0) {
                    std::memset(to, 0, static_cast<size_t>(t.width) * sizeof(T));
                    continue;
                }
                const T* const from = static_cast<const T*>(t.rows) + token * t.width;
                const T* const position = static_cast<const T*>(t.position);
                const T* const added =
                    position == nullptr ? position : position + row % t.length * t.width;
                if (streams)
                    stream_embedded(from, added, to, t.width, t.scale);
                else
                    embed_row(from, added, to, t.width, t.scale);
            }
            if (streams) streamed();
        });
    });
    return failed;
}

}  // namespace

// out: [rows, width]. Row r uses token r; position r % length is added. `missing` becomes 1 if a
// token is outside the table.
STYLEFORGE_EXPORT int styleforge_embed(long long threads, const long long* tokens,
                                       const void* table, const void* position, void* out,
                                       long long type, long long rows, long long length,
                                       long long width, long long entries, double scale,
                                       long long* missing) {
    const Table t{table, position, out, type, length, width, entries, static_cast<float>(scale)};
    *missing = embed(threads, t, rows, [&](int64_t row) -> int64_t {
        return tokens[row] < 0 ? kMissing : tokens[row];
    });
    return 0;
}

// out: [count, length, width]: the first tokens of each sequence, followed by `padding`, which is
// negative for zeros. given: [count, length], whether a token exists. `numbers`, of the same shape:
// the row of the table used there. `missing` as above.
STYLEFORGE_EXPORT int styleforge_embed_sequences(long long threads,
                                                 const long long* const* sequences,
                                                 const long long* sizes, const void* table,
                                                 void* out, unsigned char* given,
                                                 long long* numbers, long long type,
                                                 long long count, long long length,
                                                 long long width, long long entries,
                                                 long long padding, long long* missing) {
    const Table t{table, nullptr, out, type, length, width, entries, 1.f};
    *missing = embed(threads, t, count * length, [&](int64_t row) -> int64_t {
        const int64_t sequence = row / length, place = row % length;
        given[row] = place < sizes[sequence];
        const int64_t token = given[row] ? sequences[sequence][place] : padding;
        numbers[row] = token;
        if (!given[row]) return padding;
        return token < 0 ? kMissing : token;
    });
    return 0;
}

// out: [entries, width]; each row is the sum, in order, of the rows of grad, [rows, width], whose
// tokens have its number, and zero for `left_out`. Tokens outside the table are ignored.
STYLEFORGE_EXPORT int styleforge_table_gradient(long long threads, const long long* tokens,
                                                const void* grad, void* out, long long type,
                                                long long rows, long long width,
                                                long long entries, long long left_out) {
    constexpr int64_t kColumns = 512, kChunks = 16;  // of a sum; per thread, since rows differ
    Buffer<int64_t> ends(entries + 1), order(rows);
    if (!ends || !order) return 1;
    const auto is_summed = [&](int64_t token) {
        return token >= 0 && token < entries && token != left_out;
    };
    for (int64_t row = 0; row < rows; ++row)
        if (is_summed(tokens[row])) ++ends[tokens[row] + 1];
    for (int64_t entry = 0; entry < entries; ++entry) ends[entry + 1] += ends[entry];
    // Turns the begin of each number's rows into their end.
    for (int64_t row = 0; row < rows; ++row)
        if (is_summed(tokens[row])) order[ends[tokens[row]]++] = row;
    const int64_t blocks = (width + kColumns - 1) / kColumns;
    with_type(type, [&](auto element) {
        using T = decltype(element);
        const T* const given = static_cast<const T*>(grad);
        const int64_t bytes = entries * width * static_cast<int64_t>(sizeof(T));
        ask_for_large_pages(out, bytes);
        const int64_t of_grad = rows * width * static_cast<int64_t>(sizeof(T));
        const bool streams = bytes + of_grad > kCached && can_stream<T>(out, width);
        const auto run = [&](int64_t begin, int64_t end) {
            alignas(64) float sums[kColumns];
            alignas(64) T narrow[kColumns];
            for (int64_t index = begin; index < end; ++index) {
                const int64_t entry = index / blocks, at = index % blocks * kColumns;
                const int64_t count = width - at < kColumns ? width - at : kColumns;
                for (float& each : sums) each = 0;
                for (int64_t i = entry > 0 ? ends[entry - 1] : 0; i < ends[entry]; ++i)
                    add_row(given + order[i] * width + at, sums, count);
                T* const to = static_cast<T*>(out) + entry * width + at;
                if (!streams) {
                    narrow_row(to, sums, count);
                    continue;
                }
                narrow_row(narrow, sums, count);
                for (int64_t i = 0; i < count; i += kPieceOf<T>) stream(to + i, narrow + i);
            }
            if (streams) streamed();
        };
        parallel_for(entries * blocks, threads, run, kChunks);
    });
    return 0;
}

// images: bytes [count, in_height, in_width, 3]. `boxes`, per image: first row, first column,
// height, width, mirrored or not. `colors`, per image: a matrix [3, 4], applied to red, green, blue
// and 1, with values from 0 to 1. `normal`, by channel: the number to subtract, and the factor.
STYLEFORGE_EXPORT int styleforge_image_to_tensor(
    long long threads, const unsigned char* images, const int* boxes, const float* colors,
    const float* normal, void* out, long long type, long long count, long long in_height,
    long long in_width, long long height, long long width, int antialias, int channels_last) {
    std::atomic<int> failed{0};
    return with_type(type, [&](auto element) -> int {
        using T = decltype(element);
        parallel_for(count * height, threads, [&](int64_t begin, int64_t end) {
            Buffer<float> line(3 * in_width), made(3 * width);
            if (!line || !made) {
                failed = 1;
                return;
            }
            for (int64_t index = begin; index < end; ++index) {
                const int64_t image = index / height, row = index % height;
                const int* const box = boxes + 5 * image;
                const unsigned char* const first =
                    images + ((image * in_height + box[0]) * in_width + box[1]) * 3;
                const Picture p = {first,  3 * in_width, box[2],         box[3],
                                   height, width,        box[4] != 0,    antialias != 0,
                                   colors + 12 * image,  normal};
                resample_row(p, row, &line[0], &made[0]);
                colored(p, &made[0]);
                T* const to = static_cast<T*>(out) + image * 3 * height * width;
                for (int64_t c = 0; c < 3; ++c) {
                    const float* const plane = &made[c * width];
                    if (channels_last)
                        for (int64_t i = 0; i < width; ++i)
                            to[(row * width + i) * 3 + c] = T(plane[i]);
                    else
                        narrow_row(to + (c * height + row) * width, plane, width);
                }
            }
        });
        return failed;
    });
}

// y: [rows, windows] from x: [rows, length].
STYLEFORGE_EXPORT int styleforge_windows(long long threads, const void* x, void* y, long long type,
                                         long long rows, long long length, long long windows,
                                         long long size, long long step, long long reduction) {
    std::atomic<int> failed{0};
    const int64_t group = group_of(size, step), of_window = size / group, apart = step / group;
    return with_type(type, [&](auto element) -> int {
        using T = decltype(element);
        const int64_t blocks = (windows + kBlock - 1) / kBlock;
        const int64_t most = windows < kBlock ? windows : kBlock;
        const int64_t groups = (most - 1) * apart + of_window;
        parallel_for(rows * blocks, threads, [&](int64_t begin, int64_t end) {
            Buffer<float> wide(sizeof(T) == sizeof(float) ? 0 : groups * group);
            Buffer<float> joined(group == 1 ? 0 : groups);
            if (!wide || !joined) {
                failed = 1;
                return;
            }
            float made[kBlock];
            const auto reduce = [&](const float* from, int64_t count, auto kind) {
                constexpr int64_t kReduction = decltype(kind)::value;
                if (group > 1) {
                    const int64_t taken = (count - 1) * apart + of_window;
                    join_groups<kReduction>(from, taken, group, &joined[0]);
                    from = &joined[0];
                }
                reduce_windows<kReduction>(from, count, of_window, apart,
                                           static_cast<float>(size), made);
            };
            for (int64_t index = begin; index < end; ++index) {
                const int64_t row = index / blocks, at = index % blocks * kBlock;
                const int64_t count = windows - at < kBlock ? windows - at : kBlock;
                const T* const given = static_cast<const T*>(x) + row * length + at * step;
                const float* const from = in_fp32(given, &wide[0], (count - 1) * step + size);
                if (reduction == kSum) reduce(from, count, Kind<kSum>());
                if (reduction == kMean) reduce(from, count, Kind<kMean>());
                if (reduction == kMax) reduce(from, count, Kind<kMax>());
                if (reduction == kMin) reduce(from, count, Kind<kMin>());
                narrow_row(static_cast<T*>(y) + row * windows + at, made, count);
            }
        });
        return failed;
    });
}

// out: [rows, length], the gradient of x. The elements with a window's largest or smallest value
// share its gradient.
STYLEFORGE_EXPORT int styleforge_windows_gradient(long long threads, const void* grad,
                                                  const void* x, const void* y, void* out,
                                                  long long type, long long rows, long long length,
                                                  long long windows, long long size,
                                                  long long step, long long reduction) {
    std::atomic<int> failed{0};
    const int64_t group = group_of(size, step), of_window = size / group, apart = step / group;
    const int64_t covered = (windows - 1) * apart + of_window;  // groups
    return with_type(type, [&](auto element) -> int {
        using T = decltype(element);
        parallel_for(rows, threads, [&](int64_t begin, int64_t end) {
            Buffer<float> buffer(2 * length + windows);
            if (!buffer) {
                failed = 1;
                return;
            }
            float *const sums = &buffer[0], *const given = sums + length;
            float* const values = given + windows;
            for (int64_t row = begin; row < end; ++row) {
                for (int64_t i = 0; i < length; ++i) sums[i] = 0;
                widen_row(given, static_cast<const T*>(grad) + row * windows, windows);
                if (reduction == kSum || reduction == kMean) {
                    const float factor = reduction == kMean ? 1 / static_cast<float>(size) : 1.f;
                    for (int64_t w = 0; w < windows; ++w) given[w] *= factor;
                    // The sums of groups, stored in `values`, and then the sums of their elements.
                    float* const of_groups = group == 1 ? sums : values;
                    if (group > 1)
                        for (int64_t i = 0; i < covered; ++i) of_groups[i] = 0;
                    if (apart == 1)
                        for (int64_t k = 0; k < of_window; ++k)
                            for (int64_t w = 0; w < windows; ++w) of_groups[w + k] += given[w];
                    else
                        for (int64_t w = 0; w < windows; ++w)
                            for (int64_t k = 0; k < of_window; ++k)
                                of_groups[w * apart + k] += given[w];
                    if (group > 1) spread_groups(of_groups, covered, group, sums);
                } else {
                    widen_row(values, static_cast<const T*>(x) + row * length, length);
                    const T* const made = static_cast<const T*>(y) + row * windows;
                    for (int64_t w = 0; w < windows; ++w) {
                        const float chosen = static_cast<float>(made[w]);
                        int64_t equal = 0;
                        for (int64_t k = 0; k < size; ++k) equal += values[w * step + k] == chosen;
                        const float share = given[w] / static_cast<float>(equal);
                        for (int64_t k = 0; k < size; ++k)
                            sums[w * step + k] += values[w * step + k] == chosen ? share : 0.f;
                    }
                }
                narrow_row(static_cast<T*>(out) + row * length, sums, length);
            }
        });
        return failed;
    });
}
