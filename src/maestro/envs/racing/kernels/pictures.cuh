// What two drivers see: what view.py and raster.py compute. A block for each picture, a thread for each column,
// a bit for each row.
#pragma once
#include "impulses.cuh"

constexpr int SIDE = 84, WORD = 28, WORDS = SIDE / WORD, PLANES = 4, THREADS = 96, MOST = 4096, SEATS = 2;
constexpr int BLACK = 6, LIGHT = 10, COLORS = 11;  // codes of view.py

struct Camera {  // of view.py
  float row, column, rows, columns, squares;
};
static Camera camera_of(const float* f) { return {f[0], f[1], f[2], f[3], f[4]}; }
struct Palette {
  uint8_t byte[COLORS * 3];
};
static Palette palette_of(const int* bytes) {
  Palette palette;
  for (int i = 0; i < COLORS * 3; i++) palette.byte[i] = bytes[i];
  return palette;
}
struct Pose {  // where a driver is and which way is up
  float x, y, up_x, up_y;
};
struct Quad {
  float row[4], column[4];
};

__device__ __forceinline__ Quad seen_from(const float* corners, Pose p, Camera c) {
  Quad q;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float x = corners[2 * i] - p.x, y = corners[2 * i + 1] - p.y;
    q.row[i] = c.row - c.rows * (x * p.up_x + y * p.up_y);
    q.column[i] = c.column + c.columns * (x * p.up_y - y * p.up_x);
  }
  return q;
}
__device__ __forceinline__ bool reaches(const float* v) {  // into the picture, along one axis
  return fminf(fminf(v[0], v[1]), fminf(v[2], v[3])) <= SIDE - 1 &&
         fmaxf(fmaxf(v[0], v[1]), fmaxf(v[2], v[3])) >= 0;
}
__device__ __forceinline__ uint32_t upto(int row, int word) {  // ones for the rows before this one
  return (1u << min(max(row - WORD * word, 0), WORD)) - 1u;
}

// From where to where a column crosses the convex hull of four points: [begin, end).
__device__ __forceinline__ void span(const Quad& q, float at, int& begin, int& end) {
  float low = INFINITY, high = -INFINITY;
#pragma unroll
  for (int a = 0; a < 4; a++) {
#pragma unroll
    for (int b = a + 1; b < 4; b++) {
      if ((q.column[a] <= at) != (q.column[b] <= at)) {
        const float slope = (q.row[b] - q.row[a]) / (q.column[b] - q.column[a]);
        const float where = q.row[a] + (at - q.column[a]) * slope;
        low = fminf(low, where);
        high = fmaxf(high, where);
      }
    }
  }
  begin = (int)fminf(fmaxf(ceilf(low), 0.f), (float)SIDE);
  end = (int)fminf(fmaxf(floorf(high) + 1, 0.f), (float)SIDE);
}

__device__ __forceinline__ int meadow(int row, int column, Pose p, Camera c, float half_side) {
  const float ahead = (c.row - row) / c.rows, aside = (column - c.column) / c.columns;
  const float x = p.x + ahead * p.up_x + aside * p.up_y, y = p.y + ahead * p.up_y - aside * p.up_x;
  if (fmaxf(fabsf(x), fabsf(y)) > half_side) return BLACK;
  const float scale = c.squares / half_side;
  return (((int)floorf(x * scale) | (int)floorf(y * scale)) & 1) == 0 ? LIGHT : 0;
}

// Shapes of the road are a game's, those of the cars (drawn over it) and the pose are each driver's own.
__global__ void __launch_bounds__(THREADS)
    pictures_kernel(const float* road, const int* road_codes, const float* cars, const int* car_codes,
                    const float* poses, const float* half_sides, uint8_t* out, int tiles, int parts,
                    Camera camera, Palette palette) {
  __shared__ uint32_t visible[MOST / 32];
  __shared__ uint8_t color[COLORS * 3];
  const int game = blockIdx.x / SEATS;
  road += (int64_t)game * tiles * 8;
  road_codes += (int64_t)game * tiles;
  cars += (int64_t)blockIdx.x * parts * 8;
  car_codes += (int64_t)blockIdx.x * parts;
  out += (int64_t)blockIdx.x * SIDE * SIDE * 3;
  const float* own = poses + blockIdx.x * 4;
  const Pose pose = {own[0], own[1], own[2], own[3]};
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int count = tiles + parts, words = (count + 31) / 32;
  auto corners = [&](int s) { return s < tiles ? road + s * 8 : cars + (s - tiles) * 8; };
  auto code_of = [&](int s) { return s < tiles ? road_codes[s] : car_codes[s - tiles]; };
  if (threadIdx.x < COLORS * 3) color[threadIdx.x] = palette.byte[threadIdx.x];
  for (int w = warp; w < words; w += THREADS / 32) {
    const int s = w * 32 + lane;
    bool in = s < count && code_of(s) > 0;
    if (in) {
      const Quad q = seen_from(corners(s), pose, camera);
      in = reaches(q.row) && reaches(q.column);
    }
    const uint32_t bits = __ballot_sync(ALL, in);
    if (lane == 0) visible[w] = bits;
  }
  __syncthreads();
  uint32_t plane[PLANES][WORDS] = {};
  for (int w = 0; w < words; w++) {
    for (uint32_t bits = visible[w]; bits; bits &= bits - 1) {
      const int s = w * 32 + __ffs(bits) - 1, code = code_of(s);
      int begin, end;
      span(seen_from(corners(s), pose, camera), threadIdx.x, begin, end);
#pragma unroll
      for (int v = 0; v < WORDS; v++) {
        const uint32_t mask = upto(end, v) & ~upto(begin, v);
#pragma unroll
        for (int n = 0; n < PLANES; n++) {
          plane[n][v] = code >> n & 1 ? plane[n][v] | mask : plane[n][v] & ~mask;
        }
      }
    }
  }
  if (threadIdx.x >= SIDE) return;
#pragma unroll
  for (int v = 0; v < WORDS; v++) {
    for (int r = 0; r < WORD; r++) {
      int code = 0;
#pragma unroll
      for (int n = 0; n < PLANES; n++) code |= (plane[n][v] >> r & 1) << n;
      const int row = v * WORD + r;
      if (code == 0) code = meadow(row, threadIdx.x, pose, camera, half_sides[game]);
#pragma unroll
      for (int channel = 0; channel < 3; channel++) {
        out[(row * SIDE + threadIdx.x) * 3 + channel] = color[code * 3 + channel];
      }
    }
  }
}
