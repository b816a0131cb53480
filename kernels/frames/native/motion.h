// The global motion of a scene, and of the texture with it, between two small gray pictures: a
// search on copies of a quarter of their size, then the method of Lucas and Kanade (1981) over the
// whole picture, which gives little weight to anything that moves differently.
#pragma once

#include "texture.h"

namespace styleforge {

constexpr int kTracked = 128;   // pixels: maximum side of the small pictures
constexpr int kReach = 5;       // pixels of the quarter-size copies that the search reaches
constexpr int kSteps = 2 * kReach + 1, kShifts = kSteps * kSteps;
constexpr int kRefinedHalf = 3, kRefined = 2;  // refinements at each size
constexpr float kAlike = 0.7f;        // correlation below which the motion is unknown
constexpr float kLeastVariance = 4;   // of a picture whose motion can be measured
constexpr float kLeastShare = 0.25f;  // of the picture that both must show
constexpr float kStillPixels = 0.1f;  // pixels: a smaller motion counts as noise
// Share of the width: beyond it, motion is measured from a newer frame.
constexpr float kFarShare = 0.06f;
constexpr float kFades = 0.25f, kReturns = 0.05f;  // per frame: lost while unknown, regained after

// [height, width] uint8, dense.
struct GrayPicture {
    uint8_t* pixels;
    int height, width;
};

// A team's working memory for motion: an earlier picture and the newest one in three sizes. Reads
// may go one word past a picture.
struct MotionWork {
    alignas(16) uint8_t full[2][kTracked * kTracked];
    alignas(16) uint8_t half[2][kTracked * kTracked / 4];
    alignas(16) uint8_t quarter[2][kTracked * kTracked / 16 + 4];
    unsigned costs[kShifts];
    unsigned best;
};

struct Motion {
    float x, y;  // pixels to the right and down
};

// Teams that measure motion are a single thread, the threads of a block, or all threads of the
// blocks of a cluster: block `block` of `blocks`. Each block has its own MotionWork, with all
// pictures, and part of the shifts and of the pixels. `sync` is a barrier of the block, `sync_all`
// one of all blocks.

// Calls `use(row, column)` for a thread's pixels, at a stride of the team's size, without
// divisions.
template <typename Team, typename Use>
STYLEFORGE_PORTABLE void each_pixel(const Team& team, int rows, int columns, const Use& use) {
    if (columns == 0) return;
    const int down = team.size / columns, across = team.size % columns;
    for (int row = team.rank / columns, column = team.rank % columns; row < rows;) {
        use(row, column);
        row += down, column += across;
        if (column >= columns) column -= columns, ++row;
    }
}

// Copies bytes that do not overlap. block.cuh has a version for GPU teams, by words.
template <typename Team>
STYLEFORGE_PORTABLE void copy_bytes(const Team& team, const uint8_t* from, uint8_t* to, int count) {
    for (int i = team.rank; i < count; i += team.size) to[i] = from[i];
}

// Copies two pictures; block.cuh waits for both at once.
template <typename Team>
STYLEFORGE_PORTABLE void copy_both(const Team& team, const uint8_t* const (&from)[2],
                                   uint8_t* const (&to)[2], int count) {
    copy_bytes(team, from[0], to[0], count), copy_bytes(team, from[1], to[1], count);
}

// Sum of absolute differences of two rows, by one thread. block.cuh has the GPU version.
template <typename Team>
STYLEFORGE_PORTABLE unsigned row_difference(const Team&, const uint8_t* a, const uint8_t* b,
                                            int count) {
    unsigned sum = 0;
    for (int i = 0; i < count; ++i) {
        const int apart = a[i] - b[i];
        sum += apart < 0 ? -apart : apart;
    }
    return sum;
}

// The mean of the 2x2 pixels that a pixel of the halved picture covers.
STYLEFORGE_PORTABLE uint8_t halved_pixel(const GrayPicture& from, int row, int column) {
    const int left = column * 2, here = row * 2 * from.width;
    const int below = clamp(row * 2 + 1, 0, from.height - 1) * from.width;
    const int beside = clamp(left + 1, 0, from.width - 1);
    return static_cast<uint8_t>((from.pixels[here + left] + from.pixels[here + beside] +
                                 from.pixels[below + left] + from.pixels[below + beside] + 2) >>
                                2);
}

// block.cuh has the GPU version, by words.
template <typename Team>
STYLEFORGE_PORTABLE void halve(const Team& team, const GrayPicture& from, const GrayPicture& to) {
    each_pixel(team, to.height, to.width, [=](int row, int column) {
        to.pixels[row * to.width + column] = halved_pixel(from, row, column);
    });
}

// Mean difference of the common area, in 1/64 of a level, if `now` has moved by x and y.
STYLEFORGE_PORTABLE unsigned difference(const GrayPicture& before, const GrayPicture& now, int x,
                                        int y, unsigned sum) {
    const int rows = now.height - (y < 0 ? -y : y), columns = now.width - (x < 0 ? -x : x);
    const int least = static_cast<int>(kLeastShare * now.height * now.width);
    if (rows <= 0 || columns <= 0 || rows * columns < least) return 255 * 64;
    return sum * 64 / (rows * columns);
}

// Returns the best match of `now` in whole pixels, at most kReach from `around`.
template <typename Team>
STYLEFORGE_PORTABLE Motion searched(const Team& team, const GrayPicture& before,
                                    const GrayPicture& now, Motion around, MotionWork& work) {
    const int x0 = clamp(static_cast<int>(rintf(around.x)), -now.width / 2, now.width / 2) - kReach;
    const int y0 =
        clamp(static_cast<int>(rintf(around.y)), -now.height / 2, now.height / 2) - kReach;
    for (int i = team.rank; i < kShifts; i += team.size) work.costs[i] = 0;
    if (team.rank == 0) work.best = ~0u;
    team.sync();
    constexpr int kParts = Team::kParts;
    const int shifts = (kShifts - team.block + team.blocks - 1) / team.blocks;
    for (int i = team.rank; i < shifts * kParts; i += team.size) {
        const int which = i / kParts * team.blocks + team.block;
        const int x = x0 + which % kSteps, y = y0 + which / kSteps;
        unsigned sum = 0;
        for (int row = i % kParts; row < now.height; row += kParts) {
            if (row + y < 0 || row + y >= now.height) continue;
            const int begin = x < 0 ? -x : 0, end = x > 0 ? now.width - x : now.width;
            sum += row_difference(team, before.pixels + row * now.width + begin,
                                  now.pixels + (row + y) * now.width + x + begin, end - begin);
        }
        team.add(work.costs[which], sum);
    }
    team.sync();
    for (int i = team.rank; i < shifts; i += team.size) {
        const int which = i * team.blocks + team.block;
        team.least(work.best, difference(before, now, x0 + which % kSteps, y0 + which / kSteps,
                                         work.costs[which])
                                      << 8 |
                                  static_cast<unsigned>(which));
    }
    team.sync();
    const int best = static_cast<int>(team.least_of_all(work.best) & 255);
    return {static_cast<float>(x0 + best % kSteps), static_cast<float>(y0 + best / kSteps)};
}

// The sampling position in a moved picture: whole pixels, and weights of the four around.
struct Shift {
    int x, y;
    float right, down;
};

STYLEFORGE_PORTABLE Shift shift_of(Motion m) {
    const float x = floorf(m.x), y = floorf(m.y);
    return {static_cast<int>(x), static_cast<int>(y), m.x - x, m.y - y};
}

// The rows and columns of `before`, without its edge, that `now` also shows.
struct Both {
    int top, left, rows, columns;
};

STYLEFORGE_PORTABLE Both both_of(const GrayPicture& p, const Shift& s) {
    const int top = s.y < -1 ? -s.y : 1, left = s.x < -1 ? -s.x : 1;
    const int bottom = p.height - 1 - (s.y > 0 ? s.y : 0);
    const int right = p.width - 1 - (s.x > 0 ? s.x : 0);
    return {top, left, bottom > top ? bottom - top : 0, right > left ? right - left : 0};
}

STYLEFORGE_PORTABLE float sampled(const GrayPicture& p, const Shift& s, int row, int column) {
    const uint8_t* at = p.pixels + (row + s.y) * p.width + column + s.x;
    const float above = at[0] + (at[1] - at[0]) * s.right;
    const float below = at[p.width] + (at[p.width + 1] - at[p.width]) * s.right;
    return above + (below - above) * s.down;
}

// Runs one step towards the motion that aligns both pictures. Pixels that differ by more than
// `scale` levels have little weight; it is updated to the remaining difference.
template <typename Team>
STYLEFORGE_PORTABLE bool refine(const Team& team, const GrayPicture& before,
                                const GrayPicture& now, Motion& m, float& scale) {
    const Shift shift = shift_of(m);
    const Both both = both_of(now, shift);
    const float limit = scale * scale;
    float sums[6] = {0, 0, 0, 0, 0, 0};
    team.sum(both.rows, both.columns, sums, [=](int i, int j, float (&sum)[6]) {
        const int row = both.top + i, column = both.left + j;
        const uint8_t* at = before.pixels + row * before.width + column;
        const float across = (at[1] - at[-1]) * 0.5f;
        const float along = (at[before.width] - at[-before.width]) * 0.5f;
        const float wrong = at[0] - sampled(now, shift, row, column);
        const float share = limit / (limit + wrong * wrong);
        const float weight = share * share;
        sum[0] += weight * across * across, sum[1] += weight * across * along;
        sum[2] += weight * along * along;
        sum[3] += weight * across * wrong, sum[4] += weight * along * wrong;
        sum[5] += weight * (across * across + along * along) * fabsf(wrong);
    });
    const float xx = sums[0], xy = sums[1], yy = sums[2];
    if (!(xx + yy > 0)) return false;
    scale = fmaxf(3 * sums[5] / (xx + yy), 8.f);  // no motion is measurable without slopes
    // If the slopes have a single direction, the motion perpendicular to it is unknown and stays.
    const float half = (xx - yy) / 2, root = sqrtf(half * half + xy * xy);
    const float large = (xx + yy) / 2 + root, small = (xx + yy) / 2 - root;
    float x, y;
    if (small > 1e-3f * large) {
        const float determinant = xx * yy - xy * xy;
        x = (yy * sums[3] - xy * sums[4]) / determinant;
        y = (xx * sums[4] - xy * sums[3]) / determinant;
    } else {
        const float u = xx >= yy ? large - yy : xy, v = xx >= yy ? xy : large - xx;
        const float along = (u * sums[3] + v * sums[4]) / ((u * u + v * v) * large);
        x = u * along, y = v * along;
    }
    const float length = sqrtf(x * x + y * y);
    if (!(length >= 0)) return false;
    // beyond one pixel, the slopes are not reliable
    const float most = fminf(1.f, 1.f / fmaxf(length, 1e-6f));
    m.x += x * most, m.y += y * most;
    return true;
}

// Returns whether the common area is alike in both pictures and not empty.
template <typename Team>
STYLEFORGE_PORTABLE bool alike(const Team& team, const GrayPicture& before, const GrayPicture& now,
                               Motion m) {
    const Shift shift = shift_of(m);
    const Both both = both_of(now, shift);
    const int number = both.rows * both.columns;
    float sums[5] = {0, 0, 0, 0, 0};
    team.sum(both.rows, both.columns, sums, [=](int i, int j, float (&sum)[5]) {
        const int row = both.top + i, column = both.left + j;
        const float a = before.pixels[row * before.width + column] - 128.f;
        const float b = sampled(now, shift, row, column) - 128.f;
        sum[0] += a, sum[1] += b, sum[2] += a * a, sum[3] += b * b, sum[4] += a * b;
    });
    if (number < 16 || number < kLeastShare * now.height * now.width) return false;
    const float a = sums[0] / number, b = sums[1] / number;
    const float aa = sums[2] / number - a * a, bb = sums[3] / number - b * b;
    if (aa < kLeastVariance || bb < kLeastVariance) return false;
    return sums[4] / number - a * b >= kAlike * sqrtf(aa * bb);
}

// Picture `which` of MotionWork, 0 for the earlier one, after some halvings.
STYLEFORGE_PORTABLE GrayPicture picture_of(const TextureParams& p, MotionWork& work, int which,
                                           int halvings) {
    uint8_t* const smaller = halvings == 1 ? work.half[which] : work.quarter[which];
    const int height = p.small_height >> halvings, width = p.small_width >> halvings;
    return {halvings == 0 ? work.full[which] : smaller, height < 1 ? 1 : height,
            width < 1 ? 1 : width};
}

// Makes the smaller copies of both pictures. On a GPU, the loops here have a single copy of their
// body, because its instructions are read from memory.
template <typename Team>
STYLEFORGE_PORTABLE void halve_all(const Team& team, const TextureParams& p, MotionWork& work) {
    STYLEFORGE_ROLLED
    for (int i = 0; i < 4; ++i) {
        halve(team, picture_of(p, work, i % 2, i / 2), picture_of(p, work, i % 2, i / 2 + 1));
        if (i % 2) team.sync();
    }
}

// Measures how far the newest picture has moved from an earlier one, both in `work`; false if
// unknown. `m` is the approximate motion on entry.
template <typename Team>
STYLEFORGE_PORTABLE bool measured(const Team& team, const TextureParams& p, MotionWork& work,
                                  Motion& m) {
    halve_all(team, p, work);
    m = searched(team, picture_of(p, work, 0, 2), picture_of(p, work, 1, 2), {m.x / 4, m.y / 4},
                 work);
    m = {m.x * 2, m.y * 2};
    float scale = 48;
    STYLEFORGE_ROLLED
    for (int i = 0; i < kRefinedHalf + kRefined; ++i) {
        const int halvings = i < kRefinedHalf ? 1 : 0;
        const GrayPicture before = picture_of(p, work, 0, halvings);
        const GrayPicture now = picture_of(p, work, 1, halvings);
        if (!refine(team, before, now, m, scale)) return false;
        if (i != kRefinedHalf - 1) continue;
        if (!alike(team, before, now, m)) return false;
        m = {m.x * 2, m.y * 2};
    }
    return true;
}

STYLEFORGE_PORTABLE TextureState first_state(bool known) {
    TextureState s = {};
    s.presence = 1, s.known = known;
    return s;
}

// The remainder of a whole number.
template <int kSide>
STYLEFORGE_PORTABLE int place_in_tile(double whole) {
    const int rest = static_cast<int>(static_cast<long long>(whole) % kSide);
    return rest < 0 ? rest + kSide : rest;
}

// Places the first pixel of the picture in the tiles.
STYLEFORGE_PORTABLE void place_pattern(TextureState& s) {
    const double x = floor(-s.offset[0]), y = floor(-s.offset[1]);
    s.left[0] = place_in_tile<kFineSide>(x), s.top[0] = place_in_tile<kFineSide>(y);
    s.left[1] = place_in_tile<kCoarseSide>(x), s.top[1] = place_in_tile<kCoarseSide>(y);
    s.right = static_cast<float>(-s.offset[0] - x), s.down = static_cast<float>(-s.offset[1] - y);
}

// The measured motion of a scene, in pixels of the copies: since the reference, or `anew` since the
// previous frame.
struct SceneMotion {
    bool known, anew;
    Motion m;
};

// Moves the scene, and the pattern with it unless the motion is noise.
STYLEFORGE_PORTABLE void move_scene(const TextureParams& p, TextureState& s, SceneMotion scene) {
    if (scene.anew) s.anchor[0] = s.moved[0], s.anchor[1] = s.moved[1];
    if (!scene.known) {
        s.presence = fmaxf(0.f, s.presence - kFades);
        return;
    }
    const double wide = static_cast<double>(p.width) / p.small_width;
    const double tall = static_cast<double>(p.height) / p.small_height;
    s.presence = fminf(1.f, s.presence + kReturns);
    s.moved[0] = s.anchor[0] + scene.m.x * wide, s.moved[1] = s.anchor[1] + scene.m.y * tall;
    const double x = s.moved[0] - s.offset[0], y = s.moved[1] - s.offset[1];
    const double still = kStillPixels * fmax(wide, tall);
    const bool moves = x * x + y * y > still * still;
    s.followed = 1;
    s.shift[0] = moves ? x : 0, s.shift[1] = moves ? y : 0;
    if (moves) s.offset[0] = s.moved[0], s.offset[1] = s.moved[1];
}

// Measures the scene's motion since the reference. If that is too far, measures it since the
// previous frame. The newest frame and the reference are in `work`.
template <typename Team>
STYLEFORGE_PORTABLE SceneMotion measure_scene(const Team& team, const TextureParams& p,
                                              const TextureState& s, MotionWork& work) {
    const int count = p.small_height * p.small_width;
    Motion m = {static_cast<float>(s.moved[0] - s.anchor[0]) * p.small_width / p.width,
                static_cast<float>(s.moved[1] - s.anchor[1]) * p.small_height / p.height};
    STYLEFORGE_ROLLED
    for (int i = 0; i < 2; ++i) {
        team.sync_all();
        if (measured(team, p, work, m)) return {true, i > 0, m};
        if (i > 0) break;
        if (team.block == 0) copy_bytes(team, p.before, p.reference, count);
        team.sync();
        copy_bytes(team, p.before, work.full[0], count);
        m = {0, 0};
    }
    return {false, true, m};
}

// The state after a frame; `far` is whether the frame becomes the reference.
STYLEFORGE_PORTABLE TextureState next_state(const TextureParams& p, const TextureState& before,
                                            bool follows, const SceneMotion& scene, bool far) {
    TextureState s = follows ? before : first_state(p.continues);
    s.followed = 0;
    if (p.combed == nullptr) s.keeps_axes = 0;
    if (follows) move_scene(p, s, scene);
    if (follows && far) s.anchor[0] = s.moved[0], s.anchor[1] = s.moved[1];
    place_pattern(s);
    return s;
}

// Moves the pattern with the scene, or starts over if the frame does not continue another. One
// thread writes the state.
template <typename Team>
STYLEFORGE_PORTABLE void follow(const Team& team, const TextureParams& p, MotionWork& work) {
    auto& state = *static_cast<TextureState*>(p.state);
    const int count = p.small_height * p.small_width;
    SceneMotion scene = {false, false, {0, 0}};
    bool follows = p.continues && !p.first;
    if (follows) {
        follows = state.known;  // read together with the pictures
        copy_both(team, {p.reference, p.tracked}, {work.full[0], work.full[1]}, count);
        if (follows) scene = measure_scene(team, p, state, work);
    }
    team.sync_all();  // all threads have read the state
    if (team.block != 0) return;
    const float most = kFarShare * p.small_width;
    const bool far = !scene.known || scene.m.x * scene.m.x + scene.m.y * scene.m.y > most * most;
    if (team.rank == 0) {
        state = next_state(p, state, follows, scene, far);
        team.publish(state);
    }
    if (p.continues) copy_bytes(team, p.tracked, p.before, count);
    if (p.continues && far) copy_bytes(team, p.tracked, p.reference, count);
}

}  // namespace styleforge
