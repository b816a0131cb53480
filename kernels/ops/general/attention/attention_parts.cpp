// Operations around the products of attention on the CPU: softmax with scale and mask, its
// gradient, rotary embeddings, and gathering and summing of blocks of keys. Arithmetic is in FP32.
// One thread processes each row, so the number of threads changes no bit.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "include/cpu/buffer.h"
#include "include/cpu/export.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/streams.h"
#include "include/cpu/vector_math.h"
#include "include/cpu/with_type.h"

namespace {

using namespace styleforge;

constexpr int64_t kLanes = 16;  // partial results of a row that fit vector registers

// Reduces all `term(i)` with `join`, in an order that depends only on the count.
template <typename Join, typename Term>
inline float joined(int64_t count, float start, const Join& join, const Term& term) {
    float lanes[kLanes];
    for (float& lane : lanes) lane = start;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] = join(lanes[k], term(i + k));
    for (; i < count; ++i) lanes[i % kLanes] = join(lanes[i % kLanes], term(i));
    for (int64_t half = kLanes / 2; half > 0; half /= 2)
        for (int64_t k = 0; k < half; ++k) lanes[k] = join(lanes[k], lanes[k + half]);
    return lanes[0];
}

inline float larger(float a, float b) { return a > b ? a : b; }
inline float sum(float a, float b) { return a + b; }

// Returns a modifiable row in FP32: itself, or a copy in `buffer`, which `put` copies back.
inline float* changed(float* row, float*, int64_t) { return row; }
template <typename T>
inline float* changed(T* row, float* buffer, int64_t count) {
    widen_row(buffer, row, count);
    return buffer;
}

template <typename T>
void softmax_row(float* row, const T* added, const unsigned char* visible, int64_t step,
                 int64_t width, float scale) {
    constexpr float kHidden = -std::numeric_limits<float>::infinity();
    if (visible != nullptr)
        for (int64_t i = 0; i < width; ++i) row[i] = visible[i * step] ? row[i] * scale : kHidden;
    else if (added != nullptr)
        for (int64_t i = 0; i < width; ++i)
            row[i] = row[i] * scale + static_cast<float>(added[i * step]);
    else
        for (int64_t i = 0; i < width; ++i) row[i] *= scale;
    const float largest = joined(width, kHidden, larger, [&](int64_t i) { return row[i]; });
    const float origin = largest == kHidden ? 0.f : largest;
    for (int64_t i = 0; i < width; ++i) {
        const float from_largest = row[i] - origin;
        row[i] = VectorMath::exp(from_largest);
        if (from_largest != from_largest) row[i] = from_largest;  // NaN passes through
    }
    const float total = joined(width, 0.f, sum, [&](int64_t i) { return row[i]; });
    const float inverse = total == 0.f ? 0.f : 1.f / total;
    for (int64_t i = 0; i < width; ++i) row[i] *= inverse;
}

// Calls `use(row, buffer)` for every row, with `size` numbers of buffer per thread. Returns 1 if an
// allocation failed.
template <typename Use>
int each_row(int64_t rows, int64_t size, int64_t threads, const Use& use) {
    std::atomic<int> failed{0};
    parallel_for(rows, threads, [&](int64_t begin, int64_t end) {
        Buffer<float> buffer(size);
        if (!buffer) {
            failed = 1;
            return;
        }
        for (int64_t row = begin; row < end; ++row) use(row, &buffer[0]);
    });
    return failed;
}

constexpr int64_t kTile = 2048;     // elements of a block whose sums stay in the L1 cache
constexpr int64_t kTurns = 16;      // chunks per thread, since some blocks are in more places
constexpr int kOutside = 2;         // an invalid place or block number

// Copies a row, bypassing the caches if it can be streamed.
void copy_row(void* to, const void* from, int64_t bytes, bool streams) {
    constexpr int64_t kSize = sizeof(float);
    if (!streams) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
        return;
    }
    // the type serves only to move data
    const float* const numbers = static_cast<const float*>(from);
    for (int64_t i = 0; i < bytes / kSize; i += kPiece)
        stream(static_cast<float*>(to) + i, numbers + i);
}

}  // namespace

// scores = softmax(scores * scale + mask) in place, for [planes, heads, queries, width]. `kind` is
// 0 without a mask, 1 for bools that are true for visible keys, 2 for numbers of the scores' type.
// The strides belong to the mask.
STYLEFORGE_EXPORT int styleforge_softmax(long long threads, void* scores, const void* mask,
                                         long long type, long long kind, long long width,
                                         long long queries, long long heads, long long of_plane,
                                         long long of_head, long long of_query, long long of_key,
                                         double scale, long long rows) {
    return with_type(type, [&](auto element) {
        using T = decltype(element);
        return each_row(rows, width, threads, [&](int64_t row, float* buffer) {
            const int64_t head = row / queries;
            const int64_t first =
                head / heads * of_plane + head % heads * of_head + row % queries * of_query;
            T* const of_row = static_cast<T*>(scores) + row * width;
            float* const values = changed(of_row, buffer, width);
            softmax_row(values, kind == 2 ? static_cast<const T*>(mask) + first : nullptr,
                        kind == 1 ? static_cast<const unsigned char*>(mask) + first : nullptr,
                        of_key, width, static_cast<float>(scale));
            put(of_row, values, width);
        });
    });
}

// out = weights * (grad - the sum of grad * weights), row by row.
STYLEFORGE_EXPORT int styleforge_softmax_gradient(long long threads, const void* grad,
                                                  const void* weights, void* out, long long type,
                                                  long long width, long long rows) {
    return with_type(type, [&](auto element) {
        using T = decltype(element);
        return each_row(rows, 3 * width, threads, [&](int64_t row, float* buffer) {
            const float* const g =
                in_fp32(static_cast<const T*>(grad) + row * width, buffer, width);
            const float* const w =
                in_fp32(static_cast<const T*>(weights) + row * width, buffer + width, width);
            const float total = joined(width, 0.f, sum, [&](int64_t i) { return g[i] * w[i]; });
            T* const to = static_cast<T*>(out) + row * width;
            float* const made = place_of(to, buffer + 2 * width);
            for (int64_t i = 0; i < width; ++i) made[i] = w[i] * (g[i] - total);
            put(to, made, width);
        });
    });
}

// y: [samples, heads, length, 2 pairs], contiguous; x strided; cosine and sine: [length, pairs],
// per sample if `of_tables` is not 0.
STYLEFORGE_EXPORT int styleforge_rope(long long threads, const void* x, const float* cosine,
                                      const float* sine, void* y, long long type,
                                      long long pairs, long long length, long long heads,
                                      long long of_sample, long long of_head,
                                      long long of_position, long long of_tables,
                                      int interleaved, int back, long long rows) {
    return with_type(type, [&](auto element) {
        using T = decltype(element);
        return each_row(rows, 4 * pairs, threads, [&](int64_t row, float* buffer) {
            const int64_t position = row % length, plane = row / length, sample = plane / heads;
            const T* const from = static_cast<const T*>(x) + sample * of_sample +
                                  plane % heads * of_head + position * of_position;
            const float* const v = in_fp32(from, buffer, 2 * pairs);
            T* const to = static_cast<T*>(y) + row * 2 * pairs;
            float* const made = place_of(to, buffer + 2 * pairs);
            const int64_t table = sample * of_tables + position * pairs;
            const float *const c = cosine + table, *const s = sine + table;
            const float sign = back ? -1.f : 1.f;
            if (interleaved)
                for (int64_t i = 0; i < pairs; ++i) {
                    const float angle = sign * s[i];
                    made[2 * i] = v[2 * i] * c[i] - v[2 * i + 1] * angle;
                    made[2 * i + 1] = v[2 * i + 1] * c[i] + v[2 * i] * angle;
                }
            else
                for (int64_t i = 0; i < pairs; ++i) {
                    const float angle = sign * s[i];
                    made[i] = v[i] * c[i] - v[i + pairs] * angle;
                    made[i + pairs] = v[i + pairs] * c[i] + v[i] * angle;
                }
            put(to, made, 2 * pairs);
        });
    });
}

// out[i] = x[places[i]], for blocks of `bytes` bytes.
STYLEFORGE_EXPORT int styleforge_gather_blocks_cpu(long long threads, const void* x,
                                                   const long long* places, void* out,
                                                   long long bytes, long long count,
                                                   long long blocks) {
    constexpr int64_t kSize = sizeof(float);
    const bool streams =
        count * bytes > kCached && bytes % kSize == 0 && can_stream(out, bytes / kSize);
    std::atomic<int> failed{0};
    ask_for_large_pages(out, count * bytes);
    parallel_for(count, threads, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            if (places[i] < 0 || places[i] >= blocks) {
                failed = kOutside;
                return;
            }
            copy_row(static_cast<char*>(out) + i * bytes,
                     static_cast<const char*>(x) + places[i] * bytes, bytes, streams);
        }
        if (streams) streamed();
    });
    return failed;
}

// out[i] = the sum of x[order[j]] for j from begins[i] to begins[i + 1], in this order; x: [places,
// width], out: [blocks, width].
STYLEFORGE_EXPORT int styleforge_sum_blocks_cpu(long long threads, const void* x,
                                                const long long* order, const long long* begins,
                                                void* out, long long type, long long width,
                                                long long blocks, long long places) {
    const int64_t tiles = (width + kTile - 1) / kTile;
    std::atomic<int> failed{0};
    with_type(type, [&](auto element) {
        using T = decltype(element);
        constexpr int64_t kSize = sizeof(T);
        const bool streams = type == 0 && can_stream(out, width) &&
                             (places + blocks) * width * kSize > kCached;
        ask_for_large_pages(out, blocks * width * kSize);
        const auto add = [](float* __restrict sums, const InLoops<T>* __restrict row, int64_t count) {
            for (int64_t k = 0; k < count; ++k) sums[k] += static_cast<float>(row[k]);
        };
        const auto run = [&](int64_t block, int64_t at) {
            const int64_t count = width - at < kTile ? width - at : kTile;
            alignas(64) float sums[kTile], wide[kTile];
            for (int64_t k = 0; k < count; ++k) sums[k] = 0;
            if (begins[block] < 0 || begins[block + 1] > places) return false;
            for (int64_t i = begins[block]; i < begins[block + 1]; ++i) {
                if (order[i] < 0 || order[i] >= places) return false;
                const T* const from = static_cast<const T*>(x) + order[i] * width + at;
                add(sums, in_loops(from, wide, count), count);
            }
            T* const to = static_cast<T*>(out) + block * width + at;
            if (streams)
                copy_row(to, sums, count * kSize, true);
            else
                narrow_row(to, sums, count);
            return true;
        };
        const auto part = [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                if (!run(i / tiles, i % tiles * kTile)) {
                    failed = kOutside;
                    return;
                }
            if (streams) streamed();
        };
        parallel_for(blocks * tiles, threads, part, kTurns);
    });
    return failed;
}
