// Losses on the CPU: cross-entropy of rows of logits with an online softmax, its gradient, and the
// sum of squared differences and its gradient.
//
// A row is processed in blocks that stay in the L1 cache, and every sum has a fixed order, so the
// number of threads changes no bit. Arithmetic is in FP32.
#include <cmath>
#include <cstdint>

#include "include/cpu/dtypes.h"
#include "include/cpu/export.h"
#include "include/cpu/half_rows.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/streams.h"
#include "include/cpu/vector_math.h"
#include "include/cpu/with_type.h"
#include "rows.h"

namespace {

using namespace styleforge;

constexpr int64_t kBlock = 512;      // elements per step
constexpr int kLanes = 16;           // per sum
constexpr int64_t kPart = 1 << 16;   // elements per part of the squared error
constexpr int64_t kSerial = 1 << 14;  // elements; below this, waking a thread takes longer

// Elements in FP32: in place, or copied to `buffer`.
template <typename T>
inline const float* widened(const T* from, int64_t count, float* buffer) {
    if constexpr (sizeof(T) == sizeof(float)) return reinterpret_cast<const float*>(from);
    widen_row(buffer, from, count);
    return buffer;
}

// Returns the sum of `term(i)`, accumulated in lanes.
template <typename F>
inline float sum_of(int64_t count, const F& term) {
    float lanes[kLanes] = {}, sum = 0.f;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int k = 0; k < kLanes; ++k) lanes[k] += term(i + k);
    for (int k = 0; k < kLanes; ++k) sum += lanes[k];
    for (; i < count; ++i) sum += term(i);
    return sum;
}

inline float largest_of(const float* x, int64_t count) {
    float lanes[kLanes], most = -INFINITY;
    for (int k = 0; k < kLanes; ++k) lanes[k] = -INFINITY;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int k = 0; k < kLanes; ++k) lanes[k] = x[i + k] > lanes[k] ? x[i + k] : lanes[k];
    for (int k = 0; k < kLanes; ++k) most = lanes[k] > most ? lanes[k] : most;
    for (; i < count; ++i) most = x[i] > most ? x[i] : most;
    return most;
}

// Returns the log-sum-exp, and with smoothing sets `linear` to the sum of the weighted logits.
template <typename T>
float log_sum(const T* x, const float* weight, int64_t classes, bool smooths, float* linear) {
    alignas(64) float buffer[kBlock];
    float shift = -INFINITY, sum = 0.f;
    *linear = 0.f;
    for (int64_t at = 0; at < classes; at += kBlock) {
        const int64_t count = classes - at < kBlock ? classes - at : kBlock;
        const float* v = widened(x + at, count, buffer);
        const float most = largest_of(v, count);
        if (most > shift) {
            sum *= std::exp(shift - most);
            shift = most;
        }
        const float base = shift == -INFINITY ? 0.f : shift;  // infinity minus infinity is NaN
        sum += sum_of(count, [&](int64_t i) { return VectorMath::exp(v[i] - base); });
        if (!smooths) continue;
        const float* w = weight + at;
        *linear += weight ? sum_of(count, [&](int64_t i) { return w[i] * v[i]; })
                          : sum_of(count, [&](int64_t i) { return v[i]; });
    }
    return shift + std::log(sum);
}

template <typename T>
void run_row(const StyleforgeRows& p, int64_t row, float all_weights) {
    const T* x = static_cast<const T*>(p.logits) + row / p.inner * p.outer_stride +
                 row % p.inner * p.inner_stride;
    const float* weight = static_cast<const float*>(p.weight);
    float* const lse = static_cast<float*>(p.lse) + row;
    const int64_t label = p.labels[row], classes = p.classes;
    const bool valid = label != p.ignore_index, inside = label >= 0 && label < classes;
    const float smoothing = static_cast<float>(p.smoothing);
    const float each = smoothing / static_cast<float>(classes);
    const float hit = !inside ? NAN : (1.f - smoothing) * (weight ? weight[label] : 1.f);
    if (!p.known) {
        float linear;
        *lse = log_sum(x, weight, classes, smoothing != 0.f, &linear);
        float loss = inside ? hit * (*lse - static_cast<float>(x[label])) : NAN;
        if (smoothing != 0.f) loss += each * (all_weights * *lse - linear);
        static_cast<float*>(p.losses)[row] = valid ? loss : 0.f;
    }
    if (p.gradient == nullptr) return;
    T* const gradient = static_cast<T*>(p.gradient) + row * classes;
    float factor = 1.f;
    if (p.grads) {
        const int64_t at = row * p.grad_step;
        factor = p.are_wide ? static_cast<const float*>(p.grads)[at]
                            : static_cast<float>(static_cast<const T*>(p.grads)[at]);
    }
    if (p.divisor) factor /= *static_cast<const float*>(p.divisor);
    const float of_softmax = factor * (hit + each * all_weights), flat = factor * each;
    const float base = *lse;
    alignas(64) float buffer[kBlock], made[kBlock];
    for (int64_t at = 0; at < classes; at += kBlock) {
        const int64_t count = classes - at < kBlock ? classes - at : kBlock;
        const float* v = widened(x + at, count, buffer);
        float* const to = sizeof(T) == sizeof(float) ? reinterpret_cast<float*>(gradient + at) : made;
        if (!valid)
            for (int64_t i = 0; i < count; ++i) to[i] = 0.f;
        else
            for (int64_t i = 0; i < count; ++i) to[i] = of_softmax * VectorMath::exp(v[i] - base);
        if (valid && smoothing != 0.f) {
            if (weight)
                for (int64_t i = 0; i < count; ++i) to[i] -= flat * weight[at + i];
            else
                for (int64_t i = 0; i < count; ++i) to[i] -= flat;
        }
        if (valid && label >= at && label < at + count) to[label - at] -= factor * hit;
        if (sizeof(T) != sizeof(float)) narrow_row(gradient + at, to, count);
    }
}

template <typename T>
int run_rows(const StyleforgeRows& p, int64_t threads) {
    float all_weights = static_cast<float>(p.classes);
    if (p.weight && p.smoothing != 0) {
        const float* weight = static_cast<const float*>(p.weight);
        all_weights = sum_of(p.classes, [&](int64_t i) { return weight[i]; });
    }
    parallel_for(p.rows, p.rows * p.classes < kSerial ? 1 : threads, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) run_row<T>(p, row, all_weights);
    });
    return 0;
}

template <typename R>
inline void differences(const R* __restrict x, const R* __restrict y, float factor,
                        R* __restrict out, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        out[i] = R(factor * (static_cast<float>(x[i]) - static_cast<float>(y[i])));
}

template <typename T>
int squared_error(int64_t threads, const void* x, const void* y, float* parts, int64_t count) {
    const int64_t number = (count + kPart - 1) / kPart;
    parallel_for(number, threads, [&](int64_t begin, int64_t end) {
        alignas(64) float one[kBlock], other[kBlock];
        for (int64_t part = begin; part < end; ++part) {
            const int64_t last = (part + 1) * kPart < count ? (part + 1) * kPart : count;
            float sum = 0.f;
            for (int64_t at = part * kPart; at < last; at += kBlock) {
                const int64_t size = last - at < kBlock ? last - at : kBlock;
                const float* a = widened(static_cast<const T*>(x) + at, size, one);
                const float* b = widened(static_cast<const T*>(y) + at, size, other);
                sum += sum_of(size, [&](int64_t i) { return (a[i] - b[i]) * (a[i] - b[i]); });
            }
            parts[part] = sum;
        }
    });
    return 0;
}

// dx = factor (x - y), bypassing the caches if the tensors exceed them.
template <typename T>
int squared_error_gradient(int64_t threads, float factor, const void* x, const void* y, void* dx,
                           int64_t count) {
    using R = InLoops<T>;
    constexpr int64_t kSize = kPieceOf<T>;
    const int64_t pieces = (count + kSize - 1) / kSize;
    const int64_t bytes = count * static_cast<int64_t>(sizeof(T));
    ask_for_large_pages(dx, bytes);
    const bool streams = 3 * bytes > kCached && can_stream<T>(dx, kSize);
    parallel_for(pieces, count < kSerial ? 1 : threads, [&](int64_t begin, int64_t end) {
        alignas(64) float one[kSize], other[kSize], made[kSize];
        alignas(64) T narrow[kSize];
        for (int64_t at = begin * kSize; at < end * kSize && at < count; at += kSize) {
            const int64_t size = count - at < kSize ? count - at : kSize;
            const R* const a = in_loops(static_cast<const T*>(x) + at, one, size);
            const R* const b = in_loops(static_cast<const T*>(y) + at, other, size);
            T* const to = static_cast<T*>(dx) + at;
            T* const place = streams && size == kSize ? narrow : to;
            R* const out = loops_place(place, made);
            differences(a, b, factor, out, size);
            put_from_loops(place, out, size);
            if (place == narrow) stream(to, narrow);
        }
        if (streams) streamed();
    });
    return 0;
}

}  // namespace

// Runs `call` on at most `threads` threads; returns 1 if its type is FP64.
STYLEFORGE_EXPORT int styleforge_cross_entropy(long long threads, const StyleforgeRows* call) {
    if (call->type == 0) return run_rows<float>(*call, threads);
    if (call->type == 1) return run_rows<Half>(*call, threads);
    if (call->type == 2) return run_rows<BFloat16>(*call, threads);
    return 1;
}

// parts: the sum of (x - y)^2 per 65536 elements. Returns 1 if the type is FP64.
STYLEFORGE_EXPORT int styleforge_squared_error(long long threads, const void* x, const void* y,
                                               float* parts, long long type, long long count) {
    if (type == 0) return squared_error<float>(threads, x, y, parts, count);
    if (type == 1) return squared_error<Half>(threads, x, y, parts, count);
    if (type == 2) return squared_error<BFloat16>(threads, x, y, parts, count);
    return 1;
}

// dx = factor (x - y). Returns 1 if the type is FP64.
STYLEFORGE_EXPORT int styleforge_squared_error_gradient(long long threads, const void* x,
                                                        const void* y, void* dx, long long type,
                                                        long long count, double factor) {
    const float of = static_cast<float>(factor);
    if (type == 0) return squared_error_gradient<float>(threads, of, x, y, dx, count);
    if (type == 1) return squared_error_gradient<Half>(threads, of, x, y, dx, count);
    if (type == 2) return squared_error_gradient<BFloat16>(threads, of, x, y, dx, count);
    return 1;
}
