// Updates of many tensors on the CPU: Adam, SGD, the norm of all gradients and their clipping.
//
// The threads divide the tensors' chunks; FP16 elements are processed in blocks that stay in the L1
// cache. FP16 and BF16 are computed in FP32, FP64 in FP64. The number of threads changes no bit.
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "include/cpu/dtypes.h"
#include "include/cpu/export.h"
#include "include/cpu/half_rows.h"
#include "include/cpu/parallel.h"
#include "tensors.h"

namespace {

using namespace styleforge;
using namespace styleforge::optim;

constexpr int64_t kBlock = 512;  // elements per step
constexpr int kLanes = 16;       // per norm
// A step follows so much Python code that the other threads may wake late.
constexpr int64_t kChunksOfThread = 16;
constexpr int64_t kSerialElements = 1 << 14;  // below this, waking a thread costs more

template <typename T>
struct Computed {
    using Type = float;
};
template <>
struct Computed<double> {
    using Type = double;
};

// Calls `use(rows, count)` for a chunk, or for converted blocks of an FP16 chunk, with a row of
// each list. Stores the modified lists of kWritten.
template <typename T, int kLists, int kWritten, typename F>
void each_block(const StyleforgeTensors& t, int tensor, int64_t begin, int64_t end, const F& use) {
    using R = InLoops<T>;
    constexpr bool kDirect = std::is_same<R, T>::value;
    constexpr int64_t kStep = kDirect ? int64_t{kChunk} : kBlock;
    alignas(64) R buffers[kLists][kDirect ? 1 : kBlock];
    for (int64_t at = begin; at < end; at += kStep) {
        const int64_t count = end - at < kStep ? end - at : kStep;
        R* rows[kLists];
        for (int list = 0; list < kLists; ++list) {
            T* const from = static_cast<T*>(t.at[list][tensor]) + at;
            if constexpr (kDirect) {
                rows[list] = from;
            } else {
                rows[list] = buffers[list];
                widen_row(rows[list], from, count);
            }
        }
        use(rows, count);
        if constexpr (!kDirect)
            for (int list = 0; list < kLists; ++list)
                if (kWritten >> list & 1)
                    narrow_row(static_cast<T*>(t.at[list][tensor]) + at, rows[list], count);
    }
}

// Calls `run(element, tensor, begin, end, chunk)` for every chunk.
template <typename F>
void each_chunk(int64_t threads, const StyleforgeTensors& t, const F& run) {
    const int last = t.tensors - 1;
    const int64_t chunks = t.first[last] + (t.counts[last] + kChunk - 1) / kChunk;
    int64_t elements = 0;
    for (int i = 0; i <= last; ++i) elements += t.counts[i];
    const auto body = [&](int64_t from, int64_t to) {
        int tensor = 0;
        for (int64_t chunk = from; chunk < to; ++chunk) {
            while (tensor < last && t.first[tensor + 1] <= chunk) ++tensor;
            const int64_t begin = (chunk - t.first[tensor]) * kChunk;
            const int64_t left = t.counts[tensor] - begin;
            const int64_t end = begin + (left < kChunk ? left : kChunk);
            if (t.types[tensor] == 0) run(0.f, tensor, begin, end, chunk);
            if (t.types[tensor] == 1) run(Half(), tensor, begin, end, chunk);
            if (t.types[tensor] == 2) run(BFloat16(), tensor, begin, end, chunk);
            if (t.types[tensor] == 3) run(0., tensor, begin, end, chunk);
        }
    };
    parallel_for(chunks, elements < kSerialElements ? 1 : threads, body, kChunksOfThread);
}

template <template <typename> class Op>
int update(int64_t threads, const StyleforgeTensors& t, const StyleforgeUpdate& p) {
    if (p.found_inf != nullptr && *p.found_inf != 0) return 0;
    each_chunk(threads, t, [&](auto element, int tensor, int64_t begin, int64_t end, int64_t) {
        using T = decltype(element);
        using A = typename Computed<T>::Type;
        using O = Op<A>;
        const O op(p, t.steps[tensor]);
        each_block<T, O::kLists, O::kWritten>(
            t, tensor, begin, end, [&](InLoops<T>* const(&rows)[O::kLists], int64_t count) {
                for (int64_t i = 0; i < count; ++i) {
                    A values[O::kLists];
                    for (int list = 0; list < O::kLists; ++list)
                        values[list] = static_cast<A>(rows[list][i]);
                    op(values);
                    for (int list = 0; list < O::kLists; ++list)
                        if (O::kWritten >> list & 1) rows[list][i] = InLoops<T>(values[list]);
                }
            });
    });
    return 0;
}

template <typename A>
using WithMomentum = Sgd<A, true>;
template <typename A>
using WithoutMomentum = Sgd<A, false>;

template <int kKind>
void norm_parts(int64_t threads, const StyleforgeTensors& t, double* parts) {
    each_chunk(threads, t, [&](auto element, int tensor, int64_t begin, int64_t end, int64_t chunk) {
        using T = decltype(element);
        using A = typename Computed<T>::Type;
        A lanes[kLanes] = {}, part = A(0);
        each_block<T, 1, 0>(t, tensor, begin, end, [&](InLoops<T>* const(&rows)[1], int64_t count) {
            const InLoops<T>* x = rows[0];
            int64_t i = 0;
            for (; i + kLanes <= count; i += kLanes)
                for (int k = 0; k < kLanes; ++k)
                    lanes[k] = joined(lanes[k], static_cast<A>(x[i + k]), kKind);
            for (; i < count; ++i) part = joined(part, static_cast<A>(x[i]), kKind);
        });
        for (int k = 0; k < kLanes; ++k)
            part = kKind ? part + lanes[k] : joined(part, lanes[k], 0);
        parts[chunk] = static_cast<double>(part);
    });
}

double norm_of_parts(const StyleforgeTensors& t, long long kind) {
    const double* const parts = static_cast<const double*>(t.at[0][0]);
    double part = 0;
    for (int64_t i = 0; i < t.counts[0]; ++i)
        part = kind != 0 ? part + parts[i] : joined(part, parts[i], 0);
    return kind == 2 ? std::sqrt(part) : part;
}

}  // namespace

// Each runs on at most `threads` threads, like the kernel of the same name in optim.cu.
STYLEFORGE_EXPORT int styleforge_adam(long long threads, const StyleforgeTensors* t,
                                      const StyleforgeUpdate* p) {
    return update<Adam>(threads, *t, *p);
}

STYLEFORGE_EXPORT int styleforge_sgd(long long threads, const StyleforgeTensors* t,
                                     const StyleforgeUpdate* p) {
    return update<WithoutMomentum>(threads, *t, *p);
}

STYLEFORGE_EXPORT int styleforge_sgd_momentum(long long threads, const StyleforgeTensors* t,
                                              const StyleforgeUpdate* p) {
    return update<WithMomentum>(threads, *t, *p);
}

STYLEFORGE_EXPORT int styleforge_norm_parts(long long threads, const StyleforgeTensors* t,
                                            double* parts, long long kind) {
    if (kind == 0) norm_parts<0>(threads, *t, parts);
    if (kind == 1) norm_parts<1>(threads, *t, parts);
    if (kind == 2) norm_parts<2>(threads, *t, parts);
    return 0;
}

STYLEFORGE_EXPORT int styleforge_norm_float32(long long, const StyleforgeTensors* t, float* norm,
                                              long long kind) {
    *norm = static_cast<float>(norm_of_parts(*t, kind));
    return 0;
}

STYLEFORGE_EXPORT int styleforge_norm_float64(long long, const StyleforgeTensors* t, double* norm,
                                              long long kind) {
    *norm = norm_of_parts(*t, kind);
    return 0;
}

STYLEFORGE_EXPORT int styleforge_clip(long long threads, const StyleforgeTensors* t,
                                      const double* norm, double most) {
    const double factor = most / (*norm + 1e-6);
    if (factor >= 1) return 0;  // NaN continues
    each_chunk(threads, *t, [&](auto element, int tensor, int64_t begin, int64_t end, int64_t) {
        using T = decltype(element);
        using A = typename Computed<T>::Type;
        each_block<T, 1, 1>(
            *t, tensor, begin, end, [&](InLoops<T>* const(&rows)[1], int64_t count) {
                for (int64_t i = 0; i < count; ++i)
                    rows[0][i] = InLoops<T>(static_cast<A>(rows[0][i]) * static_cast<A>(factor));
            });
    });
    return 0;
}
