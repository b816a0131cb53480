// A layer of the network for one picture, and its working memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "vectors.h"

// The arguments of a layer; launchers.py mirrors this struct. Activations are FP32,
// [height, width, channels], dense. A layer reads the raw result of the layer before, and applies
// that layer's norm while it loads.
struct StyleforgeNetworkLayer {
    int64_t height, width;                // size of the input
    int64_t result_height, result_width;  // the first layer pads to it, and the last one crops
    int64_t inputs, outputs;              // numbers of channels
    int64_t side;                         // side of the filters
    int64_t threads;                      // the most threads
    const void* input;
    const float *scale, *shift;  // the norm of the input, for each channel
    const float* residual;       // the addend after the norm, in place of a ReLU; or null
    float* kept;                 // receives the input after norm, ReLU and residual; or null
    const float* weights;        // as kernels/network/cpu/weights.py lays them out
    const float* sums;           // each filter's sum of taps, [inputs, outputs], if no norm follows
    void* result;                // the result before its norm
    float* range;                // receives the limits of the values before they become bytes
    const float *gamma, *beta;   // the result's norm; in the last layer, beta is the bias
    double eps;
    float *next_scale, *next_shift;  // receive the result's norm
    void* memory;                    // as many bytes as styleforge_network_memory returns
    const std::atomic<int32_t>* stop;  // not 0 to give up the layer; or null
};

namespace styleforge::network {

using Layer = StyleforgeNetworkLayer;

// Returns whether another thread wants the layer to end, whose result is then incomplete.
inline bool is_stopped(const Layer& layer) {
    return layer.stop != nullptr && layer.stop->load(std::memory_order_relaxed) != 0;
}

// Hands out consecutive parts of a memory. Without a memory, it only adds up their sizes.
class Arena {
 public:
    explicit Arena(void* memory) : begin_(static_cast<char*>(memory)) {}

    template <typename T>
    T* take(int64_t count) {
        T* part = reinterpret_cast<T*>(begin_ + used_);
        used_ += (count * static_cast<int64_t>(sizeof(T)) + kLine - 1) / kLine * kLine;
        return part;
    }
    int64_t used() const { return used_; }

 private:
    static constexpr int64_t kLine = 64;
    char* begin_;
    int64_t used_ = 0;
};

// One scratch memory per thread. A thread borrows one while it computes blocks.
class Scratch {
    static constexpr int64_t kMost = 256;

 public:
    Scratch(Arena& arena, int64_t floats, int64_t threads)
        : size_((floats + 15) / 16 * 16),
          threads_(threads < kMost ? threads : kMost),
          first_(arena.take<float>(size_ * threads_)) {}

    // Returns how many threads may borrow a memory at the same time.
    int64_t threads() const { return threads_; }

    // Borrows a memory and calls `use(memory)`.
    template <typename F>
    void borrow(const F& use) {
        int64_t i = 0;
        while (busy_[i].exchange(true, std::memory_order_acquire)) i = (i + 1) % threads_;
        use(first_ + i * size_);
        busy_[i].store(false, std::memory_order_release);
    }

 private:
    int64_t size_, threads_;
    float* first_;
    std::atomic<bool> busy_[kMost] = {};
};

// Returns the pixel in [0, size) that the padding copies to `i`.
inline int64_t reflected(int64_t i, int64_t size) {
    if (i < 0) i = -i;
    if (i >= size) i = 2 * (size - 1) - i;
    return i < 0 ? 0 : (i < size ? i : size - 1);  // any pixel beyond the padding
}
inline int64_t replicated(int64_t i, int64_t size) { return i < 0 ? 0 : (i < size ? i : size - 1); }

// How a layer reads its input: with the norm and a ReLU, with the norm and a residual, or as it is.
enum class Reading { kRelu, kResidual, kPlain };

template <Reading kReading>
STYLEFORGE_INLINE Vector read(const Layer& layer, int64_t at, Vector scale, Vector shift) {
    const Vector raw = load(static_cast<const float*>(layer.input) + at);
    if constexpr (kReading == Reading::kPlain) return raw;
    const Vector normed = fma(raw, scale, shift);
    if constexpr (kReading == Reading::kResidual) return normed + load(layer.residual + at);
    return relu(normed);
}

}  // namespace styleforge::network
