// One pass of an elementwise operation on a GPU: loads and stores of 16 bytes if the layout allows
// it, else single elements of any strides. The caller has merged contiguous dimensions; up to two,
// such as rows and a bias for their columns, are walked without a division.
#pragma once

#include "general.h"
#include "group.cuh"

namespace styleforge {
namespace elementwise {

// A position in rows of `width`, advanced by a distance without a division.
struct Place {
    unsigned row, column;

    __device__ __forceinline__ Place(unsigned at, unsigned width)
        : row(at / width), column(at % width) {}
    __device__ __forceinline__ void move(const Place& distance, unsigned width) {
        row += distance.row;
        column += distance.column;
        if (column >= width) column -= width, ++row;
    }
};

// Whether an operation's last input may be a single number, as in most networks' PReLU.
template <typename Op>
constexpr bool kEndsInNumber = Op::kInputs == 3;

// Vectors of each tensor that a thread of the row kernels has in flight.
template <typename Op, typename T, bool kBackward>
constexpr int kRowsInFlight =
    Op::kAddsBias && !kBackward && sizeof(T) <= sizeof(float) ? kBiasInFlight : kInFlight<T>;

// Returns whether the elements of every tensor are contiguous in each row, or the tensor is the
// number at the end.
template <typename Op, int kGiven>
__device__ __forceinline__ bool lies_in_rows(const StyleforgeElements& p) {
    bool so = p.dims <= 2 && !p.wide;
#pragma unroll
    for (int i = 0; i < kGiven; ++i)
        so = so && (kEndsInNumber<Op> && i == kGiven - 1
                        ? p.strides[i][0] == 0 && p.strides[i][1] == 0
                        : p.strides[i][0] != 0);
    return so;
}

// Processes tensors stored as rows in tiles of all that a block has in flight. Returns the first
// element left for `walk`.
template <typename Op, typename T, bool kBackward, int kCount>
__device__ __forceinline__ unsigned walk_tiles(const StyleforgeElements& p,
                                               const long long (&state)[2]) {
    using Taken = Group<Op, T, kBackward, kCount>;
    constexpr int kGroups = kRowsInFlight<Op, T, kBackward>;
    constexpr int kVectors = Taken::kGiven - (kEndsInNumber<Op> ? 1 : 0);
    constexpr unsigned kStep = kElementThreads * kCount, kTile = kGroups * kStep;
    const unsigned width = static_cast<unsigned>(p.sizes[0]);
    const unsigned end = static_cast<unsigned>(p.count) / kTile * kTile;
    unsigned at = blockIdx.x * kTile + threadIdx.x * kCount;
    if (at >= end) return end;
    const T* from[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) from[i] = static_cast<const T*>(p.inputs[i]);
    T number{};
    if constexpr (kEndsInNumber<Op>) number = *static_cast<const T*>(p.inputs[kVectors]);
    Place first(at, width);
    const Place to_group(kStep, width), to_tile(gridDim.x * kTile, width);
    for (; at < end; at += gridDim.x * kTile) {
        Taken groups[kGroups];
        Place place = first;
        first.move(to_tile, width);
#pragma unroll
        for (int u = 0; u < kGroups; ++u) {
#pragma unroll
            for (int i = 0; i < kVectors; ++i)
                groups[u].load(i, from[i] + place.row * static_cast<unsigned>(p.strides[i][1]) +
                                      place.column);
            if constexpr (kEndsInNumber<Op>) groups[u].fill(kVectors, number);
            place.move(to_group, width);
        }
        typename Taken::A factors[kGroups][kCount] = {};
        if constexpr (Op::kDrops) draw(p, state, at, kStep, factors);
#pragma unroll
        for (int u = 0; u < kGroups; ++u) groups[u].finish(p, factors[u], at + u * kStep);
    }
    return end;
}

// Like `walk_tiles`, for one-dimensional tensors. No positions have to be computed, so that all
// loads of a block (one tile if all tensors have that dimension) are in flight at once.
template <typename Op, typename T, bool kBackward, int kCount>
__device__ __forceinline__ unsigned walk_flat(const StyleforgeElements& p,
                                              const long long (&state)[2]) {
    using Taken = Group<Op, T, kBackward, kCount>;
    constexpr int kGroups = kInFlight<T>;
    constexpr int kVectors = Taken::kGiven - (kEndsInNumber<Op> ? 1 : 0);
    constexpr unsigned kStep = kElementThreads * kCount, kTile = kGroups * kStep;
    const unsigned end = static_cast<unsigned>(p.count) / kTile * kTile;
    for (unsigned at = blockIdx.x * kTile + threadIdx.x * kCount; at < end;
         at += gridDim.x * kTile) {
        Taken groups[kGroups];
#pragma unroll
        for (int u = 0; u < kGroups; ++u)
#pragma unroll
            for (int i = 0; i < kVectors; ++i)
                groups[u].load(i, static_cast<const T*>(p.inputs[i]) + (at + u * kStep));
        if constexpr (kEndsInNumber<Op>) {
#pragma unroll
            for (int u = 0; u < kGroups; ++u)
                groups[u].fill(kVectors, *static_cast<const T*>(p.inputs[kVectors]));
        }
        typename Taken::A factors[kGroups][kCount] = {};
        if constexpr (Op::kDrops) draw(p, state, at, kStep, factors);
#pragma unroll
        for (int u = 0; u < kGroups; ++u) groups[u].finish(p, factors[u], at + u * kStep);
    }
    return end;
}

// Processes groups of tensors with any strides, from element `first` on.
template <typename Op, typename T, bool kBackward, int kCount, typename I>
__device__ __forceinline__ void walk(const StyleforgeElements& p, const long long (&state)[2],
                                     I first) {
    using Taken = Group<Op, T, kBackward, kCount>;
    constexpr int kGiven = Taken::kGiven;
    const I thread = static_cast<I>(blockIdx.x) * kElementThreads + threadIdx.x;
    for (I at = first + thread * kCount; at + kCount <= static_cast<I>(p.count);
         at += static_cast<I>(gridDim.x) * kElementThreads * kCount) {
        I offsets[kGiven] = {}, rest = at;
#pragma unroll 1  // a 64-bit division is long
        for (int d = 0; d < p.dims; ++d) {
            const I size = static_cast<I>(p.sizes[d]);
            const I place = d + 1 < p.dims ? rest % size : rest;
            if (d + 1 < p.dims) rest /= size;
#pragma unroll
            for (int i = 0; i < kGiven; ++i) offsets[i] += place * static_cast<I>(p.strides[i][d]);
        }
        Taken group;
#pragma unroll
        for (int i = 0; i < kGiven; ++i) {
            const T* from = static_cast<const T*>(p.inputs[i]) + offsets[i];
            if (kCount > 1 && p.strides[i][0] != 0)
                group.load(i, from);
            else
                group.fill(i, *from);
        }
        typename Taken::A factors[1][kCount] = {};
        if constexpr (Op::kDrops) draw(p, state, at, I(0), factors);
        group.finish(p, factors[0], at);
    }
}

// Blocks per multiprocessor that the registers allow. Dropout in 16 bits draws 16 numbers at once.
template <typename Op, typename T, bool kBackward>
constexpr int kBlocks = sizeof(T) == 8                             ? 3
                        : kBackward || (Op::kDrops && sizeof(T) == 2) || Op::kAddsBias
                            ? kElementBlocksBackward
                            : kElementBlocks;

template <typename Op, typename T, bool kBackward, int kCount>
__global__ void __launch_bounds__(kElementThreads, kBlocks<Op, T, kBackward>)
    elementwise_pass(const StyleforgeElements p) {
    using Wide = unsigned long long;
    long long state[2] = {};
    if constexpr (Op::kDrops)
        if (p.state != nullptr) state[0] = p.state[0], state[1] = p.state[1];
    unsigned first = 0;
    if constexpr (kCount > 1)
        if (lies_in_rows<Op, Group<Op, T, kBackward, kCount>::kGiven>(p))
            first = p.dims == 1 ? walk_flat<Op, T, kBackward, kCount>(p, state)
                                : walk_tiles<Op, T, kBackward, kCount>(p, state);
    if (first != 0 && first == static_cast<unsigned>(p.count)) return;
    if (p.wide)
        walk<Op, T, kBackward, kCount, Wide>(p, state, 0);
    else
        walk<Op, T, kBackward, kCount, unsigned>(p, state, first);
    if constexpr (kCount > 1)  // elements of one-dimensional tensors that fill no vector
        walk<Op, T, kBackward, 1, Wide>(p, state, static_cast<Wide>(p.count) / kCount * kCount);
}

}  // namespace elementwise
}  // namespace styleforge
