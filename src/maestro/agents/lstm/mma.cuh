// What the LSTM's kernels share: sizes, a product of small matrices, and the gates' functions.
#pragma once
#include <cuda_bf16.h>

#include <cstdint>
typedef __nv_bfloat16 bf16;

constexpr int H = 256, G = 4 * H;            // hidden units, gate columns
constexpr int C = 8, U = H / C, NT = 4 * U;  // CTAs that share the units, units and threads of each

__device__ __forceinline__ void mma(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ float exp2_(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float rcp(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float sigm(float x) { return rcp(1.f + exp2_(-1.4426950408889634f * x)); }
__device__ __forceinline__ float tanh_(float x) {
  return 1.f - 2.f * rcp(1.f + exp2_(2.8853900817779268f * x));
}
__device__ __forceinline__ uint32_t pack(float a, float b) {
  __nv_bfloat162 v = __floats2bfloat162_rn(a, b);
  return *(uint32_t*)&v;
}
