// Sums of a functor's values over dimensions, and their gradients, on the CPU.
//
// Tensors are [outer, reduced, inner]. Sums are computed in a fixed number of splits, in a fixed
// order, so the number of threads changes no bit.
#include <cstdint>
#include <type_traits>

#include "include/cpu/export.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "include/cpu/streams.h"
#include "include/cpu/sums.h"
#include "include/cpu/with_type.h"
#include "reductions.h"

namespace {

using namespace styleforge;
using namespace styleforge::fusion;

constexpr int64_t kSerialElements = 1 << 14;  // below this, waking a thread costs more
constexpr int64_t kBlock = 1024;              // elements per step

int64_t threads_for(int64_t elements, int64_t threads) {
    return elements < kSerialElements ? 1 : threads;
}

}  // namespace

// partial: [outer, splits, inner], scaled sums.
STYLEFORGE_EXPORT int styleforge_reduce_cpu(int64_t threads, const void* x, float* partial,
                                            int64_t type, int64_t term, int64_t outer,
                                            int64_t reduced, int64_t inner, int64_t splits,
                                            double scale) {
    const auto part = [&](int64_t number, auto element, auto function) {
        using T = decltype(element);
        const int64_t row = number / splits, split = number % splits;
        const int64_t begin = reduced * split / splits, end = reduced * (split + 1) / splits;
        const T* const from = static_cast<const T*>(x) + row * reduced * inner;
        float* const to = partial + number * inner;
        float wide[kBlock];
        if (inner == 1) {
            // Rows read in place need no buffer, and lanes are joined as rarely as possible.
            using R = InLoops<T>;
            constexpr int64_t kStep = std::is_same<T, R>::value ? kSumTerms : kBlock;
            double sum = 0;
            for (int64_t at = begin; at < end; at += kStep) {
                const int64_t count = end - at < kStep ? end - at : kStep;
                const R* const v = in_loops(from + at, wide, count);
                sum += sum_of(count, [&](int64_t i) {
                    return function.value(static_cast<float>(v[i]));
                });
            }
            to[0] = static_cast<float>(sum * scale);
            return;
        }
        for (int64_t at = 0; at < inner; at += kBlock) {
            const int64_t count = inner - at < kBlock ? inner - at : kBlock;
            float sums[kBlock] = {};
            for (int64_t i = begin; i < end; ++i) {
                const float* const v = in_fp32(from + i * inner + at, wide, count);
                for (int64_t k = 0; k < count; ++k) sums[k] += function.value(v[k]);
            }
            for (int64_t k = 0; k < count; ++k) to[at + k] = sums[k] * static_cast<float>(scale);
        }
    };
    with_type(type, [&](auto element) {
        with_term(term, [&](auto function) {
            parallel_for(outer * splits, threads_for(outer * reduced * inner, threads),
                         [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) part(i, element, function);
            });
        });
    });
    return 0;
}

// dx = grad[outer, inner] * scale * the derivative at x. FP32 results bypass the caches if they and
// x exceed them.
STYLEFORGE_EXPORT int styleforge_reduce_backward_cpu(int64_t threads, const void* x,
                                                     const float* grad, void* dx, int64_t type,
                                                     int64_t term, int64_t outer, int64_t reduced,
                                                     int64_t inner, double scale) {
    const float factor = static_cast<float>(scale);
    const int64_t length = inner == 1 ? reduced : inner;
    const int64_t rows = inner == 1 ? outer : outer * reduced;
    const bool streams = type == 0 && can_stream(dx, length) &&
                         2 * rows * length * static_cast<int64_t>(sizeof(float)) > kCached;
    const int64_t blocks = (length + kBlock - 1) / kBlock;
    const int64_t size = static_cast<int64_t>(type == 0 ? sizeof(float) : sizeof(Half));
    ask_for_large_pages(dx, rows * length * size);
    const auto run = [&](int64_t number, auto element, auto function) {
        using T = decltype(element);
        const int64_t row = number / blocks, at = number % blocks * kBlock;
        const int64_t count = length - at < kBlock ? length - at : kBlock;
        const float* const g = grad + (inner == 1 ? row : row / reduced * inner);
        alignas(64) float wide[kBlock], made[kBlock];
        using R = InLoops<T>;
        const R* const v = in_loops(static_cast<const T*>(x) + row * length + at, wide, count);
        T* const to = static_cast<T*>(dx) + row * length + at;
        float* const out = streams ? made : place_of(to, made);
        const auto slope = [&](int64_t k) {
            return factor * function.slope(static_cast<float>(v[k]));
        };
        if (inner == 1)
            for (int64_t k = 0; k < count; ++k) out[k] = g[0] * slope(k);
        else
            for (int64_t k = 0; k < count; ++k) out[k] = g[at + k] * slope(k);
        if constexpr (sizeof(T) == sizeof(float)) {
            if (streams)
                for (int64_t k = 0; k < count; k += kPiece) stream(to + k, made + k);
        }
        put(to, out, count);
    };
    with_type(type, [&](auto element) {
        with_term(term, [&](auto function) {
            parallel_for(rows * blocks, threads_for(rows * length, threads),
                         [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) run(i, element, function);
                if (streams) streamed();
            });
        });
    });
    return 0;
}
