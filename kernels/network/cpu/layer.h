// A layer of the network on one picture, and the memory that it works in.
#pragma once

#include <atomic>
#include <cstdint>

#include "vectors.h"

// Activations are FP32, [height, width, channels], dense. A layer reads the raw result of the one
// before and applies its norm while it loads; launchers.py mirrors this struct.
struct StyleforgeNetworkLayer {
    int64_t height, width;                // of the input
    int64_t result_height, result_width;  // the first layer pads to it, and the last one crops
    int64_t inputs, outputs;              // channels
    int64_t side;                         // of the filters
    int64_t threads;                      // maximum
    const void* input;
    const float *scale, *shift;  // of the norm, for each input channel
    const float* residual;       // added after the norm, in place of a ReLU; or null
    float* kept;                 // receives the input after norm, ReLU and residual; or null
    const float* weights;        // as kernels/network/cpu/weights.py lays them out
    const float* sums;           // of each filter's taps, [inputs, outputs], if no norm follows
    void* result;                // before its norm
    float* range;                // receives the limits of what is rounded to bytes
    const float *gamma, *beta;   // of the result's norm; of the last layer beta is the bias
    double eps;
    float *next_scale, *next_shift;  // receive the result's norm
    void* memory;                    // of the size that styleforge_network_memory returns
};

namespace styleforge::network {

using Layer = StyleforgeNetworkLayer;

// Hands out consecutive parts of a memory; without a memory, it measures them.
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

// One scratch memory for each thread, which a thread borrows for a block.
class Scratch {
    static constexpr int64_t kMost = 256;

 public:
    Scratch(Arena& arena, int64_t floats, int64_t threads)
        : size_((floats + 15) / 16 * 16),
          threads_(threads < kMost ? threads : kMost),
          first_(arena.take<float>(size_ * threads_)) {}

    // The threads that may borrow at a time.
    int64_t threads() const { return threads_; }

    // Calls `use(memory)`.
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

// Returns the pixel inside [0, size) that the padding copies to `i`.
inline int64_t reflected(int64_t i, int64_t size) {
    if (i < 0) i = -i;
    if (i >= size) i = 2 * (size - 1) - i;
    return i < 0 ? 0 : (i < size ? i : size - 1);  // beyond the padding, any pixel
}
inline int64_t replicated(int64_t i, int64_t size) { return i < 0 ? 0 : (i < size ? i : size - 1); }

// How a layer reads its input: after its norm, with a ReLU or a residual, or as it is.
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
