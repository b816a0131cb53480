// The exported symbols of a CPU library: C names, and none of the C++ behind them.
#pragma once

#if defined(_WIN32)
#define STYLEFORGE_EXPORT extern "C" __declspec(dllexport)
#else
#define STYLEFORGE_EXPORT extern "C" __attribute__((visibility("default"), used))
#endif
