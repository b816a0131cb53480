// A replacement for include/common/ptx.cuh: the same functions, as PTX defines them.
#pragma once

#include "emulator.h"
#include "include/common/convert.cuh"

namespace styleforge {

inline uint32_t smem_address(const void* pointer) {
    return static_cast<const unsigned char*>(pointer) - emulator::shared_memory;
}

inline uint4 load_16B(const void* from) {
    if (reinterpret_cast<uintptr_t>(from) % 16 != 0) emulator::fail("a load is not aligned");
    return *static_cast<const uint4*>(from);
}

inline void store_shared_16B(uint32_t to, const uint4& v) { memcpy(emulator::at(to), &v, 16); }

inline void cp_async_16B(uint32_t to, const void* from) {
    if (emulator::immediate) return store_shared_16B(to, load_16B(from));
    emulator::at(to);
    if (reinterpret_cast<uintptr_t>(from) % 16 != 0) emulator::fail("a copy is not aligned");
    emulator::self().copies.push_back({to, from});
}

inline void cp_async_commit() {
    emulator::self().groups.push_back(emulator::self().copies);
    emulator::self().copies.clear();
}

template <int kPending>
inline void cp_async_wait() {
    auto& groups = emulator::self().groups;
    for (size_t i = 0; i + kPending < groups.size(); ++i) {
        for (const auto& copy : groups[i]) memcpy(emulator::at(copy.to), copy.from, 16);
        groups[i].clear();
    }
    if (emulator::in_turn) emulator::wait(emulator::State::kPauses);
}

inline void ldmatrix_x4(uint32_t (&to)[4], uint32_t from) {
    const uint32_t address[1] = {from};
    const auto& rows = emulator::exchange(address);
    const int lane = threadIdx.x % 32;
    for (int matrix = 0; matrix < 4; ++matrix)
        memcpy(&to[matrix], emulator::at(rows[matrix * 8 + lane / 4][0]) + lane % 4 * 4, 4);
}

// Returns element k % 2 of a word. A table is ten times as fast as the conversion.
template <typename T>
float element(uint32_t word, int k) {
    static const std::vector<float> values = [] {
        std::vector<float> all(1 << 16);
        for (uint32_t bits = 0; bits < all.size(); ++bits) all[bits] = Pair<T>::unpack(bits).x;
        return all;
    }();
    return values[k % 2 ? word >> 16 : word & 0xffff];
}

template <typename T>
inline void mma_m16n8k16(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    const uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const auto& all = emulator::exchange(own);
    const int lane = threadIdx.x % 32;
    for (int i = 0; i < 4; ++i) {
        const int half = i / 2, row = lane / 4, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 16; ++k)
            acc[i] += element<T>(all[row * 4 + k % 8 / 2][half + k / 8 * 2], k) *
                      element<T>(all[column * 4 + k % 8 / 2][4 + k / 8], k);
    }
}

template <typename T>
constexpr bool kIsHalf = false;
template <>
constexpr bool kIsHalf<__half> = true;

// Sums products in FP32, sixteen at a time, and rounds the sum to FP16 each time.
inline void mma_m16n8k32_fp16_sums(float (&acc)[4], const uint32_t (&a)[4], uint32_t b0,
                                   uint32_t b1, const uint32_t (&c)[4], uint32_t d0, uint32_t d1) {
    float sum[4] = {};
    mma_m16n8k16<__half>(sum, a, b0, b1);
    for (float& each : sum) each = __half2float(__float2half(each));
    mma_m16n8k16<__half>(sum, c, d0, d1);
    for (int i = 0; i < 4; ++i) acc[i] += __half2float(__float2half(sum[i]));
}

template <bool kSigned>
inline void mma_m16n8k32_integers(int (&acc)[4], const uint32_t (&a)[4], uint32_t b0,
                                  uint32_t b1) {
    const uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
    const auto& all = emulator::exchange(own);
    const int lane = threadIdx.x % 32;
    const auto byte = [](uint32_t word, int k) -> int {
        const uint8_t bits = word >> k % 4 * 8;
        return kSigned ? static_cast<int8_t>(bits) : bits;
    };
    for (int i = 0; i < 4; ++i) {
        const int half = i / 2, row = lane / 4, column = lane % 4 * 2 + i % 2;
        for (int k = 0; k < 32; ++k) {
            const uint32_t weights = all[column * 4 + k % 16 / 4][4 + k / 16];
            acc[i] += byte(all[row * 4 + k % 16 / 4][half + k / 16 * 2], k) *
                      static_cast<int8_t>(weights >> k % 4 * 8);
        }
    }
}

}  // namespace styleforge
