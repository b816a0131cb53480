// The CUDA-only functions of frames/native/cluster.cuh. With EMULATED_CLUSTER, the blocks of a
// cluster run at once, each on a thread of the host with its own shared memory.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "emulator.h"

namespace emulator {

struct Cluster {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<char*> places;  // of one variable, in each block
    std::string failure;
    int waiting = 0;
    unsigned turn = 0;

    bool wait() {
        std::unique_lock<std::mutex> lock(mutex);
        if (++waiting == static_cast<int>(places.size())) {
            waiting = 0, ++turn;
            changed.notify_all();
        } else {
            const unsigned now = turn;
            changed.wait(lock, [&] { return turn != now || !failure.empty(); });
        }
        return failure.empty();
    }
    void fail(const std::string& what) {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = what;
        changed.notify_all();
    }
};

inline EMULATOR_STATE Cluster* cluster;
inline EMULATOR_STATE int rank_in_cluster;
inline EMULATOR_STATE char place;

// Runs a cluster of blocks of `count` threads; returns "" or what failed.
inline std::string run_cluster(const std::function<void()>& kernel, int blocks, int count) {
    Cluster all;
    all.places.resize(blocks);
    const auto run = [&](int rank) {
        cluster = &all, rank_in_cluster = rank, all.places[rank] = &place;
        shared_bytes = 0, in_turn = rank % 2 == 1, failure.clear(), body = kernel;
        meet = [&all] {
            if (!all.wait()) failure = "another block failed";
        };
        block_index = {unsigned(rank), 0, 0}, grid_size = {unsigned(blocks), 1, 1};
        block_size = {unsigned(count), 1, 1};
        meet();
        if (failure.empty()) run_block(count);
        if (!failure.empty()) all.fail(failure);
    };
    std::vector<std::thread> threads_of_host;
    for (int rank = 0; rank < blocks; ++rank) threads_of_host.emplace_back(run, rank);
    for (auto& each : threads_of_host) each.join();
    return all.failure;
}

}  // namespace emulator

namespace styleforge {

inline int cluster_rank() { return emulator::rank_in_cluster; }
inline void cluster_sync() { emulator::wait(emulator::State::kWaitsForCluster); }
inline void store_in_block(int rank, void* at, unsigned word) {
    const auto offset = static_cast<char*>(at) - &emulator::place;
    memcpy(emulator::cluster->places[rank] + offset, &word, sizeof word);
}
inline unsigned sum_of_warp(unsigned value) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    return value;
}

}  // namespace styleforge
