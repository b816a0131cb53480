// The steps of channel and group norms with ReLU, for blocks that hold their input.
#pragma once

#include "channels.cuh"
#include "held.cuh"

namespace styleforge {
namespace fusion {

// y = relu(norm(x + shift) * weight + bias), and the statistics of the norm.
template <typename T, bool kGroups>
struct HeldForward {
    using Of = Held<T, kGroups, 1>;
    static constexpr int kCount = Of::kCount;
    const Of& of;
    const StyleforgeSlabs& p;
    size_t all;       // planes
    Channel given{};  // of the warp's first plane

    __device__ __forceinline__ explicit HeldForward(const Of& held)
        : of(held), p(held.p), all(size_t(held.p.slabs) * held.p.planes) {}

    // Returns the parameters, with the shift in place of the mean.
    __device__ __forceinline__ Channel parameters(unsigned slab, unsigned plane) const {
        const unsigned c = of.channel_of(slab, plane);
        return {kGroups && p.shift != nullptr ? p.shift[c] : 0, 1, p.weight[c], p.bias[c]};
    }
    __device__ __forceinline__ void ready(unsigned slab) {
        given = parameters(slab, of.first_plane());
    }
    __device__ __forceinline__ Channel of_plane(unsigned slab, unsigned plane) const {
        return kGroups && plane != of.first_plane() ? parameters(slab, plane) : given;
    }
    __device__ __forceinline__ void sum(unsigned slab) const {
        float one[2] = {}, two[2] = {}, before[2], pivot = 0, around = 0;
        if (of.begin < of.end) {
            Of::wait_for_groups(1);
            if (of.lane == 0)
                pivot = given.mean +
                        to_float(*reinterpret_cast<const T*>(held_part() + of.begin - of.first));
            pivot = __shfl_sync(0xffffffffu, pivot, 0);
        }
        of.each_arriving(
            [&](unsigned plane) {
                around = kGroups ? pivot - of_plane(slab, plane).mean : pivot;
                before[0] = one[0], before[1] = one[1];
            },
            [&](const typename Of::Values& v) {
#pragma unroll
                for (int k = 0; k < kCount; ++k) {
                    const float above = v[0][k] - around;
                    one[k % 2] += above;
                    two[k % 2] += above * above;
                }
            },
            [&](unsigned plane, unsigned size) {
                if constexpr (kGroups) {
                    float sums[1] = {one[0] - before[0] + (one[1] - before[1])};
                    Team::over_lanes<16>(sums);
                    of.keep(plane, sums[0] + Of::elements(size) * pivot, 0);
                }
            });
        float sums[2] = {one[0] + one[1], two[0] + two[1]};
        Team::over_lanes<16>(sums);
        if (of.lane == 0) {
            const float n = Of::elements(of.end - of.begin), mean = n > 0 ? sums[0] / n : 0;
            const float apart = sums[1] - sums[0] * mean;
            of.shared.of_warps[of.warp] = {pivot + mean, apart < 0 ? 0 : apart};
        }
    }
    // Returns the mean, and the sum of squared deviations from it.
    __device__ __forceinline__ Partial of_part() const {
        const bool is_one = of.lane < kHeldWarps;
        const float n = is_one ? of.of_warp(of.lane) : 0, count = Of::elements(of.last - of.first);
        const Partial own = is_one ? of.shared.of_warps[of.lane] : Partial{0, 0};
        float mean[1] = {n * own.first};
        Team::over_lanes<16>(mean);
        mean[0] = count > 0 ? mean[0] / count : 0;
        const float above = own.first - mean[0];
        float apart[1] = {own.second + n * above * above};
        Team::over_lanes<16>(apart);
        return {mean[0], apart[0]};
    }
    __device__ __forceinline__ void finish(unsigned slab) const {
        float sums[2] = {}, around = 0;
        of.each_block(slab, [&](const auto& published, unsigned b) {
            // Use deviations from the first block's mean, so that all values are close to 0.
            if (b == of.lane) around = __shfl_sync(0xffffffffu, published[0].first, 0);
#pragma unroll
            for (int i = 0; i < Of::kBlocksAtOnce; ++i) {
                const float n = of.of_block(b + 32 * i), above = published[i].first - around;
                sums[0] += n * above, sums[1] += published[i].second + n * above * above;
            }
        });
        Team::over_lanes<16>(sums);
        const float share = 1.f / Of::elements(p.planes * p.row), offset = sums[0] * share;
        const float variance = sums[1] * share - offset * offset, mean = around + offset;
        const float inverse = rsqrtf((variance < 0 ? 0 : variance) + p.eps);
        if (of.lane == 0) of.shared.of_slab = {mean, inverse};
        if constexpr (kGroups)
            of.each_first(slab, [&](unsigned at) { p.mean[at] = mean, p.inverse[at] = inverse; });
        else if (of.block == 0 && of.lane == 0)
            p.mean[slab] = mean, p.inverse[slab] = inverse;
    }
    __device__ __forceinline__ void apply(unsigned slab) const {
        const Partial found = of.shared.of_slab;
        of.each_plane([&](unsigned plane, unsigned at, unsigned local, unsigned size) {
            Channel own = of_plane(slab, plane);
            own.mean = found.first - own.mean, own.inverse = found.second;
            T* const to = static_cast<T*>(p.result) +
                          (size_t(of.plane_of(slab, plane)) * p.row + at) * kCount;
#pragma unroll 2
            for (unsigned i = of.lane; i < size; i += 32) {
                typename Of::Values v;
                of.values_at(local + i, v);
#pragma unroll
                for (int k = 0; k < kCount; ++k)
                    v[0][k] = elementwise::relu(own.affine(own.normed(v[0][k])));
                store_streaming<kCount>(to + size_t(i) * kCount, v[0]);
            }
        });
    }
    __device__ __forceinline__ void finish_plane(unsigned slab, unsigned plane,
                                                 const Partial& found) const {
        const unsigned at = of.plane_of(slab, plane);
        const Channel own = parameters(slab, plane);
        const float mean = p.mean[at], inverse = p.inverse[at];
        p.mean[at] = mean - own.mean;
        p.of_groups[at] = own.weight, p.of_groups[all + at] = own.bias;
        p.of_groups[2 * all + at] = (found.first / Of::elements(p.row) - mean) * inverse;
    }
};

// The gradient of the above with respect to x, and the terms of the parameters' gradients.
template <typename T, bool kGroups>
struct HeldBackward {
    using Of = Held<T, kGroups, 2>;
    static constexpr int kCount = Of::kCount;
    const Of& of;
    const StyleforgeSlabs& p;
    size_t all;       // planes
    Channel given{};  // of the warp's first plane

    __device__ __forceinline__ explicit HeldBackward(const Of& held)
        : of(held), p(held.p), all(size_t(held.p.slabs) * held.p.planes) {}

    __device__ __forceinline__ Channel channel_of(unsigned slab, unsigned plane) const {
        if constexpr (kGroups)
            return Channels{p.mean, p.inverse, p.of_groups, p.of_groups + all}.at(
                of.plane_of(slab, plane));
        else
            return Channels{p.mean, p.inverse, p.weight, p.bias}.at(slab);
    }
    __device__ __forceinline__ void ready(unsigned slab) {
        given = channel_of(slab, of.first_plane());
    }
    __device__ __forceinline__ Channel of_plane(unsigned slab, unsigned plane) const {
        return kGroups && plane != of.first_plane() ? channel_of(slab, plane) : given;
    }
    __device__ __forceinline__ void sum(unsigned slab) const {
        float sums[2] = {}, of_weight[2], of_bias[2];
        Channel own;
        of.each_arriving(
            [&](unsigned plane) {
                own = of_plane(slab, plane);
                of_weight[0] = of_weight[1] = of_bias[0] = of_bias[1] = 0;
            },
            [&](const typename Of::Values& v) {
#pragma unroll
                for (int k = 0; k < kCount; ++k) {
                    const float normed = own.normed(v[0][k]);
                    const float through = elementwise::relu_gradient(v[1][k], own.affine(normed));
                    of_weight[k % 2] += through * normed;
                    of_bias[k % 2] += through;
                }
            },
            [&](unsigned plane, unsigned) {
                float found[2] = {of_weight[0] + of_weight[1], of_bias[0] + of_bias[1]};
                if constexpr (kGroups) {
                    Team::over_lanes<16>(found);
                    of.keep(plane, found[0], found[1]);
                    found[0] *= own.weight, found[1] *= own.weight;
                }
                sums[0] += found[0], sums[1] += found[1];
            });
        if constexpr (!kGroups) Team::over_lanes<16>(sums);
        if (of.lane == 0) of.shared.of_warps[of.warp] = {sums[0], sums[1]};
    }
    __device__ __forceinline__ Partial of_part() const {
        const Partial own =
            of.lane < kHeldWarps ? of.shared.of_warps[of.lane] : Partial{0, 0};
        float sums[2] = {own.first, own.second};
        Team::over_lanes<16>(sums);
        return {sums[0], sums[1]};
    }
    __device__ __forceinline__ void finish(unsigned slab) const {
        const float share = 1.f / Of::elements(p.planes * p.row);
        const float scale = kGroups ? share : p.follows ? share * p.weight[slab] : 0;
        float sums[2] = {};
        of.each_block(slab, [&](const auto& published, unsigned) {
#pragma unroll
            for (int i = 0; i < Of::kBlocksAtOnce; ++i)
                sums[0] += published[i].first, sums[1] += published[i].second;
        });
        Team::over_lanes<16>(sums);
        if (!kGroups && of.block == 0 && of.lane == 0)
            p.sums[slab] = sums[0], p.sums[p.channels + slab] = sums[1];
        sums[0] *= scale, sums[1] *= scale;
        if (of.lane == 0) of.shared.of_slab = {sums[0], sums[1]};
        if constexpr (kGroups)
            of.each_first(slab,
                          [&](unsigned at) { p.sums[at] = sums[0], p.sums[all + at] = sums[1]; });
    }
    __device__ __forceinline__ void apply(unsigned slab) const {
        const Partial found = of.shared.of_slab;
        of.each_plane([&](unsigned plane, unsigned at, unsigned local, unsigned size) {
            const ChannelGradient own{of_plane(slab, plane), found.first, found.second};
            T* const to = static_cast<T*>(p.result) +
                          (size_t(of.plane_of(slab, plane)) * p.row + at) * kCount;
#pragma unroll 2
            for (unsigned i = of.lane; i < size; i += 32) {
                typename Of::Values v;
                of.values_at(local + i, v);
#pragma unroll
                for (int k = 0; k < kCount; ++k) v[1][k] = own.at(v[1][k], v[0][k]);
                store_streaming<kCount>(to + size_t(i) * kCount, v[1]);
            }
        });
    }
    __device__ __forceinline__ void finish_plane(unsigned slab, unsigned plane,
                                                 const Partial& found) const {
        const unsigned at = of.plane_of(slab, plane);
        p.sums[2 * all + at] = found.first, p.sums[3 * all + at] = found.second;
    }
};

template <typename Steps>
__device__ __forceinline__ void hold(const StyleforgeSlabs& p, HeldShared& shared) {
    const typename Steps::Of of(p, shared);
    Steps steps(of);
    of.run(steps);
}

}  // namespace fusion
}  // namespace styleforge
