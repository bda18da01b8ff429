// A GPU for tests on a CPU: the threads of a block take turns, each running until it has to wait for others.
#pragma once
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <vector>
using std::max, std::min;
#define __global__ static
#define __device__ static
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static

struct Index {
  int x;
};
static Index threadIdx, blockIdx;
static int threads_of_block;

struct Barrier {
  int size, arrived = 0;
  int round() const { return arrived / size; }
};
struct Thread {
  ucontext_t context;  // to begin with; later its own jump, which is a hundred times as quick
  jmp_buf jump;
  std::vector<char> stack;
  bool begun = false, over = false;
  const Barrier* at = nullptr;  // what it waits for, and in which round
  int round = 0;
};
static std::vector<Thread> threads;
static jmp_buf scheduler;
static std::function<void()> body;
static std::vector<Barrier> warps;
static Barrier block;

// Wait until all have come; which round of theirs it was.
static int arrive(Barrier& barrier) {
  const int me = threadIdx.x, round = barrier.round();
  barrier.arrived++;
  threads[me].at = &barrier, threads[me].round = round;
  if (barrier.round() == round && !_setjmp(threads[me].jump)) _longjmp(scheduler, 1);
  threadIdx.x = me;
  return round;
}
static void run_one() {
  body();
  threads[threadIdx.x].over = true;
  _longjmp(scheduler, 1);
}

// What each lane of each warp brings to a meeting; two sets, as some lanes go on before others have read.
static float brought[2][32][32];
static float* meet(float x) {
  const int warp = threadIdx.x / 32, turn = warps[warp].round() % 2;
  brought[turn][warp][threadIdx.x % 32] = x;
  arrive(warps[warp]);
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
static void __syncthreads() { arrive(block); }
static void atomicAdd(int* to, int by) { *to += by; }
static void atomicOr(int* to, int bits) { *to |= bits; }
static int __ffs(uint32_t x) { return __builtin_ffs(x); }
static float __fdividef(float a, float b) { return a / b; }

static __attribute__((noinline)) void go_on(Thread& t) {
  if (_setjmp(scheduler)) return;
  if (t.begun) _longjmp(t.jump, 1);
  t.begun = true;
  setcontext(&t.context);
}

static void launch(int blocks, int count, std::function<void()> kernel) {
  body = kernel, threads_of_block = count;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
    threads.assign(count, {});
    warps.assign(count / 32, {32});
    block = {count};
    for (Thread& t : threads) {
      t.stack.resize(1 << 16);
      getcontext(&t.context);
      t.context.uc_stack.ss_sp = t.stack.data();
      t.context.uc_stack.ss_size = t.stack.size();
      makecontext(&t.context, run_one, 0);
    }
    for (int left = count; left > 0;) {
      bool moved = false;
      for (int i = 0; i < count; i++) {
        Thread& t = threads[i];
        if (t.over || (t.at && t.at->round() == t.round)) continue;
        threadIdx.x = i, moved = true;
        go_on(t);
        left -= t.over;
      }
      if (!moved) abort();  // all wait for threads that never come
    }
  }
}
