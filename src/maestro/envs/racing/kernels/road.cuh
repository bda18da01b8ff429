// Which tiles wheels touch, what lies under a car, which tile is nearest: what contact.py and place.py compute.
#pragma once
#include "car.cuh"

constexpr int MOST_TILES = 1024, ROAD_THREADS = 128;  // of a block

struct Road {  // of one game
  const float *surface, *point, *beta;  // [2 N, 4, 2] tiles, then kerbs; [N, 2]; [N]
  int tiles;
};
struct Box {  // around a tile and its kerb
  float left, right, low, high;
};
struct Tally {  // of a frame, counted by all threads
  int wheels;             // a bit for each of eight that is on the road
  int halves[2], fresh[2];  // halves of a tile's worth that a car has won; tiles that it is on for the first time
  int covered;            // tiles that any car has been on, in this frame and before
  int paved;              // a bit for each car whose origin is on a tile or a kerb
};

__device__ __forceinline__ Box around(const Road& road, int tile) {
  Box box = {INFINITY, -INFINITY, INFINITY, -INFINITY};
  for (int i = 0; i < 8; i++) {
    const float* corner = road.surface + (tile + i / 4 * road.tiles) * 8 + i % 4 * 2;
    box.left = fminf(box.left, corner[0]), box.right = fmaxf(box.right, corner[0]);
    box.low = fminf(box.low, corner[1]), box.high = fmaxf(box.high, corner[1]);
  }
  return box;
}
__device__ __forceinline__ bool within(const Box& box, float x, float y, float reach) {
  return x >= box.left - reach && x <= box.right + reach && y >= box.low - reach && y <= box.high + reach;
}

// How far points on a line are from everything within reach of its origin; negative if they are not.
__device__ __forceinline__ float gap_of(float low, float high, float reach) { return fmaxf(low, -high) - reach; }

// Whether no direction separates a wheel from a tile.
__device__ __forceinline__ bool touches(const float* tile, const Stand& st, int wheel, const Body& b) {
  const float c = st.wheel_c[wheel], s = st.wheel_s[wheel], wx = st.wheel_x[wheel], wy = st.wheel_y[wheel];
  float x[4], y[4], low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    x[i] = tile[2 * i] - wx, y[i] = tile[2 * i + 1] - wy;
    const float across = c * x[i] + s * y[i], along = c * y[i] - s * x[i];
    low[0] = fminf(low[0], across), high[0] = fmaxf(high[0], across);
    low[1] = fminf(low[1], along), high[1] = fmaxf(high[1], along);
  }
  float gap = fmaxf(gap_of(low[0], high[0], b.wheel[0]), gap_of(low[1], high[1], b.wheel[1]));
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int j = i + 1; j < 4; j++) {
      const float dx = tile[2 * j] - tile[2 * i], dy = tile[2 * j + 1] - tile[2 * i + 1];
      const float scale = 1 / fmaxf(sqrtf(dx * dx + dy * dy), 1e-6f), nx = -dy * scale, ny = dx * scale;
      const float reach = b.wheel[0] * fabsf(c * nx + s * ny) + b.wheel[1] * fabsf(c * ny - s * nx);
      float least = INFINITY, most = -INFINITY;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        if (k == j) continue;  // corners i and j are at the same place
        const float at = nx * x[k] + ny * y[k];
        least = fminf(least, at), most = fmaxf(most, at);
      }
      gap = fmaxf(gap, gap_of(least, most, reach));
    }
  }
  return gap <= b.skin;
}

// What two cars that are on a tile win; bits of `visited` and of `on` are cars.
__device__ __forceinline__ void score(Tally& tally, uint8_t& visited, int on, int first) {
  const int fresh = on & ~visited;
  for (int car = 0; car < 2; car++) {
    if (!(fresh >> car & 1)) continue;
    const bool beaten = visited >> (1 - car) & 1 || (fresh >> (1 - car) & 1 && car != first);
    atomicAdd(&tally.halves[car], beaten ? 1 : 2);
    atomicAdd(&tally.fresh[car], 1);
  }
  if (!visited && on) atomicAdd(&tally.covered, 1);
  visited |= on;
}

// Tiles under the wheels, by some warps: a lane looks for tiles nearby, then eight lanes test one with every wheel.
__device__ __forceinline__ void drive_over(const Road& road, const Box* boxes, uint8_t* visited, const Stand& st,
                                           const Body& b, int first, int warp, int warps, Tally& tally) {
  const int lane = threadIdx.x % 32;
  for (int begin = warp * 32; begin < road.tiles; begin += warps * 32) {
    const int mine = begin + lane;
    const bool near = mine < road.tiles && (within(boxes[mine], st.x[0], st.y[0], b.nearby) ||
                                            within(boxes[mine], st.x[1], st.y[1], b.nearby));
    for (uint32_t left = __ballot_sync(ALL, near); left;) {
      int tile = -1;
      for (int i = 0; i < 4; i++) {
        if (lane / 8 == i && left) tile = begin + __ffs(left) - 1;
        left &= left - 1;
      }
      const bool on = tile >= 0 && touches(road.surface + tile * 8, st, lane % 8, b);
      const uint32_t all = __ballot_sync(ALL, on), wheels = all >> lane / 8 * 8 & 255;
      if (lane % 8 == 0 && wheels) {
        score(tally, visited[tile], (wheels & 15 ? 1 : 0) | (wheels & 240 ? 2 : 0), first);
        atomicOr(&tally.wheels, (int)wheels);
      }
    }
  }
}

// Whether a place is within the convex hull of four corners.
__device__ __forceinline__ bool inside(const float* corners, const float* place) {
  float x[4], y[4];
  bool left = false, right = false;
#pragma unroll
  for (int i = 0; i < 4; i++) x[i] = corners[2 * i] - place[0], y[i] = corners[2 * i + 1] - place[1];
#pragma unroll
  for (int i = 0; i < 4; i++) {
#pragma unroll
    for (int j = i + 1; j < 4; j++) {
      const bool level = (y[i] > 0) != (y[j] > 0), beyond = (x[i] * y[j] > x[j] * y[i]) == (y[j] > 0);
      left |= level && !beyond;
      right |= level && beyond;
    }
  }
  return left && right;
}

struct Nearest {
  float away, tile;  // the tile as a number of the same kind, so that one exchange does for both
};

// What lies under two cars, and of a warp's tiles the nearest to each, by all threads.
__device__ __forceinline__ void look(const Road& road, const Box* boxes, const Stand& st, Nearest* nearest,
                                     Tally& tally) {
  for (int car = 0; car < 2; car++) {
    const float* place = st.origin[car];
    Nearest best = {INFINITY, 0};
    for (int tile = threadIdx.x; tile < road.tiles; tile += ROAD_THREADS) {
      const float dx = road.point[2 * tile] - place[0], dy = road.point[2 * tile + 1] - place[1];
      const float away = dx * dx + dy * dy;
      if (away < best.away) best = {away, (float)tile};
      if (within(boxes[tile], place[0], place[1], 0.f) &&
          (inside(road.surface + tile * 8, place) || inside(road.surface + (tile + road.tiles) * 8, place)))
        atomicOr(&tally.paved, 1 << car);
    }
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      const Nearest other = {__shfl_xor_sync(ALL, best.away, o), __shfl_xor_sync(ALL, best.tile, o)};
      if (other.away < best.away || (other.away == best.away && other.tile < best.tile)) best = other;
    }
    if (threadIdx.x % 32 == 0) nearest[car * (ROAD_THREADS / 32) + threadIdx.x / 32] = best;
  }
}
