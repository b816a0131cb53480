// The parts of CUDA that the mma.sync kernels need, on the CPU: one block of threads at a time,
// each thread on its own stack. A warp runs until all its threads wait, at a barrier of the block
// or for one another. Shared memory starts as NaN, and an asynchronous copy happens as late as
// possible: when its thread waits for it. So reads that are too early, or of memory never written,
// show in the picture. On GPUs without asynchronous copies, copies happen at once and show
// overwrites that are too early.
//
// There are two orders. By default warps run ahead as far as they can, which shows missing
// barriers. With in_turn, the last warp goes first, and a thread whose copies have arrived lets
// the others catch up: this shows conflicting writes of two threads.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#undef __device__
#undef __host__
#undef __global__
#undef __shared__
#undef __align__
#undef __forceinline__
#undef __launch_bounds__
#define __device__
#define __host__
#define __global__
#ifdef EMULATED_CLUSTER  // blocks run at once, each on a thread of the host
#define EMULATOR_STATE thread_local
#else  // blocks run one after another
#define EMULATOR_STATE
#endif
#define __shared__ static EMULATOR_STATE
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline
#define __launch_bounds__(...)

using std::max;
using std::min;

namespace emulator {

enum class State { kReady, kPauses, kWaitsForWarp, kWaitsForBlock, kWaitsForCluster, kEnded };

constexpr int kMostThreads = 1024, kStackBytes = 128 * 1024;

struct Copy {
    uint32_t to;
    const void* from;
};

struct Thread {
    ucontext_t context;  // the entry point
    jmp_buf place;       // the point to resume: unlike a context, a jump needs no system call
    bool started;
    std::unique_ptr<char[]> stack{new char[kStackBytes]};  // untouched until it is used
    State state;
    unsigned exchanges;  // with the other threads of its warp so far
    std::vector<Copy> copies;
    std::vector<std::vector<Copy>> groups;
};

constexpr int kLanes = 32;
using Words = std::array<std::array<uint32_t, 8>, kLanes>;  // the words of each lane

inline EMULATOR_STATE std::vector<Thread> threads(kMostThreads);
inline EMULATOR_STATE Words exchanged[kMostThreads / kLanes][2];
inline EMULATOR_STATE jmp_buf scheduler;
inline EMULATOR_STATE std::function<void()> body;
inline EMULATOR_STATE std::function<void()> meet;  // waits for the other blocks of the cluster
inline EMULATOR_STATE std::string failure;
inline EMULATOR_STATE unsigned char* shared_memory;
inline EMULATOR_STATE size_t shared_bytes;
inline EMULATOR_STATE bool in_turn, immediate;
inline EMULATOR_STATE uint3 thread_index, block_index, grid_size, block_size;

inline Thread& self() { return threads[thread_index.x]; }

inline void wait(State state) {
    Thread& thread = self();
    thread.state = state;
    if (_setjmp(thread.place) == 0) _longjmp(scheduler, 1);
}

inline void go_on(Thread& thread) {
    if (_setjmp(scheduler) != 0) return;
    if (thread.started) _longjmp(thread.place, 1);
    thread.started = true;
    setcontext(&thread.context);
}

// Ends the launch; the thread is never resumed.
inline void fail(const char* what) {
    if (failure.empty()) failure = what;
    wait(State::kEnded);
}

inline void run_thread() {
    body();
    for (const auto& group : self().groups)
        if (!group.empty()) fail("a copy was never waited for");
    wait(State::kEnded);
}

// Runs the threads of a warp until none can continue by itself.
inline void run_warp(int warp) {
    const int begin = warp * kLanes, end = begin + kLanes;
    for (int waiting = kLanes; waiting == kLanes;) {
        for (int i = begin; i < end; ++i) {
            if (threads[i].state != State::kReady) continue;
            thread_index.x = i;
            go_on(threads[i]);
            if (!failure.empty()) return;
        }
        waiting = 0;
        bool pauses = false;
        for (int i = begin; i < end; ++i) {
            waiting += threads[i].state == State::kWaitsForWarp;
            pauses = pauses || threads[i].state == State::kPauses;
        }
        if (waiting == kLanes)
            for (int i = begin; i < end; ++i) threads[i].state = State::kReady;
        else if (waiting != 0 && !pauses)
            failure = "some threads of a warp wait for the others, which went another way";
    }
}

inline void run_block(int count) {
    memset(shared_memory, 0xff, shared_bytes);
    for (int i = 0; i < count; ++i) {
        Thread& thread = threads[i];
        getcontext(&thread.context);
        thread.context.uc_stack.ss_sp = thread.stack.get();
        thread.context.uc_stack.ss_size = kStackBytes;
        thread.context.uc_link = nullptr;
        makecontext(&thread.context, run_thread, 0);
        thread.state = State::kReady, thread.started = false, thread.exchanges = 0;
        thread.copies.clear(), thread.groups.clear();
    }
    for (int ended = 0; ended < count;) {
        const int warps = count / kLanes;
        for (int i = 0; i < warps && failure.empty(); ++i) run_warp(in_turn ? warps - 1 - i : i);
        if (!failure.empty()) return;
        ended = 0;
        int meeting = 0;
        bool pauses = false;
        for (int i = 0; i < count; ++i) {
            ended += threads[i].state == State::kEnded;
            meeting += threads[i].state == State::kWaitsForCluster;
            pauses = pauses || threads[i].state == State::kPauses;
        }
        if (ended != 0 && ended < count && !pauses)
            failure = "some threads ended, others are at a barrier";
        if (!failure.empty()) return;
        if (meeting == count) meet();
        for (int i = 0; i < count; ++i) {
            State& state = threads[i].state;
            if (meeting == count || state == State::kPauses || (state == State::kWaitsForBlock && !pauses))
                state = State::kReady;
        }
    }
}

// Passes `words` to the other threads of the warp and returns the words of all.
template <size_t kCount>
const Words& exchange(const uint32_t (&words)[kCount]) {
    Words& all = exchanged[thread_index.x / kLanes][self().exchanges++ % 2];
    std::copy(words, words + kCount, all[thread_index.x % kLanes].begin());
    wait(State::kWaitsForWarp);
    return all;
}

// Returns 16 bytes of shared memory.
inline unsigned char* at(uint32_t address) {
    if (address % 16 != 0 || address + 16 > shared_bytes) fail("an address is not in shared memory");
    return shared_memory + address;
}

template <typename P>
int launch(void (*kernel)(P), const void* params, const int (&grid)[3], int count, int shared,
           bool takes_turns, bool copies_at_once) {
    std::vector<unsigned char> memory(shared + 128);
    const auto from = reinterpret_cast<uintptr_t>(memory.data());
    shared_memory = reinterpret_cast<unsigned char*>((from + 127) / 128 * 128);
    shared_bytes = shared, in_turn = takes_turns, immediate = copies_at_once;
    failure.clear();
    body = [=] { kernel(*static_cast<const P*>(params)); };
    grid_size = {unsigned(grid[0]), unsigned(grid[1]), unsigned(grid[2])};
    block_size = {unsigned(count), 1, 1};
    for (block_index.z = 0; block_index.z < grid_size.z; ++block_index.z)
        for (block_index.y = 0; block_index.y < grid_size.y; ++block_index.y)
            for (block_index.x = 0; block_index.x < grid_size.x; ++block_index.x)
                if (failure.empty()) run_block(count);
    return failure.empty() ? 0 : 1;
}

}  // namespace emulator

#define threadIdx emulator::thread_index
#define blockIdx emulator::block_index
#define gridDim emulator::grid_size
#define blockDim emulator::block_size

inline void __syncthreads() { emulator::wait(emulator::State::kWaitsForBlock); }
inline void __syncwarp() { emulator::wait(emulator::State::kWaitsForWarp); }
inline void __threadfence() {}
inline void __trap() { emulator::fail("a trap"); }

template <typename V>
V __shfl_xor_sync(unsigned, V value, int step) {
    static_assert(sizeof(V) % 4 == 0);
    uint32_t words[sizeof(V) / 4];
    memcpy(words, &value, sizeof value);
    for (uint32_t& each : words) {
        const uint32_t word[1] = {each};
        each = emulator::exchange(word)[threadIdx.x % 32 ^ step][0];
    }
    memcpy(&value, words, sizeof value);
    return value;
}
// Returns the value of the thread `step` further, or of the same thread at the end of its warp.
template <typename V>
V __shfl_down_sync(unsigned, V value, int step) {
    static_assert(sizeof(V) == 4);
    uint32_t word[1];
    memcpy(word, &value, 4);
    const uint32_t lane = threadIdx.x % 32, from = lane + step;
    const uint32_t given = emulator::exchange(word)[from < 32 ? from : lane][0];
    memcpy(&value, &given, 4);
    return value;
}
// Returns the value of the thread `step` before, or of the same thread at the start of its warp.
inline unsigned __shfl_up_sync(unsigned, unsigned value, int step) {
    const uint32_t word[1] = {value};
    const int lane = threadIdx.x % 32;
    return emulator::exchange(word)[lane < step ? lane : lane - step][0];
}
template <typename V>
V __shfl_sync(unsigned, V value, int lane) {
    static_assert(sizeof(V) == 4);
    uint32_t word[1];
    memcpy(word, &value, 4);
    memcpy(&value, &emulator::exchange(word)[lane], 4);
    return value;
}
inline unsigned __ballot_sync(unsigned, bool holds) {
    const uint32_t word[1] = {holds};
    const auto& all = emulator::exchange(word);
    unsigned lanes = 0;
    for (int i = 0; i < 32; ++i) lanes |= all[i][0] << i;
    return lanes;
}
inline int __popc(unsigned value) { return __builtin_popcount(value); }
inline size_t __cvta_generic_to_shared(const void* at) { return reinterpret_cast<size_t>(at); }
inline bool __all_sync(unsigned, bool holds) {
    const uint32_t word[1] = {holds};
    const auto& all = emulator::exchange(word);
    return std::all_of(all.begin(), all.end(), [](const auto& words) { return words[0] != 0; });
}

template <typename V>
V __ldcg(const V* from) {
    return *from;
}
template <typename V>
V __ldg(const V* from) {
    return *from;
}
inline unsigned atomicInc(unsigned* at, unsigned most) {
    const unsigned old = *at;
    *at = old >= most ? 0 : old + 1;
    return old;
}
inline void atomicAdd(unsigned* at, unsigned value) { *at += value; }
inline void atomicMin(unsigned* at, unsigned value) { *at = min(*at, value); }
inline void atomicMin(int* at, int value) { *at = min(*at, value); }
inline void atomicMax(int* at, int value) { *at = max(*at, value); }
inline void atomicOr(int* at, int value) { *at |= value; }

inline int __float_as_int(float value) {
    int bits;
    memcpy(&bits, &value, 4);
    return bits;
}
inline unsigned __float_as_uint(float value) { return __float_as_int(value); }
inline float __int_as_float(int bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}
// Rounds the sum down.
inline float __fadd_rd(float a, float b) {
    const double sum = double(a) + double(b);
    const float near = static_cast<float>(sum);
    return near > sum ? nextafterf(near, -INFINITY) : near;
}
inline float rsqrtf(float value) { return 1 / sqrtf(value); }
// NaN becomes 0
inline float __saturatef(float value) { return value > 0 ? min(value, 1.f) : 0.f; }
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    const uint64_t bytes = uint64_t(y) << 32 | x;
    unsigned word = 0;
    for (int i = 0; i < 4; ++i)
        word |= unsigned(bytes >> (selector >> i * 4 & 7) * 8 & 0xff) << i * 8;
    return word;
}
// Shifts two words to the right by less than 32 bits and returns the lower one.
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
    return unsigned((uint64_t(high) << 32 | low) >> bits);
}
inline unsigned __vsadu4(unsigned x, unsigned y) {
    unsigned sum = 0;
    for (int bits = 0; bits < 32; bits += 8)
        sum += abs(int(x >> bits & 0xff) - int(y >> bits & 0xff));
    return sum;
}
// Multiplies both halves of a word by the lower, or the upper, two bytes of another one.
inline unsigned __dp2a_lo(unsigned halves, unsigned bytes, unsigned sum) {
    return sum + (halves & 0xffff) * (bytes & 0xff) + (halves >> 16) * (bytes >> 8 & 0xff);
}
inline unsigned __dp2a_hi(unsigned halves, unsigned bytes, unsigned sum) {
    return __dp2a_lo(halves, bytes >> 16, sum);
}
