// Runs a CUDA kernel on the host: the threads of a block are threads, __syncthreads a barrier, blocks go one by one.
#include <barrier>
#include <cmath>
#include <memory>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __launch_bounds__(n)
#define __shared__
#define __restrict__

struct Index {
    int x;
};
static thread_local Index threadIdx;
static Index blockIdx;
static std::unique_ptr<std::barrier<>> everybody;
static void __syncthreads() { everybody->arrive_and_wait(); }
double shared[1 << 16];

template <class Kernel> void on_threads(int blocks, int threads, Kernel kernel) {
    for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
        for (double& value : shared) value = NAN;  // nothing of an earlier block helps
        everybody = std::make_unique<std::barrier<>>(threads);
        std::vector<std::thread> team;
        for (int i = 0; i < threads; i++)
            team.emplace_back([i, &kernel] {
                threadIdx.x = i;
                kernel();
            });
        for (std::thread& one : team) one.join();
    }
}
