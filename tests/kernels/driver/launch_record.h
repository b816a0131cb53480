// How both stubs write down a launch: a line each, fields separated by a space.
//
//     name  grid  block  dynamic shared bytes  most of them  stream  attributes  argument in hex
#pragma once

#include <stdio.h>

int stub_parameter_bytes = 0;  // of the kernel's argument, set before a launch

static char record[1 << 16];
static size_t length;

#define RECORD(...)                                                                        \
    do {                                                                                   \
        if (length < sizeof record)                                                        \
            length += (size_t)snprintf(record + length, sizeof record - length, __VA_ARGS__); \
    } while (0)

// The launches since the last call.
const char* stub_take(void) {
    record[length < sizeof record ? length : sizeof record - 1] = 0;
    length = 0;
    return record;
}

// `sizes`: grid, block, dynamic shared memory. `most`: how much of that the kernel was allowed.
static void begin_launch(const char* name, const unsigned* sizes, int most, const void* stream) {
    RECORD("%s %u,%u,%u %u,%u,%u %u %d %p ", name, sizes[0], sizes[1], sizes[2], sizes[3],
           sizes[4], sizes[5], sizes[6], most, stream);
}

// `value`: a union, of which the attributes in use fill three numbers at most.
static void record_attribute(int id, const void* value) {
    const unsigned* numbers = (const unsigned*)value;
    RECORD("%d=%u", id, numbers[0]);
    if (id == 4) RECORD(",%u,%u", numbers[1], numbers[2]);  // the dimensions of a cluster
    RECORD(";");
}

static void end_launch(const void* argument) {
    RECORD(" ");
    for (int i = 0; i < stub_parameter_bytes; ++i)
        RECORD("%02x", ((const unsigned char*)argument)[i]);
    RECORD("\n");
}
