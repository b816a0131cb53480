// Per-picture parameters of a launch over pictures; images.py mirrors
// them.
#pragma once

constexpr int kMostPictures = 48;

// Every supported driver accepts kernel arguments of 4 KB.
typedef struct {
    int boxes[5 * kMostPictures];  // first row and column, height, width, mirrored or not
    float colors[12 * kMostPictures];  // [3, 4], applied to red, green, blue and 1, from 0 to 1
    int each;  // whether each picture has its own; otherwise all use the first one's
} StyleforgePictures;
