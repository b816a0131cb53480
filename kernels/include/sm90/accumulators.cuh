// The accumulators of wgmma instructions, which inline assembly takes one by one: for each number
// of them, their places in the text, and the operands acc[0], acc[1], ... And assembly for sm_90a,
// which other architectures leave out.
#pragma once

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define STYLEFORGE_SM90A(...) asm volatile(__VA_ARGS__)
#else
#define STYLEFORGE_SM90A(...)
#endif

#define STYLEFORGE_WGMMA_PLACES_16 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define STYLEFORGE_WGMMA_PLACES_32 \
    STYLEFORGE_WGMMA_PLACES_16 \
    ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define STYLEFORGE_WGMMA_PLACES_36 \
    STYLEFORGE_WGMMA_PLACES_32 \
    ", %32, %33, %34, %35"
#define STYLEFORGE_WGMMA_PLACES_64 \
    STYLEFORGE_WGMMA_PLACES_36 \
    ", %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51" \
    ", %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define STYLEFORGE_WGMMA_PLACES_68 \
    STYLEFORGE_WGMMA_PLACES_64 \
    ", %64, %65, %66, %67"
#define STYLEFORGE_WGMMA_PLACES_128 \
    STYLEFORGE_WGMMA_PLACES_68 \
    ", %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, %83" \
    ", %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99" \
    ", %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113" \
    ", %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define STYLEFORGE_WGMMA_4(i) "+f"(acc[i]), "+f"(acc[i + 1]), "+f"(acc[i + 2]), "+f"(acc[i + 3])
#define STYLEFORGE_WGMMA_16(i) \
    STYLEFORGE_WGMMA_4(i), STYLEFORGE_WGMMA_4(i + 4), STYLEFORGE_WGMMA_4(i + 8), \
        STYLEFORGE_WGMMA_4(i + 12)
#define STYLEFORGE_WGMMA_ACC_16 STYLEFORGE_WGMMA_16(0)
#define STYLEFORGE_WGMMA_ACC_32 STYLEFORGE_WGMMA_ACC_16, STYLEFORGE_WGMMA_16(16)
#define STYLEFORGE_WGMMA_ACC_36 STYLEFORGE_WGMMA_ACC_32, STYLEFORGE_WGMMA_4(32)
#define STYLEFORGE_WGMMA_ACC_64 \
    STYLEFORGE_WGMMA_ACC_32, STYLEFORGE_WGMMA_16(32), STYLEFORGE_WGMMA_16(48)
#define STYLEFORGE_WGMMA_ACC_68 STYLEFORGE_WGMMA_ACC_64, STYLEFORGE_WGMMA_4(64)
#define STYLEFORGE_WGMMA_ACC_128 \
    STYLEFORGE_WGMMA_ACC_64, STYLEFORGE_WGMMA_16(64), STYLEFORGE_WGMMA_16(80), \
        STYLEFORGE_WGMMA_16(96), STYLEFORGE_WGMMA_16(112)
