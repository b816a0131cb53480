// Shared parts of the norms on the CPU: how they divide their work, and prefetching of the next
// rows.
#pragma once

#include <cstdint>

#include "include/cpu/streams.h"
#include "include/cpu/with_type.h"

namespace styleforge {
namespace fusion {

constexpr int64_t kSerialElements = 1 << 14;  // below this, waking a thread costs more

inline int64_t threads_for(int64_t elements, int64_t threads) {
    return elements < kSerialElements ? 1 : threads;
}

inline int64_t bytes_of(int64_t type, int64_t elements) {
    return elements * static_cast<int64_t>(type == 0 ? sizeof(float) : sizeof(Half));
}

// Prefetches a row. A row is read once and then reused, so loads of the next row would start late.
// They start while this row is computed, one tensor after another.
template <typename T>
STYLEFORGE_INLINE void prefetch_row(const T* from, int64_t count) {
    constexpr int64_t kStep = kPiece * static_cast<int64_t>(sizeof(float) / sizeof(T));
    for (int64_t i = 0; i < count; i += kStep) prefetch(from + i);
}

// The terms that the gradient of a row or a channel subtracts: the means of `inner` and of its
// products with the norm.
struct Means {
    float inner, product;
};

}  // namespace fusion
}  // namespace styleforge
