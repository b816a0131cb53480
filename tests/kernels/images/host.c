// Calls an image of the CPU kernels on a system without PyTorch, the way kernels/ops calls it.
//
// host IMAGE OPENMP ENTRY THREADS CALLS RESULTS
//
// OPENMP is the OpenMP library that PyTorch installs on that system, and ENTRY its function that
// kernels/jit/openmp.py passes to the image. recorded.py writes CALLS; the bytes of all results go
// to RESULTS, in order. Prints the number of threads in a region of OPENMP.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
#else
#include <dlfcn.h>
#endif

// LLVM's `ident_t`, as in kernels/include/cpu/parallel.h.
typedef struct {
    int32_t reserved1, flags, reserved2, reserved3;
    const char* source;
} Place;

typedef void (*UseOpenMP)(void*, void*);
typedef void (*SetThreads)(int);
typedef void (*GompParallel)(void (*)(void*), void*, unsigned, unsigned);
typedef void (*KmpcForkCall)(Place*, int32_t, void (*)(int32_t*, int32_t*, ...), ...);
typedef int (*Run)(const void*);
typedef int (*RunKind)(int64_t, const void*);

static void fail(const char* what, const char* which) {
    fprintf(stderr, "%s: %s\n", what, which);
    exit(1);
}

static void* load(const char* path) {
#if defined(_WIN32)
    // As ctypes and PyTorch load a library: its own folder is searched for dependencies first.
    void* library =
        LoadLibraryExA(path, NULL,
                       LOAD_LIBRARY_SEARCH_DEFAULT_DIRS | LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR);
    if (!library) fprintf(stderr, "Windows' error %lu\n", GetLastError());
#else
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror());
#endif
    if (!library) fail("cannot be loaded", path);
    return library;
}

static void* function(void* library, const char* name) {
#if defined(_WIN32)
    void* found = (void*)GetProcAddress((HMODULE)library, name);
#else
    void* found = dlsym(library, name);
#endif
    if (!found) fail("no such function", name);
    return found;
}

static int in_region = 0;

static void count_gomp(void* unused) {
    (void)unused;
    __atomic_fetch_add(&in_region, 1, __ATOMIC_RELAXED);
}

static void count_kmpc(int32_t* thread, int32_t* bound, ...) {
    (void)thread, (void)bound;
    __atomic_fetch_add(&in_region, 1, __ATOMIC_RELAXED);
}

static FILE* open_file(const char* path, const char* mode) {
    FILE* file = fopen(path, mode);
    if (!file) fail("cannot be opened", path);
    return file;
}

static void read_bytes(void* to, size_t size, FILE* from) {
    if (size && fread(to, size, 1, from) != 1) fail("ends too early", "the calls");
}

// Reads a byte count and that many bytes, followed by a zero; null if the count is negative.
static void* read_block(FILE* from, int64_t* size) {
    int64_t bytes = 0;
    read_bytes(&bytes, sizeof(bytes), from);
    if (size) *size = bytes;
    if (bytes < 0) return NULL;
    char* block = malloc((size_t)bytes + 1);
    if (!block) fail("not enough memory", "for a tensor");
    read_bytes(block, (size_t)bytes, from);
    block[bytes] = 0;
    return block;
}

static int64_t read_number(FILE* from) {
    int64_t number = 0;
    read_bytes(&number, sizeof(number), from);
    return number;
}

// Reads a call, makes it, and writes its results. The call is a struct, into which the number of
// threads and the addresses of blocks are written; functions of several kinds take a number first.
static void run_call(void* image, FILE* calls, FILE* results, int64_t threads) {
    enum { kMost = 16 };
    void* blocks[kMost];
    int64_t sizes[kMost], writes[kMost];
    char* name = read_block(calls, NULL);
    const int64_t kind = read_number(calls);
    char* call = read_block(calls, NULL);
    memcpy(call + read_number(calls), &threads, sizeof(threads));
    const int64_t count = read_number(calls);
    if (count > kMost) fail("too many pointers", name);
    for (int64_t i = 0; i < count; ++i) {
        const int64_t at = read_number(calls);
        writes[i] = read_number(calls);
        blocks[i] = read_block(calls, &sizes[i]);
        memcpy(call + at, &blocks[i], sizeof(blocks[i]));
    }
    void* run = function(image, name);
    if (kind < 0 ? ((Run)run)(call) : ((RunKind)run)(kind, call)) fail("not enough memory", name);
    for (int64_t i = 0; i < count; ++i) {
        if (writes[i] && sizes[i] > 0 && fwrite(blocks[i], (size_t)sizes[i], 1, results) != 1)
            fail("cannot be written", "the results");
        free(blocks[i]);
    }
    free(name), free(call);
}

int main(int count, char** arguments) {
    if (count != 7) fail("wrong arguments", "IMAGE OPENMP ENTRY THREADS CALLS RESULTS");
    const char* entry = arguments[3];
    const int threads = atoi(arguments[4]);
    void* openmp = load(arguments[2]);
    void* image = load(arguments[1]);
    void* start = function(openmp, entry);
    const int gomp = strcmp(entry, "GOMP_parallel") == 0;

    ((SetThreads)function(openmp, "omp_set_num_threads"))(threads);
    if (gomp) {
        ((GompParallel)start)(count_gomp, NULL, (unsigned)threads, 0);
    } else {
        Place place = {0, 2, 0, 0, ";host;main;0;0;;"};
        ((KmpcForkCall)start)(&place, 0, count_kmpc);
    }
    printf("%d\n", in_region);

    ((UseOpenMP)function(image, "styleforge_use_openmp"))(gomp ? start : NULL, gomp ? NULL : start);
    FILE* calls = open_file(arguments[5], "rb");
    FILE* results = open_file(arguments[6], "wb");
    int64_t left = 0;
    for (read_bytes(&left, sizeof(left), calls); left > 0; --left)
        run_call(image, calls, results, threads);
    if (fclose(results)) fail("cannot be written", arguments[6]);
    fclose(calls);
    return 0;
}
