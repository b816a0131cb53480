// A substitute for <math.h> for NVRTC, which declares its functions itself.
#pragma once

#define INFINITY __int_as_float(0x7f800000)
