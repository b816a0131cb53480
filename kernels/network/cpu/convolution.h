// Convolutions of many channels by Winograd's transform, in blocks that stay in the L2 cache.
//
// A block is 12 or 24 tiles of the result. A thread loads and transforms the tiles, and computes
// one matrix product for each transformed position. Then it transforms the products back and stores
// them.
#pragma once

#include "include/cpu/parallel.h"
#include "moments.h"
#include "product.h"
#include "transforms.h"

namespace styleforge::network {

// A 3x3 convolution, padded by reflection.
struct Plain {
    using Transform = F43;
    static constexpr bool kHasNorms = true;       // the norms before and after the layer
    static constexpr int kPhases = 1, kStep = 4;  // input pixels from one tile to the next
    static int64_t result(int64_t size) { return size; }
    static int64_t source(int64_t i, int64_t size) { return reflected(i - 1, size); }
};

// A 3x3 convolution of stride 2, padded by reflection.
struct Halving : Plain {
    using Transform = Halved;
    static constexpr int kStep = 6;
    static int64_t result(int64_t size) { return (size + 1) / 2; }
};

// A 3x3 convolution of an input that is already padded and normalized, without a norm after it.
struct Valid : Plain {
    static constexpr bool kHasNorms = false;
    static int64_t result(int64_t size) { return size - 2; }
    static int64_t source(int64_t i, int64_t size) { return replicated(i, size); }
};

// A 3x3 convolution of such an input with stride 2.
struct ValidHalving : Valid {
    using Transform = Halved;
    static constexpr int kStep = 6;
    static int64_t result(int64_t size) { return (size - 1) / 2; }
};

// A 3x3 convolution after an enlargement that repeats each pixel to 2x2. The layer computes it as a
// 2x2 convolution before the enlargement, with four phases. Phase (a, b) of pixel (i, j) is at
// (i + a, j + b) of the 2x2 convolution's result.
struct Enlarging : Plain {
    using Transform = F42;
    static constexpr int kPhases = 4;
    static int64_t result(int64_t size) { return size + 1; }
    static int64_t source(int64_t i, int64_t size) { return replicated(i - 1, size); }
};

template <class Kind>
class Convolution {
    using Transform = typename Kind::Transform;
    static constexpr int kOutputs = Transform::kOutputs, kSide = Transform::kSide;
    static constexpr int kPositions = kSide * kSide, kPhases = Kind::kPhases;
    static constexpr int kStep = Kind::kStep;
    static constexpr bool kEnlarges = kPhases > 1, kHasNorms = Kind::kHasNorms;
    static constexpr bool kKeeps = kHasNorms && !kEnlarges && kStep == kOutputs;
    static constexpr int64_t kTiles = 12;      // tiles of a block: this number or twice as many
    static constexpr int64_t kBlock = 120000;  // the most floats of a block
    static_assert(kTiles % kRows == 0, "a block must be whole products");

 public:
    Convolution(const Layer& layer, Arena& arena)
        : layer_(layer),
          inputs_(layer.inputs),
          columns_(layer.outputs * kPhases),
          high_(Kind::result(layer.height)),
          wide_(Kind::result(layer.width)),
          down_((high_ + kOutputs - 1) / kOutputs),
          across_((wide_ + kOutputs - 1) / kOutputs),
          deep_(inputs_ > columns_ ? inputs_ : columns_),
          tiles_(2 * kTiles * kPositions * deep_ > kBlock ? kTiles : 2 * kTiles),
          blocks_((down_ * across_ + tiles_ - 1) / tiles_),
          position_(tiles_ * deep_ + kChannels),
          moments_(arena, kHasNorms ? blocks_ : 0, columns_, kPhases),
          rows_(arena.take<int64_t>(down_ * kSide)),
          across_at_(arena.take<int64_t>(across_ * kSide)),
          center_(arena.take<float>(inputs_)),
          base_(arena.take<float>(columns_)),
          scratch_(arena, (kPositions + 1) * position_, layer.threads) {}

    void run() {
        for (int64_t i = 0; i < down_ * kSide; ++i)
            rows_[i] =
                Kind::source(i / kSide * kStep + i % kSide, layer_.height) * layer_.width * inputs_;
        for (int64_t i = 0; i < across_ * kSide; ++i)
            across_at_[i] = Kind::source(i / kSide * kStep + i % kSide, layer_.width) * inputs_;
        if constexpr (!kHasNorms) {
            each_block<Reading::kPlain>();
        } else {
            if (layer_.residual) each_block<Reading::kResidual>();
            else each_block<Reading::kRelu>();
            moments_.finish(layer_);
        }
    }

 private:
    template <Reading kReading>
    void each_block() {
        find_center<kReading>();
        const auto work = [this](int64_t begin, int64_t end) {
            scratch_.borrow([&](float* memory) {
                for (int64_t block = begin; block < end && !is_stopped(layer_); ++block) {
                    const int64_t first = block * tiles_, left = down_ * across_ - first;
                    const int64_t tiles = left < tiles_ ? left : tiles_;
                    for (int64_t t = 0; t < tiles; ++t)
                        load_tile<kReading>(first + t, memory + position_ + t * inputs_);
                    multiply_all(tiles, memory);
                    if (kHasNorms) moments_.begin(block);
                    for (int64_t t = 0; t < tiles; ++t)
                        store_tile(block, first + t, memory + t * columns_);
                }
            });
        };
        parallel_for(blocks_, scratch_.threads(), work, blocks_);
    }

    // Finds the input's first pixel, which the layer subtracts from every pixel. A picture of one
    // color is then exactly zero, without a rounding error that the next norm would enlarge by up
    // to 1 / sqrt(eps). A norm after the layer cancels the subtraction. Without a norm, the layer
    // adds the convolution of the first pixel to its result.
    template <Reading kReading>
    void find_center() {
        for (int64_t c = 0; c < inputs_; c += kLanes) {
            Vector scale = {}, shift = {};
            if (kHasNorms) scale = load(layer_.scale + c), shift = load(layer_.shift + c);
            store(center_ + c, read<kReading>(layer_, c, scale, shift));
        }
        if (kHasNorms) return;
        for (int64_t k = 0; k < columns_; ++k) {
            double sum = 0;
            for (int64_t c = 0; c < inputs_; ++c)
                sum += static_cast<double>(center_[c]) * layer_.sums[c * columns_ + k];
            base_[k] = static_cast<float>(sum);
        }
    }

    // Transforms a tile. Each position of the transform becomes a row of that position's matrix.
    template <Reading kReading>
    void load_tile(int64_t tile, float* to) const {
        const int64_t y = tile / across_, x = tile % across_;
        const int64_t *rows = rows_ + y * kSide, *at = across_at_ + x * kSide;
        const int64_t* next = x + 1 < across_ ? at + kSide : at;
        const float* input = static_cast<const float*>(layer_.input);
        const int64_t bottom = layer_.height - y * kOutputs, right = layer_.width - x * kOutputs;
        for (int64_t c = 0; c < inputs_; c += kLanes) {
            Vector scale = {}, shift = {};
            if (kHasNorms) scale = load(layer_.scale + c), shift = load(layer_.shift + c);
            const Vector center = load(center_ + c);
            Vector half[kPositions];
#pragma GCC unroll 7
            for (int j = 0; j < kSide; ++j) {
                Vector column[kSide];
#pragma GCC unroll 7
                for (int i = 0; i < kSide; ++i)
                    column[i] = read<kReading>(layer_, rows[i] + at[j] + c, scale, shift);
                if (kKeeps && layer_.kept && j >= 1 && j <= kOutputs && j <= right) {
                    for (int i = 1; i <= kOutputs && i <= bottom; ++i)
                        store(layer_.kept + rows[i] + at[j] + c, column[i]);
                }
#pragma GCC unroll 7
                for (int i = 0; i < kSide; ++i) column[i] = column[i] - center;
                Transform::template input<1, kSide>(column, half + j);
            }
            if (c * 4 % 64 == 0) {
                for (int j = kSide - kStep; j < kSide; ++j)
                    for (int i = 0; i < kSide; ++i) {
                        __builtin_prefetch(input + rows[i] + next[j] + c);
                        if (kReading == Reading::kResidual)
                            __builtin_prefetch(layer_.residual + rows[i] + next[j] + c);
                    }
            }
#pragma GCC unroll 7
            for (int i = 0; i < kSide; ++i) {
                Vector row[kSide];
                Transform::template input<1, 1>(half + i * kSide, row);
#pragma GCC unroll 7
                for (int j = 0; j < kSide; ++j) store(to + (i * kSide + j) * position_ + c, row[j]);
            }
        }
    }

    // Multiplies each position, and writes the products over the input of the position before.
    void multiply_all(int64_t tiles, float* memory) const {
        const int64_t rows = (tiles + kRows - 1) / kRows * kRows;
        for (int p = 0; p < kPositions; ++p) {
            float* to = memory + p * position_;
            float* from = to + position_;
            std::memset(from + tiles * inputs_, 0,
                        static_cast<size_t>((rows - tiles) * inputs_) * 4);
            const float* weights = layer_.weights + p * inputs_ * columns_;
            int64_t k = 0;
            for (; k + kPanel <= columns_; k += kPanel)
                panel<kVectors>(rows, from, weights + k * inputs_, to + k);
            if constexpr (kChannels % kPanel != 0)
                for (; k < columns_; k += kLanes)
                    panel<1>(rows, from, weights + k * inputs_, to + k);
        }
    }

    template <int N>
    STYLEFORGE_INLINE void panel(int64_t rows, const float* from, const float* b, float* to) const {
        multiply<N, true>(from, inputs_, 1, b, to, columns_, inputs_);
        for (int64_t r = kRows; r < rows; r += kRows)
            multiply<N, false>(from + r * inputs_, inputs_, 1, b, to + r * columns_, columns_,
                               inputs_);
    }

    // Transforms one row of each position back to a tile. Adds the tile to the sums and stores it.
    void store_tile(int64_t block, int64_t tile, const float* from) const {
        const int64_t y = tile / across_ * kOutputs, x = tile % across_ * kOutputs;
        const int64_t outputs = layer_.outputs;
        for (int phase = 0; phase < kPhases; ++phase) {
            const int64_t a = phase / 2, b = phase % 2;
            // The bounds of the pixels of the tile that are inside the result.
            const int top = y < a, left = x < b;
            const int64_t last_row = high_ - kEnlarges + a - y;
            const int64_t last_column = wide_ - kEnlarges + b - x;
            const int bottom = last_row < kOutputs ? static_cast<int>(last_row) : kOutputs;
            const int right = last_column < kOutputs ? static_cast<int>(last_column) : kOutputs;
            if (bottom <= top || right <= left) continue;
            const int64_t pixel = (kEnlarges ? 2 : 1) * outputs;
            const int64_t row = (kEnlarges ? 4 * layer_.width : wide_) * outputs;
            float* to =
                static_cast<float*>(layer_.result) +
                (kEnlarges ? (2 * y - a) * 2 * layer_.width + 2 * x - b : y * wide_ + x) * outputs;
            for (int64_t k = 0; k < outputs; k += kLanes) {
                const int64_t column = phase * outputs + k;
                Vector pixels[kOutputs * kOutputs];
                transform_back<Transform>(from + column, position_, pixels);
                if constexpr (!kHasNorms) {
                    const Vector base = load(base_ + column);
                    for_each_pixel<kOutputs>(top, bottom, left, right, [&](int i, int j) {
                        store(to + i * row + j * pixel + k, pixels[i * kOutputs + j] + base);
                    });
                    continue;
                }
                auto sums = moments_.sums(block, phase, column, pixels[top * kOutputs + left]);
                for_each_pixel<kOutputs>(top, bottom, left, right, [&](int i, int j) {
                    sums.add(pixels[i * kOutputs + j]);
                    store(to + i * row + j * pixel + k, pixels[i * kOutputs + j]);
                });
                moments_.keep(block, column, sums);
            }
            if (kHasNorms) moments_.count(block, phase, (bottom - top) * (right - left));
        }
    }

    const Layer& layer_;
    int64_t inputs_, columns_;
    int64_t high_, wide_;    // size of the convolution's result
    int64_t down_, across_;  // numbers of tiles
    int64_t deep_, tiles_;   // the block's channels and tiles
    int64_t blocks_;
    int64_t position_;  // floats of a position's matrix; not a multiple of the page size
    Moments moments_;
    int64_t *rows_, *across_at_;  // offsets of a tile's pixels in the input
    float *center_, *base_;       // the input's first pixel; its convolution
    Scratch scratch_;
};

}  // namespace styleforge::network
