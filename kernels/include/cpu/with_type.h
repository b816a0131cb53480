// Dispatches the run-time type of tensors to a template argument; converts rows to FP32 and back.
#pragma once

#include "dtypes.h"
#include "half_rows.h"

namespace styleforge {

// Calls `use` with an element of this type: 0 for FP32, 1 for FP16, 2 for BF16. Returns its result.
template <typename Use>
inline auto with_type(int64_t type, const Use& use) {
    if (type == 1) return use(Half{});
    if (type == 2) return use(BFloat16{});
    return use(0.f);
}

// Returns a row in FP32: the row itself, or a copy in `buffer`.
template <typename T>
inline const float* in_fp32(const T* from, float* buffer, int64_t count) {
    widen_row(buffer, from, count);
    return buffer;
}
inline const float* in_fp32(const float* from, float*, int64_t) { return from; }

// Returns a row as loops read it: the row itself, or a copy in `buffer`.
template <typename T, typename Buffer>
inline const T* in_loops(const T* from, Buffer*, int64_t) {
    return from;
}
inline const float* in_loops(const Half* from, float* buffer, int64_t count) {
    return in_fp32(from, buffer, count);
}

// Returns where loops write a row: in place, or in `buffer`, which `put_from_loops` copies back.
template <typename T>
inline T* loops_place(T* to, float*) {
    return to;
}
inline float* loops_place(Half*, float* buffer) { return buffer; }
template <typename T>
inline void put_from_loops(T*, const T*, int64_t) {}
inline void put_from_loops(Half* to, const float* made, int64_t count) {
    narrow_row(to, made, count);
}

// Returns where an FP32 row is computed: in place, or in `buffer`, which `put` copies back.
template <typename T>
inline float* place_of(T*, float* buffer) {
    return buffer;
}
inline float* place_of(float* to, float*) { return to; }
template <typename T>
inline void put(T* to, const float* made, int64_t count) {
    narrow_row(to, made, count);
}
inline void put(float*, const float*, int64_t) {}

}  // namespace styleforge
