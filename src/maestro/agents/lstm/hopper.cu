// A masked LSTM over time for Hopper (sm_90a), hidden size 256: one cluster of 8 CTAs runs every step of 8
// sequences of one run. The recurrent weights stay in registers as bf16 mma fragments: a warp owns 8 hidden
// units, a CTA 32, the cluster all 256. Each step the CTAs swap h (forward) or partial sums of dh (backward)
// through distributed shared memory; st.async counts the bytes into the receiver's mbarrier, so there is no
// cluster barrier per step. Gates are interleaved: column 4*u+k of a pre-activation row is gate k (i, f, g,
// o) of hidden unit u.
#include "mma.cuh"
#include "native.h"
#include "step.cuh"

constexpr int NB = 8;  // sequences per cluster

__device__ __forceinline__ uint32_t
smem(const void* p) {  // volatile: kept in a register, not recomputed in the loop
  uint32_t r;
  asm volatile("mov.b32 %0, %1;" : "=r"(r) : "r"((uint32_t)__cvta_generic_to_shared(p)));
  return r;
}
__device__ __forceinline__ uint32_t peer(uint32_t a, uint32_t cta) {
  uint32_t r;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(cta));
  return r;
}
__device__ __forceinline__ uint32_t rank() {
  uint32_t r;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
__device__ __forceinline__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ __forceinline__ void send(uint32_t dst, uint32_t bar, uint32_t x, uint32_t y, uint32_t z,
                                     uint32_t w) {
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%2, %3, %4, %5}, [%1];" ::"r"(
          dst),
      "r"(bar), "r"(x), "r"(y), "r"(z), "r"(w)
      : "memory");
}

// Two buffers, two mbarriers: exchange number t (from 1) uses buffer t%2 and completes one phase of its
// mbarrier. Two are enough: nobody sends exchange t+1 before it has all of exchange t, so all readers of t-1
// are done.
struct Mail {
  uint32_t bar, bytes;
  __device__ __forceinline__ void expect(int s) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar + 8 * s), "r"(bytes)
                 : "memory");
  }
  __device__ __forceinline__ void init() {
    if (threadIdx.x == 0) {
      for (int s = 0; s < 2; s++)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(bar + 8 * s) : "memory");
      asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
      for (int s = 0; s < 2; s++) expect(s);
    }
    cluster_sync();
  }
  __device__ __forceinline__ void receive(int t, const int s) {  // s = t % 2
    asm volatile(
        "{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@!p bra L;\n}" ::"r"(
            bar + 8 * s),
        "r"(((t >> 1) + s + 1) & 1)
        : "memory");
    if (threadIdx.x == 0) expect(s);
  }
};

// Fragments of 16 rows x 16*K columns: p0, p1 are this thread's two rows. The contraction index is permuted
// so that a thread's share of 32 columns is 16 contiguous bytes, in A here and in B in product().
template <int K>
__device__ __forceinline__ void load_rows(uint32_t (&a)[K][4], const bf16* p0, const bf16* p1, int j) {
#pragma unroll
  for (int k = 0; k < K / 2; k++) {
    const uint4 x = *(const uint4*)(p0 + 32 * k + 8 * j), y = *(const uint4*)(p1 + 32 * k + 8 * j);
    a[2 * k][0] = x.x;
    a[2 * k][1] = y.x;
    a[2 * k][2] = x.y;
    a[2 * k][3] = y.y;
    a[2 * k + 1][0] = x.z;
    a[2 * k + 1][1] = y.z;
    a[2 * k + 1][2] = x.w;
    a[2 * k + 1][3] = y.w;
  }
}
// d[m] = (tile m of A) x B, B 8 columns wide: b points at this thread's first 16 bytes of it, the next ones
// STEP elements apart.
template <int STEP, int M, int K>
__device__ __forceinline__ void product(float (&d)[M][4], const uint32_t (&a)[M][K][4], const bf16* b) {
  constexpr int S = 8 / M;  // 8 independent sums hide the latency of an mma
  float e[S][M][4];
#pragma unroll
  for (int i = 0; i < S * M * 4; i++) (&e[0][0][0])[i] = 0.f;
#pragma unroll
  for (int k = 0; k < K / 2; k++) {
    const uint4 v = *(const uint4*)(b + STEP * k);
#pragma unroll
    for (int m = 0; m < M; m++) {
      mma(e[2 * k % S][m], a[m][2 * k], v.x, v.y);
      mma(e[(2 * k + 1) % S][m], a[m][2 * k + 1], v.z, v.w);
    }
  }
#pragma unroll
  for (int m = 0; m < M; m++)
#pragma unroll
    for (int i = 0; i < 4; i++) {
      d[m][i] = e[0][m][i] + e[1][m][i];
      if (S == 4) d[m][i] += e[2 % S][m][i] + e[3 % S][m][i];
    }
}

__device__ __forceinline__ float2 unpack(uint32_t v) { return __bfloat1622float2(*(__nv_bfloat162*)&v); }
__device__ __forceinline__ float4 quad(float4 v) { return v; }
__device__ __forceinline__ float4 quad(uint2 v) {
  const float2 a = unpack(v.x), b = unpack(v.y);
  return make_float4(a.x, a.y, b.x, b.y);
}
template <typename Z>
struct Four;
template <>
struct Four<float> {
  typedef float4 T;
};
template <>
struct Four<bf16> {
  typedef uint2 T;
};

// zx (R,T,B,4H), keep (R,T,B), h0 c0 (R,B,H), wt (R,4H,H) -> hs (R,T,B,H), cs (R,T,B,H), acts (R,T,B,4H)
template <typename Z>
__global__ void __cluster_dims__(C) __launch_bounds__(NT, 2)
    lstm_fwd(const Z* zx, const float* keep, const float* h0, const float* c0, const bf16* wt, bf16* hs,
             float* cs, bf16* acts, int T, int B) {
  // a warp's 8 units of 8 sequences are 128 contiguous bytes (one packet to each CTA); the swizzle keeps
  // 16-byte reads free of bank conflicts
  __shared__ alignas(128) bf16 h[2][H / 8][NB][8];
  __shared__ alignas(8) uint64_t bar[2];
  auto slot = [](int slice, int seq) { return seq ^ (2 * (slice & 3)); };
  const int q = rank(), id = blockIdx.x / C, r = id / (B / NB), n0 = id % (B / NB) * NB;
  const int lane = threadIdx.x & 31, slice = q * (U / 8) + (threadIdx.x >> 5), g = lane >> 2, j = lane & 3;
  const int u = 8 * slice + g, n = n0 + 2 * j;  // this thread: unit u of sequences n and n+1
  uint32_t a[2][16][4], dst[C / 4], dbar[C / 4];
  wt += (size_t)r * G * H + (size_t)(4 * u) * H;
  load_rows(a[0], wt, wt + H, j);
  load_rows(a[1], wt + 2 * H, wt + 3 * H, j);
  for (int i = threadIdx.x; i < NB * H; i += NT) {
    const int s = i / H, k = i % H;
    h[0][k / 8][slot(k / 8, s)][k % 8] = __float2bfloat16(h0[((size_t)r * B + n0 + s) * H + k]);
  }
  float c[2];
  for (int e = 0; e < 2; e++) c[e] = c0[((size_t)r * B + n + e) * H + u];
  Mail mail{smem(bar), NB * H * sizeof(bf16)};
  mail.init();
#pragma unroll
  for (int i = 0; i < C / 4; i++) {  // lane: sequence lane%8 of the warp's units, for CTA lane/8 + 4i
    dst[i] = peer(smem(&h[0][slice][slot(slice, lane & 7)][0]), (lane >> 3) + 4 * i);
    dbar[i] = peer(mail.bar, (lane >> 3) + 4 * i);
  }
  typedef typename Four<Z>::T Z4;
  const size_t p0 = (size_t)r * T * B + n, dG = (size_t)B * G, dH = (size_t)B * H;
  const Z* zp = zx + p0 * G + 4 * u;
  const float* kp = keep + p0;
  bf16* ap = acts + p0 * G + 4 * u;
  float* cp = cs + p0 * H + u;
  bf16* hp = hs + ((size_t)r * T * B + n0 + (lane & 7)) * H + 8 * slice;
  struct In {
    Z4 z[2];
    float2 k;
  } in[2];  // inputs are fetched two steps ahead
  auto fetch = [&](In& x) {
    x.z[0] = __ldcs((const Z4*)zp);
    x.z[1] = __ldcs((const Z4*)(zp + G));
    x.k = *(const float2*)kp;
    zp += dG;
    kp += B;
  };
  auto step = [&](int t, const int s, In& in) {
    const float4 z[2] = {quad(in.z[0]), quad(in.z[1])};
    const float k[2] = {in.k.x, in.k.y};
    if (t + 2 < T) fetch(in);
    if (t) mail.receive(t, s);
    float d[2][4], x[2][4], hn[2];
    product<256>(d, a, &h[s][j][slot(j, g)][0]);
#pragma unroll
    for (int e = 0; e < 2; e++) {
      x[e][0] = sigm(z[e].x + k[e] * d[0][e]);
      x[e][1] = sigm(z[e].y + k[e] * d[0][2 + e]);
      x[e][2] = tanh_(z[e].z + k[e] * d[1][e]);
      x[e][3] = sigm(z[e].w + k[e] * d[1][2 + e]);
      c[e] = x[e][1] * (c[e] * k[e]) + x[e][0] * x[e][2];
      hn[e] = x[e][3] * tanh_(c[e]);
    }
    uint32_t v = pack(hn[0], hn[1]), y[4];
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;"
                 : "+r"(v));  // now: sequence g, units 2j and 2j+1 of the slice
#pragma unroll
    for (int i = 0; i < 4; i++)
      y[i] = __shfl_sync(~0u, v, (lane & 7) * 4 + i);  // sequence lane%8, all 8 units
#pragma unroll
    for (int i = 0; i < C / 4; i++)
      send(dst[i] + (s ^ 1) * sizeof(h[0]), dbar[i] + (s ^ 1) * 8, y[0], y[1], y[2], y[3]);
    if (lane < 8) *(uint4*)hp = make_uint4(y[0], y[1], y[2], y[3]);
#pragma unroll
    for (int e = 0; e < 2; e++) {
      cp[e * H] = c[e];
      *(uint2*)(ap + e * G) = make_uint2(pack(x[e][0], x[e][1]), pack(x[e][2], x[e][3]));
    }
    hp += dH;
    cp += dH;
    ap += dG;
  };
  fetch(in[0]);
  if (T > 1) fetch(in[1]);
  for (int t = 0; t < T; t += 2) {
    step(t, 0, in[0]);
    if (t + 1 < T) step(t + 1, 1, in[1]);
  }
  mail.receive(T, T & 1);  // nobody leaves while a packet is on its way
  cluster_sync();
}

// acts, cs, keep, c0, w (R,H,4H), dhs (R,T,B,H) -> dz (R,T,B,4H), dh0 dc0 (R,B,H)
__global__ void __cluster_dims__(C) __launch_bounds__(NT, 2)
    lstm_bwd(const bf16* acts, const float* cs, const float* keep, const float* c0, const bf16* w,
             const bf16* dhs, bf16* dz, float* dh0, float* dc0, int T, int B) {
  constexpr int
      M = C / 2,
      K = U / 4;  // dz of the CTA's own units against all H rows of w: M row tiles per warp, K column tiles
  __shared__ alignas(128) bf16 dzs[2][NB][4 * U + 32];  // padded rows: no bank conflicts
  __shared__ alignas(128) float part[2][C][U][NB];
  __shared__ alignas(8) uint64_t bar[2];
  auto spot = [](int tile, int g, int odd) {
    return 16 * tile + 2 * g + (odd ^ (g >> 1 & 1));
  };  // unit 16*tile + g + 8*odd: whole packets, no bank conflicts
  const int q = rank(), id = blockIdx.x / C, r = id / (B / NB), n0 = id % (B / NB) * NB;
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, g = lane >> 2, j = lane & 3, odd = j & 1;
  const int lu = 8 * warp + g, u = q * U + lu, n = n0 + 2 * j, mine = spot(warp >> 1, g, warp & 1);
  uint32_t a[M][K][4], dst[M], dbar[M];
  w += (size_t)r * H * G + q * (4 * U);
  Mail mail{smem(bar), C * U * NB * sizeof(float)};
#pragma unroll
  for (int m = 0; m < M; m++) {
    const int first =
        16 * (M * warp + m);  // rows first .. first+15 of dh; their sums go to the CTA that owns those units
    load_rows(a[m], w + (size_t)(first + g) * G, w + (size_t)(first + g + 8) * G, j);
    dst[m] = peer(smem(&part[0][q][spot(first % U / 16, g, odd)][(j >> 1) * 4]), first / U);
    dbar[m] = peer(mail.bar, first / U);
  }
  mail.init();
  const size_t p0 = ((size_t)r * T + T - 1) * B + n, row0 = (size_t)r * B + n, dG = (size_t)B * G,
               dH = (size_t)B * H;
  const bf16 *ap = acts + p0 * G + 4 * u, *gp = dhs + p0 * H + u;
  const float *cp = cs + p0 * H + u, *kp = keep + p0;
  bf16* zp = dz + p0 * G + 4 * u;
  struct In {
    uint2 a[2];
    float cp[2];
    bf16 g[2];
    float2 k;
  } in[2];
  float c[2] = {cp[0], cp[H]}, dh[2], dc[2] = {0.f, 0.f}, kl[2] = {0.f, 0.f};
  auto fetch = [&](int t, In& x) {
    cp = t ? cp - dH : c0 + row0 * H + u;
#pragma unroll
    for (int e = 0; e < 2; e++) {
      x.a[e] = __ldcs((const uint2*)(ap + e * G));
      x.cp[e] = __ldcs(cp + e * H);
      x.g[e] = gp[e * H];
    }
    x.k = *(const float2*)kp;
    ap -= dG;
    gp -= dH;
    kp -= B;
  };
  auto receive = [&](int s, const int b) {  // dh from the step after in time, summed over the CTAs
    mail.receive(s, b);
    dh[0] = dh[1] = 0.f;
#pragma unroll
    for (int i = 0; i < C; i++) {
      const float2 v = *(const float2*)&part[b][i][mine][2 * j];
      dh[0] += v.x;
      dh[1] += v.y;
    }
    dh[0] *= kl[0];
    dh[1] *= kl[1];
  };
  auto step = [&](int s, const int b, In& in) {
    const int t = T - 1 - s;
    float up[2], ci[2], cf[2], cg[2], co[2], fk[2], gr[2];  // all that does not wait for dh
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const float4 y = quad(in.a[e]);
      const float i = y.x, f = y.y, gg = y.z, o = y.w, tc = tanh_(c[e]), k = e ? in.k.y : in.k.x;
      up[e] = o * (1.f - tc * tc);
      co[e] = tc * o * (1.f - o);
      ci[e] = gg * i * (1.f - i);
      cf[e] = in.cp[e] * k * f * (1.f - f);
      cg[e] = i * (1.f - gg * gg);
      fk[e] = f * k;
      gr[e] = __bfloat162float(in.g[e]);
      c[e] = in.cp[e];
    }
    const float k[2] = {in.k.x, in.k.y};
    if (t > 1) fetch(t - 2, in);
    if (s)
      receive(s, b);
    else
      dh[0] = dh[1] = 0.f;
    uint2 v[2];
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const float d = dh[e] + gr[e], dcc = dc[e] + d * up[e];
      v[e] = make_uint2(pack(dcc * ci[e], dcc * cf[e]), pack(dcc * cg[e], d * co[e]));
      *(uint2*)&dzs[b][2 * j + e][4 * lu] = v[e];
      dc[e] = dcc * fk[e];
      kl[e] = k[e];
    }
    __syncthreads();
    float d[M][4];
    product<32>(d, a, &dzs[b][g][8 * j]);
#pragma unroll
    for (int m = 0; m < M;
         m++) {  // a pair of lanes swaps so that each sends 16 bytes: even row g, odd row g + 8
      const float y0 = __shfl_xor_sync(~0u, odd ? d[m][0] : d[m][2], 1),
                  y1 = __shfl_xor_sync(~0u, odd ? d[m][1] : d[m][3], 1);
      const float x0 = odd ? y0 : d[m][0], x1 = odd ? y1 : d[m][1], x2 = odd ? d[m][2] : y0,
                  x3 = odd ? d[m][3] : y1;
      send(dst[m] + (b ^ 1) * sizeof(part[0]), dbar[m] + (b ^ 1) * 8, __float_as_uint(x0),
           __float_as_uint(x1), __float_as_uint(x2), __float_as_uint(x3));
    }
    *(uint2*)zp = v[0];
    *(uint2*)(zp + G) = v[1];
    zp -= dG;
  };
  fetch(T - 1, in[0]);
  if (T > 1) fetch(T - 2, in[1]);
  for (int s = 0; s < T; s += 2) {
    step(s, 0, in[0]);
    if (s + 1 < T) step(s + 1, 1, in[1]);
  }
  receive(T, T & 1);
  for (int e = 0; e < 2; e++) {
    dh0[(row0 + e) * H + u] = dh[e];
    dc0[(row0 + e) * H + u] = dc[e];
  }
  cluster_sync();
}

struct Size {
  int64_t clusters;
  int T, B;
  bool ok;
};
static Size size(Any keep, Any c0) {  // keep (...,T,B), c0 (...,B,H); leading axes are runs
  auto d = keep.dimensions();
  const size_t n = d.size();
  int64_t r = 1;
  for (size_t i = 0; i + 2 < n; i++) r *= d[i];
  return {r * (d[n - 1] / NB), (int)d[n - 2], (int)d[n - 1],
          d[n - 1] % NB == 0 && c0.dimensions().back() == H};
}
static ffi::Error bad() {
  return ffi::Error::InvalidArgument("lstm: hidden size must be 256 and the batch a multiple of 8");
}

static ffi::Error fwd(cudaStream_t st, Any zx, Any keep, Any h0, Any c0, Any wt, Out hs, Out cs, Out acts) {
  const Size n = size(keep, c0);
  if (!n.ok) return bad();
  auto go = [&](auto* z) {
    lstm_fwd<<<n.clusters * C, NT, 0, st>>>(z, data<float>(keep), data<float>(h0), data<float>(c0),
                                            data<bf16>(wt), data<bf16>(*hs), data<float>(*cs),
                                            data<bf16>(*acts), n.T, n.B);
  };
  if (zx.element_type() == ffi::DataType::F32)
    go((const float*)data<float>(zx));
  else
    go((const bf16*)data<bf16>(zx));
  return done();
}
static ffi::Error bwd(cudaStream_t st, Any acts, Any cs, Any keep, Any c0, Any w, Any dhs, Out dz, Out dh0,
                      Out dc0) {
  const Size n = size(keep, c0);
  if (!n.ok) return bad();
  lstm_bwd<<<n.clusters * C, NT, 0, st>>>(data<bf16>(acts), data<float>(cs), data<float>(keep),
                                          data<float>(c0), data<bf16>(w), data<bf16>(dhs), data<bf16>(*dz),
                                          data<float>(*dh0), data<float>(*dc0), n.T, n.B);
  return done();
}
MAESTRO_KERNEL(LstmForward, fwd, bind<5, 3>());
MAESTRO_KERNEL(LstmBackward, bwd, bind<6, 3>());
MAESTRO_KERNEL(LstmStep, step, bind<5, 2>());
