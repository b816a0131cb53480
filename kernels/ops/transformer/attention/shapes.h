// The sizes of the transformer kernels by head size: tiles, threads and shared memory of a block.
// Plain C++, included by the kernels and by their description.
#pragma once

#include <stdint.h>

namespace styleforge {

constexpr int kEpilogueThreads = 256;

namespace attention {

// First rung.
constexpr int kV1Queries = 16, kV1Keys = 32, kV1Threads = 256;
constexpr int kMostColumns = 128;  // of a head, in the first two rungs

// Second rung.
template <int kDim>
struct V2Shape {
    static constexpr int kThreads = 256, kOwn = 4;  // queries per warp
    static constexpr int kQueries = kThreads / 32 * kOwn, kKeys = 32;
    static constexpr int kStride = kDim + 4;  // of a row: eight rows fall on different banks
    static constexpr int kSharedBytes = (kQueries + 2 * kKeys) * kStride * 4;
};

// Third rung, FP32.
template <int kDim>
struct FmaShape {
    static constexpr int kThreads = 256;      // 16 x 16
    static constexpr int kRows = 64;          // queries of a block, keys of a tile
    static constexpr int kStride = kDim + 4;  // of a row: eight rows fall on different banks
    static constexpr int kWeightStride = kRows + 4;
    static constexpr int kSharedBytes = (2 * kRows * kStride + kRows * kWeightStride) * 4;
};

// Third rung, mma.sync. kGeneral allows a mask and dropout.
template <int kDim, bool kGeneral>
struct MmaShape {
    static constexpr int kThreads = 128;
    static constexpr int kRowTiles = kDim == 128 || kGeneral ? 1 : 2;  // of 16 queries, per warp
    static constexpr int kQueries = kThreads / 32 * 16 * kRowTiles;
    static constexpr int kKeys = 64;  // per tile
    static constexpr int kSharedBytes = (kQueries + 4 * kKeys) * kDim * 2;
};

// The gradients.
template <int kDim>
struct BackwardShape {
    static constexpr int kThreads = 128;
    static constexpr int kOwn = 64;    // rows per block, 16 per warp
    // rows of a tile that the block walks over
    static constexpr int kOther = kDim == 128 ? 32 : 64;
    static constexpr int kStatisticsBytes = 4 * kOther * 4;
    static constexpr int kSharedBytes = (2 * kOwn + 4 * kOther) * kDim * 2 + kStatisticsBytes;
};

// A CUtensorMap, encoded by the host: kernels/driver/tensor_map.py.
struct alignas(64) TensorMap {
    unsigned long long words[16];
};

// For q, k and v, in boxes of up to 64 columns, swizzled by 128 or 64 bytes.
struct TensorMaps {
    TensorMap q, k, v;
};

// Third rung, Hopper. With kSplitKeys, both warpgroups have the same 64 queries and alternate tiles
// of keys, so that short sequences fill the GPU. Otherwise each warpgroup has 64 queries.
template <int kDim, bool kSplitKeys>
struct Sm90Shape {
    static constexpr int kKeys = 128;  // per tile
    static constexpr int kGroups = 2;  // warpgroups that multiply
    static constexpr int kThreads = 128 * (kGroups + 1);
    static constexpr int kQueries = kSplitKeys ? 64 : 64 * kGroups;
    static constexpr int kBoxColumns = kDim < 64 ? kDim : 64;
    static constexpr int kBoxes = kDim / kBoxColumns;
    static constexpr int kRowBytes = kBoxColumns * 2;
    static constexpr int kStages = kDim == 128 ? 2 : 4;
    static constexpr int kQueryBytes = kQueries * kDim * 2;
    static constexpr int kTileBytes = kKeys * kDim * 2;
    static constexpr int kMergeBytes = kSplitKeys ? (kDim / 2 + 4) * 128 * 4 : 0;
    static constexpr int kBarriers = 2 + 4 * kStages;
    static constexpr int kSharedBytes =
        1024 + kQueryBytes + 2 * kStages * kTileBytes + kMergeBytes + 8 * kBarriers;
    // For descriptors: the swizzle mode (1: 128 bytes, 2: 64 bytes), and the bytes of eight rows.
    static constexpr uint64_t kSwizzle = kRowBytes == 128 ? 1 : 2;
    static constexpr int kEightRows = 8 * kRowBytes;
};

}  // namespace attention
}  // namespace styleforge
