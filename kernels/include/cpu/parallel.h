// Parallel loops on the threads of the OpenMP runtime that PyTorch loaded, so that a process has
// one thread pool.
//
// A library links no OpenMP. Its loader passes in the entry point that starts a parallel region:
// GNU's `GOMP_parallel`, or LLVM's and Intel's `__kmpc_fork_call`.
#pragma once

#include <atomic>
#include <cstdint>

#include "export.h"
#include "inline.h"

namespace styleforge {

using Region = void (*)(void*);
using GompParallel = void (*)(Region, void*, unsigned, unsigned);
using KmpcRegion = void (*)(int32_t*, int32_t*, ...);
using KmpcForkCall = void (*)(void*, int32_t, KmpcRegion, ...);

inline GompParallel gomp_parallel = nullptr;
inline KmpcForkCall kmpc_fork_call = nullptr;

// LLVM's `ident_t`: the source location of a region, for LLVM's tools.
struct Place {
    int32_t reserved1 = 0, flags = 2, reserved2 = 0, reserved3 = 0;
    const char* source = ";styleforge;parallel_for;0;0;;";
};

// A loop in equal chunks. Threads take chunks until none are left, so that a team may have any
// size.
template <typename F>
struct Loop {
    const F* body;
    int64_t size, chunks;
    std::atomic<int64_t> next{0};

    // Both the calling thread alone and the threads of a region run a chunk here, so that the number of
    // threads changes no bit.
    STYLEFORGE_ONCE void run_chunk(const F& body, int64_t begin, int64_t end) { body(begin, end); }
    static void run(void* self) {
        auto* loop = static_cast<Loop*>(self);
        for (int64_t i; (i = loop->next.fetch_add(1, std::memory_order_relaxed)) < loop->chunks;)
            run_chunk(*loop->body, loop->size * i / loop->chunks,
                      loop->size * (i + 1) / loop->chunks);
    }
    static void run_kmpc(int32_t*, int32_t*, void* self) { run(self); }
};

// Calls `body(begin, end)` for chunks that cover [0, size), on at most `threads` threads. With
// several chunks per thread, a thread that wakes late leaves some to the others. The body must not
// throw, since an exception cannot leave a region.
template <typename F>
void parallel_for(int64_t size, int64_t threads, const F& body, int64_t chunks_of_thread = 1) {
    if (size <= 0) return;
    const int64_t team = size < threads ? size : threads;
    if (team <= 1 || (!gomp_parallel && !kmpc_fork_call))
        return Loop<F>::run_chunk(body, int64_t{0}, size);
    const int64_t most = chunks_of_thread * team;
    Loop<F> loop{&body, size, size < most ? size : most};
    if (gomp_parallel) {
        gomp_parallel(&Loop<F>::run, &loop, static_cast<unsigned>(team), 0);
    } else {
        Place place;
        kmpc_fork_call(&place, 1, reinterpret_cast<KmpcRegion>(&Loop<F>::run_kmpc),
                       static_cast<void*>(&loop));
    }
}

}  // namespace styleforge

// Must be called once, before all other functions of the library; one address is null.
STYLEFORGE_EXPORT inline void styleforge_use_openmp(void* gomp_parallel, void* kmpc_fork_call) {
    styleforge::gomp_parallel = reinterpret_cast<styleforge::GompParallel>(gomp_parallel);
    styleforge::kmpc_fork_call = reinterpret_cast<styleforge::KmpcForkCall>(kmpc_fork_call);
}
