// Streaming (non-temporal) stores of rows. A store to uncached memory first reads its line, which
// is wasted if the whole line is written and evicted before anyone reads it.
#pragma once

#include <cstdint>
#include <cstring>

#include "inline.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#define STYLEFORGE_STREAMS 1
#else
#define STYLEFORGE_STREAMS 0
#endif

namespace styleforge {

#if STYLEFORGE_STREAMS
constexpr bool kStreams = true;
#else
constexpr bool kStreams = false;
#endif

constexpr int64_t kCached = 20 << 20;  // bytes: a last-level cache of 32 MiB holds more than this
constexpr int64_t kLine = 16;   // FP32 elements per cache line
constexpr int64_t kPiece = 64;  // elements stored at once

template <typename T>
constexpr int64_t kPieceOf = kPiece * static_cast<int64_t>(sizeof(float) / sizeof(T));

// Stores `made` to a piece of a row that begins at a cache line, bypassing the caches if the
// machine can. Other threads see it after `streamed`.
inline void stream(void* place, const void* made) {
    [[maybe_unused]] float* const to = static_cast<float*>(place);
    [[maybe_unused]] const float* const from = static_cast<const float*>(made);
#if defined(__AVX512F__)
    for (int64_t i = 0; i < kPiece; i += 16) _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
#elif defined(__AVX__)
    for (int64_t i = 0; i < kPiece; i += 8) _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
#elif STYLEFORGE_STREAMS
    for (int64_t i = 0; i < kPiece; i += 4) _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
#else
    std::memcpy(place, made, static_cast<size_t>(kPiece) * sizeof(float));
#endif
}

// Prefetches as many bytes as a piece has, possibly beyond the end of a row.
STYLEFORGE_INLINE void prefetch(const void* from) {
#if STYLEFORGE_STREAMS
    constexpr int64_t kBytes = sizeof(float);
    for (int64_t i = 0; i < kPiece * kBytes; i += kLine * kBytes)
        _mm_prefetch(static_cast<const char*>(from) + i, _MM_HINT_T0);
#else
    (void)from;
#endif
}

// Returns whether rows of `width` at `to` consist of whole pieces, each beginning at a cache line.
template <typename T = float>
inline bool can_stream(const void* to, int64_t width) {
    return kStreams && width % kPieceOf<T> == 0 &&
           reinterpret_cast<uintptr_t>(to) % (kLine * sizeof(float)) == 0;
}

// Each thread must call this after its last `stream`.
inline void streamed() {
#if STYLEFORGE_STREAMS
    _mm_sfence();
#endif
}

}  // namespace styleforge
