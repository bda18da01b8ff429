// One step of the LSTM for many rows and networks: both products and the gates in one kernel, so that the
// pre-activations, four floats for each unit, never leave the registers. As in the recursion a warp owns 8
// hidden units; its two m16 tiles hold the gates i, f and g, o of them, so that a thread has all four gates of
// its unit. A CTA takes 32 units of one network and TILES * 8 rows, whose inputs lie in shared memory;
// weights come straight from the L2 cache, DEPTH pieces of 32 columns ahead: one where there are several tiles,
// as more CTAs then fit onto a processor.
#pragma once
#include "mma.cuh"
#include "native.h"

__device__ __forceinline__ void copy_async(void* to, const void* from, bool there) {  // else zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((uint32_t)__cvta_generic_to_shared(to)),
               "l"(from), "r"(there ? 16 : 0)
               : "memory");
}

// Elements from one row to the next in shared memory: half a line more than whole lines, so that 16-byte
// reads of 8 rows are free of bank conflicts.
__host__ __device__ constexpr int stride_of(int columns) { return columns + (columns % 64 == 32 ? 0 : 32); }

// x (N,B,F), h (N,B,H), c (N,B,H), w (N,4H,P+H), b (N,4H) -> next h and c. Of the columns of w the first P, a
// multiple of 32, are those of x, padded with zeros from F on. Its elements lie as they are read: for each warp's
// 8 units, each 32 columns and each gate, 8 columns for each thread.
template <int TILES>
__global__ void __launch_bounds__(NT, TILES < 2 ? 3 : 4)
    lstm_step(const bf16* __restrict__ x, const bf16* __restrict__ h, const float* __restrict__ c,
              const bf16* __restrict__ w, const float* __restrict__ b, bf16* __restrict__ hn,
              float* __restrict__ cn, int B, int F, int P) {
  constexpr int DEPTH = TILES < 2 ? 4 : 1, PAIR = TILES < 2 ? 1 : 2;
  extern __shared__ uint4 memory[];
  bf16* rows = (bf16*)memory;
  const int K = P + H, stride = stride_of(K), pieces = K / 32, warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
  const int g = lane >> 2, j = lane & 3, u = U * blockIdx.x + 8 * warp + g, n0 = 8 * TILES * blockIdx.y, left = B - n0;
  const size_t net = blockIdx.z, first = net * B + n0;
  const bf16* wp = w + (net * G + 4 * (u - g)) * K + 8 * lane;
  uint4 a[DEPTH][4];  // of each gate 8 columns
  auto fetch = [&](int k, uint4(&to)[4]) {
#pragma unroll
    for (int r = 0; r < 4; r++) to[r] = __ldg((const uint4*)(wp + 256 * (4 * k + r)));
  };
#pragma unroll
  for (int d = 0; d < DEPTH; d++)
    if (d < pieces) fetch(d, a[d]);
  for (int row = warp; row < 8 * TILES; row += NT / 32) {
    const bool there = row < left;
    const bf16 *xp = x + (there ? first + row : 0) * F, *hp = h + (there ? first + row : 0) * H;
    for (int i = 8 * lane; i < K; i += 256)
      copy_async(rows + row * stride + i, i < P ? xp + (i < F ? i : 0) : hp + i - P, there && (i >= P || i < F));
  }
  const float4 bias = *(const float4*)(b + net * G + 4 * u);
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  float d[TILES][2][4];
#pragma unroll
  for (int i = 0; i < TILES * 8; i++) (&d[0][0][0])[i] = 0.f;
  for (int k0 = 0; k0 < pieces; k0 += DEPTH) {
#pragma unroll
    for (int s = 0; s < DEPTH; s++) {
      const int k = k0 + s;
      if (k >= pieces) break;
      if (32 * k == P) {  // what comes from x is rounded before h is added, as in the other forms
#pragma unroll
        for (int t = 0; t < TILES; t++)
#pragma unroll
          for (int e = 0; e < 2; e++) {
            d[t][0][e] = __bfloat162float(__float2bfloat16(d[t][0][e] + bias.x));
            d[t][0][2 + e] = __bfloat162float(__float2bfloat16(d[t][0][2 + e] + bias.y));
            d[t][1][e] = __bfloat162float(__float2bfloat16(d[t][1][e] + bias.z));
            d[t][1][2 + e] = __bfloat162float(__float2bfloat16(d[t][1][2 + e] + bias.w));
          }
      }
      const uint4(&v)[4] = a[s];
      const uint32_t low[2][4] = {{v[0].x, v[1].x, v[0].y, v[1].y}, {v[2].x, v[3].x, v[2].y, v[3].y}};
      const uint32_t high[2][4] = {{v[0].z, v[1].z, v[0].w, v[1].w}, {v[2].z, v[3].z, v[2].w, v[3].w}};
      if (k + DEPTH < pieces) fetch(k + DEPTH, a[s]);
#pragma unroll
      for (int t = 0; t < TILES; t += PAIR) {  // two tiles at once: four sums that do not wait for each other
        if (8 * t >= left) break;
        uint4 y[PAIR];
#pragma unroll
        for (int i = 0; i < PAIR; i++) y[i] = *(const uint4*)(rows + (8 * (t + i) + g) * stride + 32 * k + 8 * j);
#pragma unroll
        for (int i = 0; i < 2 * PAIR; i++) mma(d[t + i / 2][i % 2], low[i % 2], y[i / 2].x, y[i / 2].y);
#pragma unroll
        for (int i = 0; i < 2 * PAIR; i++) mma(d[t + i / 2][i % 2], high[i % 2], y[i / 2].z, y[i / 2].w);
      }
    }
  }
  const size_t at = (first + 2 * j) * H + u;  // of the thread's first row; the next ones H further
  float before[TILES][2];
#pragma unroll
  for (int t = 0; t < TILES; t++)
#pragma unroll
    for (int e = 0; e < 2; e++) before[t][e] = 8 * t + 2 * j + e < left ? c[at + (8 * t + e) * H] : 0.f;
#pragma unroll
  for (int t = 0; t < TILES; t++)
#pragma unroll
    for (int e = 0; e < 2; e++) {
      if (8 * t + 2 * j + e >= left) continue;
      const float next = sigm(d[t][0][2 + e]) * before[t][e] + sigm(d[t][0][e]) * tanh_(d[t][1][e]);
      cn[at + (8 * t + e) * H] = next;
      hn[at + (8 * t + e) * H] = __float2bfloat16(sigm(d[t][1][2 + e]) * tanh_(next));
    }
}

template <int TILES>
static ffi::Error step_tiles(cudaStream_t st, Any x, Any h, Any c, Any w, Any b, Out hn, Out cn, int N, int B) {
  const int F = x.dimensions().back(), K = w.dimensions().back();
  const int bytes = 8 * TILES * stride_of(K) * sizeof(bf16);
  const cudaError_t e =
      cudaFuncSetAttribute(lstm_step<TILES>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (e != cudaSuccess) return ffi::Error::Internal(cudaGetErrorString(e));
  const dim3 grid(C, (B + 8 * TILES - 1) / (8 * TILES), N);
  lstm_step<TILES><<<grid, NT, bytes, st>>>(data<bf16>(x), data<bf16>(h), data<float>(c), data<bf16>(w),
                                           data<float>(b), data<bf16>(*hn), data<float>(*cn), B, F, K - H);
  return done();
}

static ffi::Error step(cudaStream_t st, Any x, Any h, Any c, Any w, Any b, Out hn, Out cn) {
  auto d = x.dimensions();  // (N,B,F)
  const int N = d[0], B = d[1];
  if (h.dimensions().back() != H || d[2] % 8 || w.dimensions().back() % 32)
    return ffi::Error::InvalidArgument("lstm: one step needs 256 units, 8 n inputs and 32 n columns of weights");
  constexpr int BUSY = 264;  // CTAs that keep an H200 busy: two for each processor
  auto fits = [&](int tiles) {
    return B > 4 * tiles && (int64_t)N * C * ((B + 8 * tiles - 1) / (8 * tiles)) >= BUSY;
  };
  if (fits(8)) return step_tiles<8>(st, x, h, c, w, b, hn, cn, N, B);
  if (fits(4)) return step_tiles<4>(st, x, h, c, w, b, hn, cn, N, B);
  return step_tiles<1>(st, x, h, c, w, b, hn, cn, N, B);
}
