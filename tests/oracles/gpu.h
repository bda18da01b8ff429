// A GPU for tests on a CPU: the threads of a block take turns, each running until it has to wait for others.
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>
using std::max, std::min;
#define __global__ static
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static

struct Index {
  int x;
};
static Index threadIdx, blockIdx;
static int threads_of_block, arrived;

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  bool over = false;
  int meetings = 0;  // with its warp
};
static std::vector<Thread> threads;
static ucontext_t scheduler;
static std::function<void()> body;

static void wait() {
  const int me = threadIdx.x;
  swapcontext(&threads[me].context, &scheduler);
  threadIdx.x = me;
}
static void run_one() {
  body();
  threads[threadIdx.x].over = true;
  swapcontext(&threads[threadIdx.x].context, &scheduler);
}

// What each lane of each warp brings to a meeting; two sets, as some lanes go on before others have read.
static float brought[2][32][32];
static float* meet(float x) {
  const int warp = threadIdx.x / 32, turn = threads[threadIdx.x].meetings++ % 2;
  brought[turn][warp][threadIdx.x % 32] = x;
  wait();
  return brought[turn][warp];
}
static float __shfl_xor_sync(unsigned, float x, int mask) { return meet(x)[(threadIdx.x % 32) ^ mask]; }
static float __shfl_sync(unsigned, float x, int lane) { return meet(x)[lane]; }
static uint32_t __ballot_sync(unsigned, bool b) {
  const float* all = meet(b);
  uint32_t bits = 0;
  for (int i = 0; i < 32; i++) bits |= (uint32_t)(all[i] != 0) << i;
  return bits;
}
static bool __any_sync(unsigned mask, bool b) { return __ballot_sync(mask, b) != 0; }
static void __syncwarp() { meet(0); }
static void __syncthreads() {
  arrived++;
  while (arrived % threads_of_block) wait();
}
static int __ffs(uint32_t x) { return __builtin_ffs(x); }
static float __fdividef(float a, float b) { return a / b; }

static void launch(int blocks, int count, std::function<void()> kernel) {
  body = kernel, threads_of_block = count;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    threads.assign(count, {});
    arrived = 0;
    for (Thread& t : threads) {
      t.stack.resize(1 << 16);
      getcontext(&t.context);
      t.context.uc_stack.ss_sp = t.stack.data();
      t.context.uc_stack.ss_size = t.stack.size();
      makecontext(&t.context, run_one, 0);
    }
    for (bool left = true; left;) {
      left = false;
      for (int i = 0; i < count; i++) {
        if (threads[i].over) continue;
        threadIdx.x = i;
        swapcontext(&scheduler, &threads[i].context);
        left |= !threads[i].over;
      }
    }
  }
}
