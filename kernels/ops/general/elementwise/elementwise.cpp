// Elementwise operations on the CPU: one pass over memory for an operation, and one for its
// gradients, including their sums over rows.
//
// Elements are processed in blocks that stay in the L1 cache. A tensor with the result's layout is
// read in place; others, and FP16 tensors, are first copied to a buffer. Results too large for the
// caches are streamed. Arithmetic is in FP32. An element's result does not depend on its block, so
// the number of threads changes no bit.
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "include/cpu/dtypes.h"
#include "element_bits.h"
#include "element_columns.h"
#include "element_rows.h"
#include "include/cpu/export.h"
#include "include/cpu/half_rows.h"
#include "include/cpu/pages.h"
#include "include/cpu/parallel.h"
#include "philox_rows.h"
#include "include/cpu/streams.h"
#include "include/cpu/vector_math.h"
#include "call.h"
#include "functors.h"

namespace {

using namespace styleforge;
using namespace styleforge::elementwise;

template <typename R, typename T>
inline void bring(R* to, const T* from, int64_t step, int64_t count) {
    if (step == 1) {
        if constexpr (std::is_same<R, T>::value)
            std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
        else
            widen_row(to, from, count);
    } else if (step == 0) {
        // loops that copy structs are not vectorized
        const float value = static_cast<float>(from[0]);
        for (int64_t i = 0; i < count; ++i) to[i] = R(value);
    } else {
        for (int64_t i = 0; i < count; ++i) to[i] = R(static_cast<float>(from[i * step]));
    }
}

// Returns elements `at` to `at + count` of an input as loops read them: in place if contiguous,
// else in `buffer`.
template <typename T, typename R>
const R* gather(const StyleforgeElements& p, int input, int64_t at, int64_t count, R* buffer) {
    const T* from = static_cast<const T*>(p.inputs[input]);
    const auto& strides = p.strides[input];
    int64_t place[8], rest = at, offset = 0;
    for (int d = 0; d < p.dims; ++d) {
        place[d] = d + 1 < p.dims ? rest % p.sizes[d] : rest;
        if (d + 1 < p.dims) rest /= p.sizes[d];
        offset += place[d] * strides[d];
    }
    if constexpr (std::is_same<R, T>::value)
        if (strides[0] == 1 && place[0] + count <= p.sizes[0]) return from + offset;
    for (int64_t done = 0;;) {
        const int64_t left = p.sizes[0] - place[0], run = left < count - done ? left : count - done;
        bring(buffer + done, from + offset, strides[0], run);
        done += run;
        if (done == count) return buffer;
        offset -= place[0] * strides[0];
        place[0] = 0;
        for (int d = 1; d < p.dims; ++d) {
            offset += strides[d];
            if (++place[d] < p.sizes[d]) break;
            offset -= place[d] * strides[d];
            place[d] = 0;
        }
    }
}

// Draws the dropout factors: 0 for dropped elements, else the scale. `at` is a multiple of 8.
// Backward reads `bits`, and forward writes them, if not null.
void draw(const StyleforgeElements& p, int64_t at, int64_t count, unsigned char* bits,
          float* factors) {
    const float kept = static_cast<float>(p.kept_scale);
    if (bits != nullptr) bits += at / kBits;
    if (bits != nullptr && p.backward) return factors_of_bits(bits, count, kept, factors);
    if (p.state == nullptr) {
        for (int64_t i = 0; i < count; ++i) factors[i] = 1.f;
        return;
    }
    const int64_t counters = (count + kDrawn - 1) / kDrawn;
    dropout_row(static_cast<uint64_t>(at / kDrawn), counters, p.state, p.dropped, kept, factors);
    if (bits != nullptr) put_bits(factors, count, bits);
}

// Computes `count` elements, in whole pieces, and streams them; the gradients if `grad` is given.
// An output may be null, and so may `bits`, which marks the nonzero results.
template <typename Op, typename T, typename R, typename Y>
void stream_block(const R* grad, const R* x, const Y* y, const R* z, T* const (&out)[2],
                  int64_t count, unsigned char* bits) {
    constexpr int64_t kSize = kPieceOf<T>;
    alignas(64) R made[2][kSize];
    alignas(64) T narrow[kSize];
    for (int64_t i = 0; i < count; i += kSize) {
        if (kMasked<Op> && grad != nullptr) prefetch(grad + i + kBlock);
        if (grad != nullptr)
            backward<Op>(grad + i, x + i, y + i, z + i, made[0], made[1], kSize);
        else
            forward<Op>(x + i, y + i, z + i, made[0], kSize);
        if (bits != nullptr) put_bits(made[0], kSize, bits + i / kBits);
        for (int k = 0; k < 2; ++k) {
            if (out[k] == nullptr) continue;
            if constexpr (std::is_same<R, T>::value) {
                stream(out[k] + i, made[k]);
            } else {
                narrow_row(narrow, made[k], kSize);
                stream(out[k] + i, narrow);
            }
        }
    }
}

template <typename Op, typename T>
void run_block(const StyleforgeElements& p, int64_t at, int64_t count, unsigned char* bits,
               bool streams) {
    using R = InLoops<T>;
    constexpr bool kDirect = std::is_same<R, T>::value;
    alignas(64) R buffers[4][kBlock], made[2][kBlock];
    alignas(64) float factors[Op::kDrops ? kBlock : 1];
    const R* in[4];
    const bool one = p.backward && Op::kOfResult;  // the result is read instead of the inputs
    const int given = (one ? 1 : Op::kInputs) + (p.backward ? 1 : 0);
    for (int i = 0; i < given; ++i) in[i] = gather<T>(p, i, at, count, buffers[i]);
    const R* const* own = in + (p.backward ? 1 : 0);
    const R* const x = own[0];
    const R* const z = Op::kInputs > 2 && !one ? own[2] : x;
    unsigned char* const of_result = bits && !Op::kDrops ? bits + at / kBits : nullptr;
    const auto compute = [&](const auto* y) {
        if (streams && count % kPieceOf<T> == 0) {
            T* out[2];
            for (int i = 0; i < 2; ++i)
                out[i] = p.outputs[i] ? static_cast<T*>(p.outputs[i]) + at : nullptr;
            return stream_block<Op>(p.backward ? in[0] : nullptr, x, y, z, out, count, of_result);
        }
        R* out[2] = {made[0], made[1]};
        if constexpr (kDirect)
            for (int i = 0; i < 2; ++i)
                if (p.outputs[i] != nullptr) out[i] = static_cast<T*>(p.outputs[i]) + at;
        if (kMasked<Op> && p.backward)
            for (int64_t i = 0; i < count; i += kPieceOf<R>) prefetch(in[0] + 2 * kBlock + i);
        if (p.backward)
            backward<Op>(in[0], x, y, z, out[0], out[1], count);
        else
            forward<Op>(x, y, z, out[0], count);
        if (of_result != nullptr) put_bits(out[0], count, of_result);
        if constexpr (!kDirect)
            for (int i = 0; i < 2; ++i)
                if (p.outputs[i] != nullptr)
                    narrow_row(static_cast<T*>(p.outputs[i]) + at, out[i], count);
    };
    if constexpr (Op::kDrops) {
        draw(p, at, count, bits, factors);
        compute(static_cast<const float*>(factors));
    } else {
        compute(Op::kInputs > 1 && !one ? own[1] : x);
    }
}

// Returns whether to stream results: if a pass moves so much data that they would be evicted before
// anyone reads them. Broadcast inputs stay in the caches.
template <typename Op, typename T>
bool goes_past_caches(const StyleforgeElements& p) {
    // The gradient needs only the factors.
    constexpr bool kAlone = std::is_same<Op, AttentionDropout>::value;
    constexpr int kKept = kAlone ? 0 : Op::kOfResult ? 1 : Op::kInputs;
    const int given = p.backward ? 1 + kKept : Op::kInputs;
    int64_t whole = 0;
    for (int i = 0; i < given; ++i) {
        bool is_broadcast = false;
        for (int d = 0; d < p.dims; ++d) is_broadcast |= p.strides[i][d] == 0;
        whole += !is_broadcast;
    }
    for (const void* out : p.outputs) {
        if (!can_stream<T>(out, kBlock)) return false;
        whole += out != nullptr;
    }
    return whole * p.count * static_cast<int64_t>(sizeof(T)) > kCached;
}

template <typename Op, typename T>
void run(const StyleforgeElements& p, int64_t threads, unsigned char* bits) {
    const int64_t blocks = (p.count + kBlock - 1) / kBlock;
    for (void* out : p.outputs)
        ask_for_large_pages(out, p.count * static_cast<int64_t>(sizeof(T)));
    const bool streams = goes_past_caches<Op, T>(p);
    parallel_for(blocks, p.count < kSerialElements ? 1 : threads, [&](int64_t begin, int64_t end) {
        for (int64_t block = begin; block < end; ++block) {
            const int64_t at = block * kBlock, left = p.count - at;
            run_block<Op, T>(p, at, left < kBlock ? left : kBlock, bits, streams);
        }
        if (streams) streamed();
    });
}

template <typename Op>
int run_type(const StyleforgeElements& p, int64_t threads, unsigned char* bits) {
    if (p.type == 0) return run<Op, float>(p, threads, bits), 0;
    if (p.type == 1) return run<Op, Half>(p, threads, bits), 0;
    if (p.type == 2) return run<Op, BFloat16>(p, threads, bits), 0;
    return 1;
}

constexpr int64_t kPrefetched = 4096;  // bytes ahead: far enough that no load waits long

// Computes the gradient of add_relu from saved bits; streams as in `run`.
template <typename T>
void run_relu_of_bits(const StyleforgeElements& p, int64_t threads, const unsigned char* bits) {
    const T* grad = static_cast<const T*>(p.inputs[0]);
    T* out = static_cast<T*>(p.outputs[0]);
    const int64_t blocks = (p.count + kBlock - 1) / kBlock;
    const int64_t bytes = p.count * static_cast<int64_t>(sizeof(T));
    ask_for_large_pages(out, bytes);
    constexpr int64_t kSize = kPieceOf<T>;
    const bool streams = 2 * bytes > kCached && can_stream<T>(out, kBlock);
    parallel_for(blocks, p.count < kSerialElements ? 1 : threads, [&](int64_t begin, int64_t end) {
        const int64_t last = end * kBlock < p.count ? end * kBlock : p.count;
        int64_t at = begin * kBlock;
        for (; streams && at + kSize <= last; at += kSize) {
            alignas(64) T kept[kSize];
            prefetch(grad + at + kPrefetched / static_cast<int64_t>(sizeof(T)));
            keep_by_bits(grad + at, bits + at / kBits, kSize, kept);
            stream(out + at, kept);
        }
        keep_by_bits(grad + at, bits + at / kBits, last - at, out + at);
        if (streams) streamed();
    });
}

int run_relu_of_bits_type(const StyleforgeElements& p, int64_t threads, unsigned char* bits) {
    if (p.type == 0) return run_relu_of_bits<float>(p, threads, bits), 0;
    if (p.type == 1) return run_relu_of_bits<Half>(p, threads, bits), 0;
    if (p.type == 2) return run_relu_of_bits<BFloat16>(p, threads, bits), 0;
    return 1;
}

template <typename Op>
int run_columns_type(const StyleforgeColumns& c, int64_t threads) {
    if constexpr (kSumsColumns<Op>) {
        if (c.call.type == 0) return run_columns<Op, float>(c, threads), 0;
        if (c.call.type == 1) return run_columns<Op, Half>(c, threads), 0;
        if (c.call.type == 2) return run_columns<Op, BFloat16>(c, threads), 0;
    }
    return 1;
}

using Run = int (*)(const StyleforgeElements&, int64_t, unsigned char*);
using RunColumns = int (*)(const StyleforgeColumns&, int64_t);

#define RUN(name, Functor) run_type<Functor>,
#define RUN_COLUMNS(name, Functor) run_columns_type<Functor>,
constexpr Run kFunctions[] = {STYLEFORGE_ELEMENTWISE(RUN)};
constexpr RunColumns kColumns[] = {STYLEFORGE_ELEMENTWISE(RUN_COLUMNS)};
constexpr int kCount = sizeof(kFunctions) / sizeof(kFunctions[0]);

}  // namespace

// Runs `call` on at most `threads` threads. Returns 1 if the function does not exist, or not for
// this type.
STYLEFORGE_EXPORT int styleforge_elementwise(long long threads, const StyleforgeElements* call) {
    if (call->function < 0 || call->function >= kCount) return 1;
    return kFunctions[call->function](*call, threads, nullptr);
}

// The same for dense tensors of one layout, with one bit per element, [ceil(count / 8)]. Forward
// writes which elements dropout keeps or which results of add_relu are not zero. Backward reads the
// bits instead of random numbers or the result.
STYLEFORGE_EXPORT int styleforge_elementwise_bits(long long threads, const StyleforgeElements* call,
                                                  unsigned char* bits) {
    if (call->function < 0 || call->function >= kCount) return 1;
    const Run of_function = kFunctions[call->function];
    const bool is_relu = of_function == &run_type<AddRelu>;
    return (is_relu && call->backward ? &run_relu_of_bits_type : of_function)(*call, threads, bits);
}

// The same for gradients that are summed over rows, chunk by chunk.
STYLEFORGE_EXPORT int styleforge_elementwise_columns(long long threads,
                                                     const StyleforgeColumns* call) {
    const int function = call->call.function;
    if (function < 0 || function >= kCount) return 1;
    return kColumns[function](*call, threads);
}
