// What the kernels of frame.cu do, by the same functions, compiled for the host by a test.
#include "frames_abi.cu"

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
    static constexpr int rank = 0, size = 1;

    void sync() const {}
    template <int kNumber>
    void sum(float (&)[kNumber]) const {}
    void add(unsigned& sum, unsigned value) const { sum += value; }
    void least(unsigned& least, unsigned value) const { if (value < least) least = value; }
};

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
    every(p->rows, p->columns, [&](int row, int column) { measure_cell(*p, row, column); });
    for (int bin = 0; bin < kBins; ++bin) p->counts[bin] = 0;
    p->state[kTicket] = p->state[kStill] = 0;
}

void frame_noise(const SmoothParams* p) {
    every(p->rows, p->columns, [&](int row, int column) {
        const float mean = window_mean(p->change, row, column, p->rows, p->columns);
        p->other[row * p->columns + column] = mean;
        ++p->counts[noise_bin(mean)];
    });
    const auto ranked = [&](unsigned rank) {
        int bin = 0;
        for (; rank >= p->counts[bin]; ++bin) rank -= p->counts[bin];
        return noise_of_bin(bin);
    };
    const unsigned count = static_cast<unsigned>(p->rows * p->columns);
    const float median = (ranked((count - 1) / 2) + ranked(count / 2)) / 2;
    std::memcpy(&p->state[kMedian], &median, sizeof(median));
}

void frame_still(const SmoothParams* p) {
    float median;
    std::memcpy(&median, &p->state[kMedian], sizeof(median));
    every(p->rows, p->columns, [&](int row, int column) {
        const float here = still(*p, row, column, median);
        p->share[row * p->columns + column] = share_of(*p, here);
        p->state[kStill] += static_cast<unsigned>(rintf(here * kStillOne));
    });
}

void frame_smooth(const SmoothParams* p) {
    every(p->height, p->width, [&](int row, int column) { smooth_pixel(*p, row, column); });
    p->state[kBegins] = begins(*p);
}

void frame_texture_cells(const TextureParams* p) {
    every(p->rows, p->columns, [&](int row, int column) { texture_cell(*p, row, column); });
    every(p->small_height, p->small_width,
          [&](int row, int column) { track_pixel(*p, row, column); });
}

void frame_texture_flat(const TextureParams* p) {
    static MotionWork motion;
    static FlatWork flat;
    follow(Alone(), *p, motion);
    for (int row = 0; row < p->rows; row += kTileRows)
        for (int column = 0; column < p->columns; column += kTileColumns)
            measure_flatness(Alone(), *p, row, column, flat);
}

void frame_texture_add(const TextureParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->textured, row * p->width + column, textured(*p, row, column));
    });
}

void frame_texture_enlarge(const EnlargeTextureParams* p) {
    every(p->height, p->width, [&](int row, int column) {
        store(p->textured, row * p->width + column, textured(*p, row, column));
    });
}

}  // extern "C"
