// The format in which the driver's stub records launches: one per line, fields separated by spaces.
//
//     name  grid  block  dynamic shared bytes  their maximum  stream  attributes  arguments in hex
#pragma once

#include <stdio.h>
#include <string.h>

#define MOST_KERNELS 1024
#define MOST_ARGUMENTS 8

int stub_parameter_bytes = 0;  // size of the argument, for kernels with one; set before a launch

static char record[1 << 16];
static size_t length;

#define RECORD(...)                                                                        \
    do {                                                                                   \
        if (length < sizeof record)                                                        \
            length += (size_t)snprintf(record + length, sizeof record - length, __VA_ARGS__); \
    } while (0)

// Returns the launches since the last call.
const char* stub_take(void) {
    record[length < sizeof record ? length : sizeof record - 1] = 0;
    length = 0;
    return record;
}

// `sizes`: grid, block, dynamic shared memory. `most`: the kernel's limit on dynamic shared memory.
static void begin_launch(const char* name, const unsigned* sizes, int most, const void* stream) {
    RECORD("%s %u,%u,%u %u,%u,%u %u %d %p ", name, sizes[0], sizes[1], sizes[2], sizes[3],
           sizes[4], sizes[5], sizes[6], most, stream);
}

// `value`: a union; the attributes in use fill at most three numbers.
static void record_attribute(int id, const void* value) {
    const unsigned* numbers = (const unsigned*)value;
    RECORD("%d=%u", id, numbers[0]);
    if (id == 4) RECORD(",%u,%u", numbers[1], numbers[2]);  // the dimensions of a cluster
    RECORD(";");
}

// The argument sizes of kernels with several arguments.
static struct {
    char* name;
    int sizes[MOST_ARGUMENTS], count;
} expected[MOST_KERNELS];
static int expected_count;

void stub_expect(const char* name, const int* sizes, int count) {
    if (expected_count == MOST_KERNELS || count > MOST_ARGUMENTS) return;
    expected[expected_count].name = strdup(name);
    expected[expected_count].count = count;
    memcpy(expected[expected_count++].sizes, sizes, sizeof(int) * (size_t)count);
}

static void record_bytes(const void* argument, int size) {
    for (int i = 0; i < size; ++i) RECORD("%02x", ((const unsigned char*)argument)[i]);
}

static void end_launch(const char* name, void** arguments) {
    int k = 0;
    while (k < expected_count && strcmp(expected[k].name, name)) ++k;
    RECORD(" ");
    if (k == expected_count) {
        record_bytes(arguments[0], stub_parameter_bytes);
    } else {
        for (int i = 0; i < expected[k].count; ++i) {
            RECORD(i ? "," : "");
            record_bytes(arguments[i], expected[k].sizes[i]);
        }
    }
    RECORD("\n");
}
