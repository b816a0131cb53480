// What a launch over pictures is told of each; kernels/ops/model_inputs/images.py has the mirror.
#pragma once

constexpr int kMostPictures = 48;

// A kernel takes 4 KB of arguments from every driver that images are for.
typedef struct {
    int boxes[5 * kMostPictures];  // first row and column, height, width, whether it is mirrored
    float colors[12 * kMostPictures];  // [3, 4], applied to red, green, blue and 1, from 0 to 1
    int each;  // whether each picture has its own; otherwise all have those of the first
} StyleforgePictures;
