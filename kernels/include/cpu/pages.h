// Huge pages for new results. At the first store to each page of new memory, the system finds and
// clears the page. For 4 KiB pages this takes longer than any pass over the numbers.
#pragma once

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace styleforge {

constexpr int64_t kLargeResult = 8 << 20;  // bytes: smaller results reuse memory

// Requests 2 MiB pages for a result that will be written completely, in memory without pages yet.
// This is advice: a system without such pages continues with its own.
inline void ask_for_large_pages(void* to, int64_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    constexpr uintptr_t kPage = 2 << 20;
    if (to == nullptr || bytes < kLargeResult) return;
    const auto begin = (reinterpret_cast<uintptr_t>(to) + kPage - 1) / kPage * kPage;
    const auto end = (reinterpret_cast<uintptr_t>(to) + static_cast<uintptr_t>(bytes)) / kPage * kPage;
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#else
    (void)to, (void)bytes;
#endif
}

}  // namespace styleforge
