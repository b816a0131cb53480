// The kernels around the network on the host, built from the same functions by a test.
#include "frames/native/frames_abi.cu"

#include <cstring>

using namespace styleforge;

namespace {

template <typename Use>
void every(int rows, int columns, Use use) {
    for (int row = 0; row < rows; ++row)
        for (int column = 0; column < columns; ++column) use(row, column);
}

void store(uint8_t* pixels, int at, Color c) {
    pixels[at * 3] = static_cast<uint8_t>(c.r);
    pixels[at * 3 + 1] = static_cast<uint8_t>(c.g);
    pixels[at * 3 + 2] = static_cast<uint8_t>(c.b);
}

// A team of one thread.
struct Alone {
    static constexpr int rank = 0, size = 1, block = 0, blocks = 1, kParts = 4;

    void sync() const {}
    void sync_all() const {}
    template <int kNumber, typename Add>
    void sum(int rows, int columns, float (&values)[kNumber], const Add& add) const {
        every(rows, columns, [&](int row, int column) { add(row, column, values); });
    }
    void add(unsigned& sum, unsigned value) const { sum += value; }
    void least(unsigned& least, unsigned value) const { if (value < least) least = value; }
    unsigned least_of_all(unsigned own) const { return own; }
    void publish(TextureState& state) const { state.placed = 1; }
};

template <typename Use>
void every_of_paintings(const MovingParams& p, Use use) {
    for (int which = 0; which < p.count; ++which)
        every(p.rows, p.columns,
              [&](int row, int column) { use(p.paintings[which], row, column); });
}

// Computes the means of trusts, from one plane into the other.
void soften(const MovingParams& p, int from) {
    const int cells = p.rows * p.columns;
    every_of_paintings(p, [&](const MovingPainting& painting, int row, int column) {
        auto* trusts = static_cast<Trust*>(painting.trusts);
        trusts[(1 - from) * cells + row * p.columns + column] =
            softened(p, trusts + from * cells, row, column);
    });
}

}  // namespace

extern "C" {

void frame_resize(const ResizeParams* p) {
    every(p->small_height, p->small_width, [&](int row, int column) {
        store(p->small, row * p->small_width + column,
              resized({p->frame, p->height, p->width}, row, column, p->small_height,
                      p->small_width));
    });
}

void frame_screen(const ScreenParams* p) {
    every(p->screen_height, p->screen_width, [&](int row, int column) {
        p->screen[row * p->screen_width + column] = screen_color(
            resized({p->picture, p->height, p->width}, row, column, p->screen_height,
                    p->screen_width));
    });
}

void frame_slopes(const SlopesParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        static_cast<Slope*>(p->slopes)[row * p->width + column] = slope(
            {p->result, p->height, p->width}, {p->small, p->height, p->width}, row, column);
    });
}

void frame_finish(const FinishParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->picture, row * p->width + column, finished(*p, row, column));
    });
}

void frame_cells(const SmoothParams* p) {
    const unsigned side = p->state[kSide];
    every(p->rows, p->columns, [&](int row, int column) {
        const GraySums mine = measure_cell(*p, row, column);
        for (int i = 0; i < kSums; ++i) p->sums[side * kSums + i] += mine.values[i];
    });
    for (int i = 0; i < kSums; ++i) p->sums[(1 - side) * kSums + i] = 0;
    for (int bin = 0; bin < kBins; ++bin) p->counts[bin] = 0;
    p->state[kTicket] = p->state[kSame] = 0;
}

void frame_halve(const HalveParams* p) {
    every(2 * p->small_height, p->small_width,
          [&](int row, int column) { halve_pixel(*p, row, column); });
}

void frame_flow(const FlowParams* p) {
    static FlowWork work;
    for (int row = 0; row < p->height; row += kFlowRows)
        for (int column = 0; column < p->width; column += kFlowColumns)
            estimate_flow(Alone(), *p, row, column, work);
}

void frame_median(const MedianParams* p) {
    every(p->height, p->width, [&](int row, int column) { median_pixel(*p, row, column); });
}

void frame_change(const SmoothParams* p) {
    every(p->rows, p->columns, [&](int row, int column) { measure_change(*p, row, column); });
}

void frame_noise(const SmoothParams* p) {
    every(p->rows, p->columns, [&](int row, int column) {
        ++p->counts[noise_bin(measure_around(*p, row, column))];
    });
    const auto ranked = [&](unsigned rank) {
        int bin = 0;
        for (; rank >= p->counts[bin]; ++bin) rank -= p->counts[bin];
        return noise_of_bin(bin);
    };
    const unsigned count = static_cast<unsigned>(p->rows * p->columns);
    const float median = (ranked((count - 1) / 2) + ranked(count / 2)) / 2;
    std::memcpy(&p->state[kMedian], &median, sizeof(median));
    p->state[kSide] = 1 - p->state[kSide];
}

void frame_same(const SmoothParams* p) {
    float median;
    std::memcpy(&median, &p->state[kMedian], sizeof(median));
    every(p->rows, p->columns, [&](int row, int column) {
        const float here = same(*p, row, column, median);
        p->share[row * p->columns + column] = share_of(*p, row, column, here);
        p->state[kSame] += static_cast<unsigned>(rintf(here * kStillOne));
    });
}

void frame_smooth(const SmoothParams* p) {
    const Role role = role_of(*p);
    every(p->height, p->width, [&](int row, int column) { smooth_pixel(*p, role, row, column); });
    every(p->rows, p->columns,
          [&](int row, int column) { accumulate_cell(*p, role, row, column); });
    p->state[kMissed + p->state[kSide]] = role == kFlash;
}

void frame_moving_cells(const MovingParams* p) {
    p->certainty[0] = p->certainty[1] = 0;
    every(p->rows, p->columns, [&](int row, int column) {
        for (int which = 0; which < p->count; ++which)
            p->paintings[which].pair[row * p->columns + column] =
                gray_cell({p->source, p->height, p->width}, row, column, p->rows, p->columns);
    });
}

void frame_moving_changes(const MovingParams* p) {
    every_of_paintings(*p, [&](const MovingPainting& painting, int row, int column) {
        static_cast<Changes*>(painting.changes)[row * p->columns + column] =
            changes_at(*p, painting, row, column);
    });
}

void frame_moving_trusts(const MovingParams* p) {
    every_of_paintings(*p, [&](const MovingPainting& painting, int row, int column) {
        static_cast<Trust*>(painting.trusts)[row * p->columns + column] =
            trust_at(*p, painting, row, column);
    });
}

void frame_moving_soften(const MovingParams* p) { soften(*p, 0); }

void frame_moving_sum(const MovingParams* p) {
    soften(*p, 1);
    every_of_paintings(*p, [&](const MovingPainting& painting, int row, int column) {
        p->certainty[&painting - p->paintings] += certain_steps(
            static_cast<Trust*>(painting.trusts)[row * p->columns + column].certain);
    });
}

void frame_moving_show(const MovingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->shown, row * p->width + column, shown_painting(*p, row, column));
    });
}

void frame_matting_see(const MattingParams* p) {
    every(p->tile_rows, p->tile_columns, [&](int row, int column) { see_tile(*p, row, column); });
}

void frame_matting_compare(const MattingParams* p) {
    every(p->tile_rows, p->tile_columns,
          [&](int row, int column) { compare_tile(*p, row, column); });
}

void frame_matting_unlike(const MattingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        p->unlike[row * p->width + column] = unlike_scene(*p, row, column);
    });
}

void frame_matting_rough(const MattingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        steady_pixel(*p, row, column, rough_by_difference(*p, row, column));
    });
}

void frame_matting_steady(const MattingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        steady_pixel(*p, row, column, p->rough[row * p->width + column]);
    });
}

void frame_matting_fit(const MattingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        static_cast<MatteSlope*>(p->fitted)[row * p->width + column] = fitted_at(*p, row, column);
    });
}

void frame_matting_guide(const MattingParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        static_cast<MatteSlope*>(p->slopes)[row * p->width + column] = slope_at(*p, row, column);
    });
}

void frame_matting_mix(const MixParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->mixed, row * p->width + column, mixed_pixel(*p, row, column));
    });
}

void frame_texture_cells(const TextureParams* p) {
    const Picture picture = {p->picture, p->height, p->width};
    every(p->rows, p->columns, [&](int row, int column) {
        keep_cell(*p, row, column, gray_area(picture, row, column, p->rows, p->columns));
    });
    every(p->small_height, p->small_width, [&](int row, int column) {
        keep_pixel(*p, row, column,
                   gray_area(picture, row, column, p->small_height, p->small_width));
    });
}

void frame_texture_flat(const TextureParams* p, const CombParams* c) {
    static MotionWork motion;
    static FlatWork flat;
    follow(Alone(), *p, motion);
    for (int row = 0; row < p->rows; row += kTileRows)
        for (int column = 0; column < p->columns; column += kTileColumns)
            measure_flatness(Alone(), *p, row, column, flat);
    if (c->mode == kFollow)
        every(c->small_height, c->small_width, [&](int row, int column) {
            static_cast<Blurred*>(c->lines)[row * c->small_width + column] =
                blurred_lines(*c, row, column);
        });
    if (c->mode != 0)
        every(c->small_height, c->small_width, [&](int row, int column) {
            static_cast<Axis*>(c->axes)[row * c->small_width + column] = axis_at(*c, row, column);
        });
}

void frame_texture_add(const TextureParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->textured, row * p->width + column,
              lighter(pixel({p->picture, p->height, p->width}, row, column),
                      levels_at(*p, row, column)));
    });
}

void frame_texture_comb(const TextureParams* p, const CombParams* c) {
    const int width = half_of(c->width);
    every(noise_rows(*c), noise_columns(*c), [&](int row, int column) {
        c->noise[row * noise_columns(*c) + column] = summed_noise(*c, row, column);
    });
    every(half_of(c->height), width, [&](int row, int column) {
        c->combed[row * width + column] = combed_at(*c, row, column);
    });
    keep_axes(*c, 0, 1);
    frame_texture_add(p);
}

void frame_texture_enlarge(const EnlargeTextureParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->textured, row * p->width + column, textured(*p, row, column));
    });
}

}  // extern "C"
