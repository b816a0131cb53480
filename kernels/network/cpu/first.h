// The first layer: a large filter on the three colors, as nested 3x3 filters.
//
// The weights are a grid of 3x3 filters. One product in transformed form, F(4, 3) with 3 * cells^2
// inputs, sums all of them. The lanes of a vector are neighboring tiles, because three colors would
// leave lanes empty.
#pragma once

#include "include/cpu/parallel.h"
#include "moments.h"
#include "product.h"
#include "transforms.h"

namespace styleforge::network {

// Reads floats or bytes. With `kHasNorm`, it pads by reflection to the size of the result and then
// for the filter, and a norm follows; otherwise its input is padded already.
template <typename Color, bool kHasNorm>
class First {
    using Transform = F43;
    static constexpr int kOutputs = Transform::kOutputs, kSide = Transform::kSide;
    static constexpr int kPositions = kSide * kSide, kColors = 3, kCell = 3;
    static constexpr int64_t kGroup = 16;          // neighboring tiles that a thread loads at once
    static constexpr int64_t kTiles = 3 * kGroup;  // tiles of a block
    static_assert(kTiles % kRows == 0, "a block must be whole products");

 public:
    First(const Layer& layer, Arena& arena)
        : layer_(layer),
          outputs_(layer.outputs),
          cells_((layer.side + kCell - 1) / kCell),
          depth_(kColors * cells_ * cells_),
          high_(layer.result_height),
          wide_(layer.result_width),
          down_((high_ + kOutputs - 1) / kOutputs),
          across_((wide_ + kOutputs - 1) / kOutputs),
          groups_((across_ + kGroup - 1) / kGroup),
          blocks_((down_ * groups_ + 2) / 3),
          lines_(down_ * kOutputs + kCell * cells_ + kSide),
          line_(groups_ * kGroup + (kCell * cells_ + kSide) / kOutputs + 2),
          taps_(depth_ * kTiles + kChannels),
          products_(kTiles * outputs_ + kChannels),
          moments_(arena, kHasNorm ? blocks_ : 0, outputs_, 1),
          columns_(arena.take<int64_t>(kOutputs * line_)),
          planes_(arena.take<float>(kColors * lines_ * kOutputs * line_)),
          base_(arena.take<float>(outputs_)),
          scratch_(arena, kPositions * (taps_ + products_), layer.threads) {}

    void run() {
        for (int64_t i = 0; i < kOutputs * line_; ++i)
            columns_[i] = source(i, layer_.width, wide_) * kColors;
        if (!kHasNorm) find_base();
        const auto sort = [this](int64_t begin, int64_t end) {
            for (int64_t line = begin; line < end; ++line) sort_line(line);
        };
        parallel_for(kColors * lines_, layer_.threads, sort, 8);
        const auto work = [this](int64_t begin, int64_t end) {
            scratch_.borrow([&](float* memory) {
                for (int64_t block = begin; block < end && !is_stopped(layer_); ++block)
                    run_block(block, memory);
            });
        };
        parallel_for(blocks_, scratch_.threads(), work, blocks_);
        if (kHasNorm) moments_.finish(layer_);
    }

 private:
    // Returns the pixel that the padding copies to `i`.
    int64_t source(int64_t i, int64_t size, int64_t padded) const {
        if (!kHasNorm) return replicated(i, size);
        return reflected(reflected(i - layer_.side / 2, padded), size);
    }

    // Convolves the picture's first pixel, which the layer subtracts from every pixel.
    void find_base() const {
        for (int64_t k = 0; k < outputs_; ++k) {
            double sum = 0;
            for (int64_t color = 0; color < kColors; ++color)
                sum += static_cast<double>(colors()[color]) * layer_.sums[color * outputs_ + k];
            base_[k] = static_cast<float>(sum);
        }
    }

    const Color* colors() const { return static_cast<const Color*>(layer_.input); }

    // Pads a line of a color and subtracts the picture's first pixel, as Convolution does. Sorts
    // the line by column modulo the tiles' step, so that the same pixel of neighboring tiles lies
    // side by side.
    void sort_line(int64_t line) const {
        const int64_t color = line / lines_, y = source(line % lines_, layer_.height, high_);
        const Color* from = colors() + y * layer_.width * kColors + color;
        const float center = colors()[color];
        float* to = planes_ + line * kOutputs * line_;
        for (int64_t tile = 0; tile < line_; ++tile)
            for (int64_t step = 0; step < kOutputs; ++step) {
                const float value = from[columns_[tile * kOutputs + step]];
                to[step * line_ + tile] = value - center;
            }
    }

    void run_block(int64_t block, float* memory) const {
        const int64_t first = block * 3, left = down_ * groups_ - first;
        const int64_t groups = left < 3 ? left : 3, rows = groups * kGroup;
        float* products = memory + kPositions * taps_;
        for (int64_t g = 0; g < groups; ++g) load_group(first + g, memory + g * kGroup);
        for (int p = 0; p < kPositions; ++p) {
            int64_t k = 0;
            for (; k + kPanel <= outputs_; k += kPanel)
                panel<kVectors>(p, rows, k, memory, products);
            if constexpr (kChannels % kPanel != 0)
                for (; k < outputs_; k += kLanes) panel<1>(p, rows, k, memory, products);
        }
        if (kHasNorm) moments_.begin(block);
        for (int64_t t = 0; t < rows; ++t)
            store_tile(block, (first + t / kGroup) / groups_,
                       (first + t / kGroup) % groups_ * kGroup + t % kGroup,
                       products + t * outputs_);
    }

    // Transforms the tiles of a group, one vector of neighbors at a time.
    void load_group(int64_t group, float* to) const {
        const int64_t y = group / groups_ * kOutputs, x = group % groups_ * kGroup;
        for (int64_t d = 0; d < depth_; ++d) {
            const int64_t color = d / (cells_ * cells_);
            const int64_t down = d / cells_ % cells_ * kCell, right = d % cells_ * kCell;
            const float* line = planes_ + (color * lines_ + y + down) * kOutputs * line_;
            for (int64_t lane = 0; lane < kGroup; lane += kLanes) {
                Vector half[kPositions];
#pragma GCC unroll 6
                for (int j = 0; j < kSide; ++j) {
                    const int64_t column = right + j;
                    const float* from =
                        line + column % kOutputs * line_ + column / kOutputs + x + lane;
                    Vector pixels[kSide];
#pragma GCC unroll 6
                    for (int i = 0; i < kSide; ++i) pixels[i] = load(from + i * kOutputs * line_);
                    Transform::input<1, kSide>(pixels, half + j);
                }
#pragma GCC unroll 6
                for (int i = 0; i < kSide; ++i) {
                    Vector row[kSide];
                    Transform::input<1, 1>(half + i * kSide, row);
#pragma GCC unroll 6
                    for (int j = 0; j < kSide; ++j)
                        store(to + (i * kSide + j) * taps_ + d * kTiles + lane, row[j]);
                }
            }
        }
    }

    template <int N>
    STYLEFORGE_INLINE void panel(int p, int64_t rows, int64_t k, const float* memory,
                                 float* products) const {
        const float* taps = memory + p * taps_;
        const float* weights = layer_.weights + (p * outputs_ + k) * depth_;
        for (int64_t r = 0; r < rows; r += kRows)
            multiply<N, false>(taps + r, 1, kTiles, weights,
                               products + p * products_ + r * outputs_ + k, outputs_, depth_);
    }

    void store_tile(int64_t block, int64_t down, int64_t across, const float* from) const {
        const int64_t y = down * kOutputs, x = across * kOutputs;
        const int64_t left_rows = high_ - y, left_columns = wide_ - x;
        const int bottom = left_rows < kOutputs ? static_cast<int>(left_rows) : kOutputs;
        const int right = left_columns < kOutputs ? static_cast<int>(left_columns) : kOutputs;
        if (bottom <= 0 || right <= 0) return;
        float* to = static_cast<float*>(layer_.result) + (y * wide_ + x) * outputs_;
        const int64_t row = wide_ * outputs_;
        for (int64_t k = 0; k < outputs_; k += kLanes) {
            Vector tile[kOutputs * kOutputs];
            transform_back<Transform>(from + k, products_, tile);
            if constexpr (!kHasNorm) {
                const Vector base = load(base_ + k);
                for_each_pixel<kOutputs>(0, bottom, 0, right, [&](int i, int j) {
                    store(to + i * row + j * outputs_ + k, tile[i * kOutputs + j] + base);
                });
                continue;
            }
            auto sums = moments_.sums(block, 0, k, tile[0]);
            for_each_pixel<kOutputs>(0, bottom, 0, right, [&](int i, int j) {
                sums.add(tile[i * kOutputs + j]);
                store(to + i * row + j * outputs_ + k, tile[i * kOutputs + j]);
            });
            moments_.keep(block, k, sums);
        }
        if (kHasNorm) moments_.count(block, 0, bottom * right);
    }

    const Layer& layer_;
    int64_t outputs_;
    int64_t cells_;          // 3x3 filters along a side of the large filter
    int64_t depth_;          // the product's inputs: one per color and 3x3 filter
    int64_t high_, wide_;    // size of the result
    int64_t down_, across_;  // numbers of tiles
    int64_t groups_;         // groups across the picture
    int64_t blocks_;
    int64_t lines_, line_;     // padded lines of a color; padded tiles of a line
    int64_t taps_, products_;  // floats of a position's matrices
    Moments moments_;
    int64_t* columns_;  // offsets of a padded line's pixels
    float* planes_;     // [colors, lines, steps, tiles]
    float* base_;       // the first pixel's convolution
    Scratch scratch_;
};

}  // namespace styleforge::network
