// What NVRTC, which declares the functions of <math.h> itself, is given as that header.
#pragma once

#define INFINITY __int_as_float(0x7f800000)
