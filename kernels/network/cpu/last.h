// The last layer: a large filter to the three colors, as nested 3x3 filters.
//
// The step between tiles is the side of the nested filters, so that one transformed patch of the
// input serves all of these filters. The lanes are eight channels on every processor. `store_tile`
// adds the lanes in a fixed order, after it has transformed them back.
#pragma once

#include "include/cpu/parallel.h"
#include "layer.h"
#include "transforms.h"

namespace styleforge::network {

// Eight lanes, in one or two registers.
constexpr int kWide = kLanes < 8 ? kLanes : 8, kParts = 8 / kWide;
using Wide = Floats<kWide>;

// The least and the greatest of some values; NaN if one of them is not finite.
class Range {
    static constexpr float kMost = 3.402823466e38f;

 public:
    STYLEFORGE_INLINE void add(Floats<4> values) {
        low_ = values < low_ ? values : low_;
        high_ = values > high_ ? values : high_;
        faults_ = faults_ + (values - values);
    }

    void add(const Range& other) {
        low_ = other.low_ < low_ ? other.low_ : low_;
        high_ = other.high_ > high_ ? other.high_ : high_;
        faults_ = faults_ + other.faults_;
    }

    void write(float* limits) const {
        float low = low_[0], high = high_[0], faults = faults_[0];
        for (int i = 1; i < 4; ++i) {
            low = low_[i] < low ? low_[i] : low;
            high = high_[i] > high ? high_[i] : high;
            faults = faults + faults_[i];
        }
        limits[0] = low + faults, limits[1] = high + faults;
    }

 private:
    Floats<4> low_ = all<Floats<4>>(kMost), high_ = all<Floats<4>>(-kMost);
    Floats<4> faults_ = {};  // 0, or NaN
};

// The last layer. It writes floats, or rounded bytes and the range of their values. With
// `kHasNorm`, it applies the norm and the ReLU of the layer before, pads by reflection, and crops
// to the result. Otherwise its input is already padded and activated.
template <typename Color, bool kHasNorm>
class Last {
    using Transform = F33;
    static constexpr Reading kReading = kHasNorm ? Reading::kRelu : Reading::kPlain;
    static constexpr int kOutputs = Transform::kOutputs, kSide = Transform::kSide;
    static constexpr int kPositions = kSide * kSide, kColors = 3, kCell = 3, kEight = 8;
    static constexpr int kAtOnce = kParts == 1 ? 4 : 2;  // tiles that a product computes
    static constexpr bool kRounds = sizeof(Color) == 1;
    static constexpr int64_t kStrip = 24, kBand = 12;  // a job's tiles across and down

 public:
    Last(const Layer& layer, Arena& arena)
        : layer_(layer),
          inputs_(layer.inputs),
          cells_((layer.side + kCell - 1) / kCell),
          high_(layer.result_height),
          wide_(layer.result_width),
          down_((high_ + kOutputs - 1) / kOutputs),
          across_((wide_ + kOutputs - 1) / kOutputs),
          strips_((across_ + kStrip - 1) / kStrip),
          bands_((down_ + kBand - 1) / kBand),
          line_((kStrip + cells_ - 1 + kAtOnce) * inputs_),
          position_(cells_ * line_ + kChannels),
          products_((kStrip + kAtOnce) * kColors * kEight),
          ranges_(arena.take<Range>(kRounds ? strips_ * bands_ : 0)),
          scratch_(arena, kPositions * (position_ + products_), layer.threads) {}

    void run() {
        const auto work = [this](int64_t begin, int64_t end) {
            scratch_.borrow([&](float* memory) {
                for (int64_t job = begin; job < end && !is_stopped(layer_); ++job) {
                    const Range range = run_job(job % strips_ * kStrip, job / strips_, memory);
                    if (kRounds) ranges_[job] = range;
                }
            });
        };
        parallel_for(strips_ * bands_, scratch_.threads(), work, strips_ * bands_);
        if (kRounds) {
            Range range;
            for (int64_t job = 0; job < strips_ * bands_; ++job) range.add(ranges_[job]);
            range.write(layer_.range);
        }
    }

 private:
    // Paints a strip of a band. The memory holds `cells_` lines of patches at a time.
    Range run_job(int64_t first, int64_t band, float* memory) const {
        Range range;
        float* products = memory + kPositions * position_;
        const int64_t left = across_ - first, tiles = left < kStrip ? left : kStrip;
        const int64_t top = down_ * band / bands_, bottom = down_ * (band + 1) / bands_;
        for (int64_t line = top; line < bottom + cells_ - 1; ++line) {
            for (int64_t patch = 0; patch < tiles + cells_ - 1; ++patch)
                load_patch(line, first + patch, memory + line % cells_ * line_ + patch * inputs_);
            const int64_t tile = line - (cells_ - 1);
            if (tile < top) continue;
            for (int p = 0; p < kPositions; ++p)
                for (int64_t t = 0; t < tiles; t += kAtOnce)
                    multiply_tiles(p, tile, memory + p * position_ + t * inputs_,
                                   products + p * products_ + t * kColors * kEight);
            for (int64_t t = 0; t < tiles; ++t)
                store_tile(tile, first + t, products + t * kColors * kEight, range);
        }
        return range;
    }

    int64_t source(int64_t i, int64_t size) const {
        return kHasNorm ? reflected(i - layer_.side / 2, size) : replicated(i, size);
    }

    // Transforms the patch of the input that begins at a tile.
    void load_patch(int64_t down, int64_t across, float* to) const {
        int64_t rows[kSide], columns[kSide];
        for (int i = 0; i < kSide; ++i) {
            rows[i] = source(down * kOutputs + i, layer_.height) * layer_.width * inputs_;
            columns[i] = source(across * kOutputs + i, layer_.width) * inputs_;
        }
        for (int64_t c = 0; c < inputs_; c += kLanes) {
            Vector scale = {}, shift = {};
            if (kHasNorm) scale = load(layer_.scale + c), shift = load(layer_.shift + c);
            Vector half[kPositions];
#pragma GCC unroll 5
            for (int j = 0; j < kSide; ++j) {
                Vector column[kSide];
#pragma GCC unroll 5
                for (int i = 0; i < kSide; ++i)
                    column[i] = read<kReading>(layer_, rows[i] + columns[j] + c, scale, shift);
                Transform::input<1, kSide>(column, half + j);
            }
#pragma GCC unroll 5
            for (int i = 0; i < kSide; ++i) {
                Vector row[kSide];
                Transform::input<1, 1>(half + i * kSide, row);
#pragma GCC unroll 5
                for (int j = 0; j < kSide; ++j) store(to + (i * kSide + j) * position_ + c, row[j]);
            }
        }
    }

    // Multiplies one position of neighboring tiles by all nested filters. The weights are
    // [position, cell down, cell across and channels / 8, color, 8].
    STYLEFORGE_INLINE void multiply_tiles(int p, int64_t tile, const float* from, float* to) const {
        Wide sum[kAtOnce][kColors][kParts] = {};
        const float* weights = layer_.weights + p * cells_ * cells_ * inputs_ * kColors;
        for (int64_t cell = 0; cell < cells_; ++cell) {
            const float* line = from + (tile + cell) % cells_ * line_;
            for (int64_t k = 0; k < cells_ * inputs_; k += kEight) {  // over all cells across
#pragma GCC unroll 2
                for (int part = 0; part < kParts; ++part) {
                    Wide weight[kColors];
#pragma GCC unroll 3
                    for (int o = 0; o < kColors; ++o)
                        weight[o] = load<Wide>(weights + o * kEight + part * kWide);
#pragma GCC unroll 4
                    for (int t = 0; t < kAtOnce; ++t) {
                        const Wide value = load<Wide>(line + t * inputs_ + k + part * kWide);
#pragma GCC unroll 3
                        for (int o = 0; o < kColors; ++o)
                            sum[t][o][part] = fma(value, weight[o], sum[t][o][part]);
                    }
                }
                weights += kColors * kEight;
            }
        }
        for (int t = 0; t < kAtOnce; ++t)
            for (int o = 0; o < kColors; ++o)
                for (int part = 0; part < kParts; ++part)
                    store(to + (t * kColors + o) * kEight + part * kWide, sum[t][o][part]);
    }

    void store_tile(int64_t down, int64_t across, const float* from, Range& range) const {
        const int64_t y = down * kOutputs, x = across * kOutputs;
        const int64_t left_rows = high_ - y, left_columns = wide_ - x;
        const int bottom = left_rows < kOutputs ? static_cast<int>(left_rows) : kOutputs;
        const int right = left_columns < kOutputs ? static_cast<int>(left_columns) : kOutputs;
        Color* to = static_cast<Color*>(layer_.result) + (y * wide_ + x) * kColors;
        for (int o = 0; o < kColors; ++o) {
            Floats<4> pairs[12];  // sums of lanes i and i + 4, for each of the nine pixels
            Wide half[kOutputs * kSide][kParts], pixels[kOutputs * kOutputs][kParts];
            for (int part = 0; part < kParts; ++part) {
                Wide products[kSide], column[kOutputs], row[kOutputs];
#pragma GCC unroll 5
                for (int j = 0; j < kSide; ++j) {
#pragma GCC unroll 5
                    for (int i = 0; i < kSide; ++i)
                        products[i] = load<Wide>(from + (i * kSide + j) * products_ + o * kEight +
                                                 part * kWide);
                    Transform::output<1, 1>(products, column);
#pragma GCC unroll 3
                    for (int i = 0; i < kOutputs; ++i) half[i * kSide + j][part] = column[i];
                }
#pragma GCC unroll 3
                for (int i = 0; i < kOutputs; ++i) {
#pragma GCC unroll 5
                    for (int j = 0; j < kSide; ++j) products[j] = half[i * kSide + j][part];
                    Transform::output<1, 1>(products, row);
#pragma GCC unroll 3
                    for (int j = 0; j < kOutputs; ++j) pixels[i * kOutputs + j][part] = row[j];
                }
            }
#pragma GCC unroll 9
            for (int i = 0; i < kOutputs * kOutputs; ++i) pairs[i] = folded(pixels[i]);
            pairs[9] = pairs[10] = pairs[11] = pairs[0];
            const auto bias = all<Floats<4>>(layer_.beta[o]);
            float values[12];
            for (int i = 0; i < 12; i += 4)
                store(values + i, bias + neighbors(neighbors(pairs[i], pairs[i + 1]),
                                                   neighbors(pairs[i + 2], pairs[i + 3])));
            if constexpr (kRounds) round(values, bottom, right, range);
            for (int i = 0; i < bottom; ++i)
                for (int j = 0; j < right; ++j)
                    to[(i * wide_ + j) * kColors + o] =
                        static_cast<Color>(values[i * kOutputs + j]);
        }
    }

    // Rounds the values of a tile to whole numbers from 0 to 255; NaN becomes 0. Pixels outside the
    // picture count as the first one.
    static STYLEFORGE_INLINE void round(float* values, int bottom, int right, Range& range) {
        if (bottom < kOutputs || right < kOutputs)
            for (int i = 0; i < kOutputs * kOutputs; ++i)
                if (i / kOutputs >= bottom || i % kOutputs >= right) values[i] = values[0];
        const auto black = Floats<4>{}, white = all<Floats<4>>(255), half = all<Floats<4>>(0.5f);
        for (int i = 0; i < 12; i += 4) {
            const auto value = load<Floats<4>>(values + i);
            range.add(value);
            const Floats<4> positive = value > black ? value : black;
            store(values + i, (positive < white ? positive : white) + half);
        }
    }

    static STYLEFORGE_INLINE Floats<4> folded(const Wide* eight) {
#if defined(__AVX__)
        const __m256 v = (__m256)eight[0];
        return (Floats<4>)_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
#else
        return eight[0] + eight[1];
#endif
    }

    // Returns a0 + a1, a2 + a3, b0 + b1, b2 + b3.
    static STYLEFORGE_INLINE Floats<4> neighbors(Floats<4> a, Floats<4> b) {
#if defined(__AVX__)
        return (Floats<4>)_mm_hadd_ps((__m128)a, (__m128)b);
#elif defined(__aarch64__)
        return (Floats<4>)vpaddq_f32((float32x4_t)a, (float32x4_t)b);
#else
        return Floats<4>{a[0] + a[1], a[2] + a[3], b[0] + b[1], b[2] + b[3]};
#endif
    }

    const Layer& layer_;
    int64_t inputs_;
    int64_t cells_;          // 3x3 filters along a side of the large filter
    int64_t high_, wide_;    // size of the result
    int64_t down_, across_;  // numbers of tiles
    int64_t strips_, bands_;
    int64_t line_, position_, products_;  // floats of a line of patches, of a position's matrices
    Range* ranges_;                       // one for each job
    Scratch scratch_;
};

}  // namespace styleforge::network
