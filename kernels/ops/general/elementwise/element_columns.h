// The gradients of an elementwise operation whose other inputs are broadcast over rows, and their
// sums over rows, in one pass over memory on the CPU. The order of all sums is fixed.
#pragma once

#include <cstdint>

#include "columns.h"
#include "element_rows.h"
#include "include/cpu/half_rows.h"
#include "include/cpu/parallel.h"
#include "include/cpu/streams.h"
#include "include/cpu/with_type.h"

namespace styleforge {
namespace elementwise {

// Whether an operation's gradients may be summed over rows.
template <typename Op>
constexpr bool kSumsColumns = Op::kInputs > 1 && !Op::kDrops;

constexpr int64_t kTile = 4096;  // columns whose sums stay in the L1 and L2 caches

// Adds a piece of an FP32 gradient to `sums` and stores it to `to`; either may be null.
template <typename T>
static void keep_piece(const float* __restrict made, float* __restrict sums, T* to, int64_t count,
                       bool streams) {
    if (sums != nullptr)
        for (int64_t k = 0; k < count; ++k) sums[k] += made[k];
    if (to == nullptr) return;
    if constexpr (sizeof(T) == sizeof(float))
        if (streams) return stream(to, made);
    narrow_row(to, made, count);
}

// Processes columns [first, first + width) of a chunk of rows.
template <typename Op, typename T>
static void run_tile(const StyleforgeColumns& c, int64_t chunk, int64_t first, int64_t width,
              bool streams) {
    const StyleforgeElements& p = c.call;
    constexpr int kGiven = 1 + (Op::kOfResult ? 1 : Op::kInputs), kMade = Op::kGradients;
    constexpr int kWhole = 2;  // inputs stored as rows: the gradient and the first input
    using R = InLoops<T>;
    const int64_t columns = p.sizes[0], begin = chunk * c.chunk;
    const int64_t end = begin + c.chunk < p.sizes[1] ? begin + c.chunk : p.sizes[1];
    alignas(64) R buffers[4][kBlock];
    alignas(64) float made[2][kPiece];
    for (int i = kWhole; i < kGiven; ++i)
        if (p.strides[i][0] == 0)
            for (R& each : buffers[i])
                each = R(static_cast<float>(*static_cast<const T*>(p.inputs[i])));
    float* sums[2];
    for (int k = 0; k < 2; ++k) {
        sums[k] = k < kMade && c.sums[k] ? c.sums[k] + chunk * columns + first : nullptr;
        if (sums[k] != nullptr)
            for (int64_t i = 0; i < width; ++i) sums[k][i] = 0;
    }
    for (int64_t row = begin; row < end; ++row)
        for (int64_t at = 0; at < width; at += kBlock) {
            const int64_t size = width - at < kBlock ? width - at : kBlock;
            const R* in[4];
            for (int i = 0; i < kGiven; ++i) {
                const T* const from = static_cast<const T*>(p.inputs[i]) + first + at;
                in[i] = i >= kWhole && p.strides[i][0] == 0
                            ? buffers[i]
                            : in_loops(i < kWhole ? from + row * p.strides[i][1] : from, buffers[i],
                                       size);
            }
            const R *const grad = in[0], *const x = in[1];
            const R* const y = kGiven > 2 ? in[2] : x;
            const R* const z = kGiven > 3 ? in[3] : x;
            const auto piece = [&](int64_t i, int64_t count) {
                if (kMasked<Op>) prefetch(grad + i + kBlock);
                backward<Op>(grad + i, x + i, y + i, z + i, made[0], made[1], count);
                for (int k = 0; k < kMade; ++k) {
                    T* const whole = static_cast<T*>(p.outputs[k]);
                    keep_piece(made[k], sums[k] ? sums[k] + at + i : nullptr,
                               whole ? whole + row * columns + first + at + i : nullptr, count,
                               streams);
                }
            };
            int64_t i = 0;
            for (; i + kPiece <= size; i += kPiece) piece(i, kPiece);
            if (i < size) piece(i, size - i);
        }
}

template <typename Op, typename T>
static void run_columns(const StyleforgeColumns& c, int64_t threads) {
    const StyleforgeElements& p = c.call;
    const int64_t columns = p.sizes[0], tiles = (columns + kTile - 1) / kTile;
    const int64_t chunks = (p.sizes[1] + c.chunk - 1) / c.chunk;
    int64_t whole = 2;
    bool streams = sizeof(T) == sizeof(float);
    for (const void* out : p.outputs) {
        streams &= can_stream(out, columns);
        whole += out != nullptr;
    }
    streams &= whole * p.count * static_cast<int64_t>(sizeof(float)) > kCached;
    const auto run = [&](int64_t begin, int64_t end) {
        for (int64_t each = begin; each < end; ++each) {
            const int64_t first = each % tiles * kTile, left = columns - first;
            run_tile<Op, T>(c, each / tiles, first, left < kTile ? left : kTile, streams);
        }
        if (streams) streamed();
    };
    parallel_for(chunks * tiles, p.count < kSerialElements ? 1 : threads, run);
}

}  // namespace elementwise
}  // namespace styleforge
