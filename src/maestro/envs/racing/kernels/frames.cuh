// All frames of a decision: what the scan over `Racing.frame` in game.py computes. A block for each game: its first
// warp moves the cars while the others look which tiles they are on; then all look where the cars have come to.
#pragma once
#include "contact.cuh"
#include "road.cuh"

constexpr int REPEAT = 8, TOTALS = 5, COUNTS = 4;
constexpr int RESIDENT = 4;  // blocks on a processor at a time, so that 512 games run at once on 128 of them

struct Rules {  // of game.py
  float lap, cost, lost, grass_penalty, backwards_penalty, most_astray;
};
struct Facts {
  Constants impulse;
  Body body;
  Rules rules;
  Shapes shapes;
};
template <typename T>
constexpr int numbers = sizeof(T) / sizeof(float);
template <typename T>
static T read(const float* from) {  // something that is nothing but numbers
  T to;
  for (int i = 0; i < numbers<T>; i++) ((float*)&to)[i] = from[i];
  return to;
}
struct Given {  // leading axes are games
  const float *surface, *point, *beta, *half_side, *cars, *actions;
  const bool *touching, *visited, *first;
  const int *limit, *frame, *astray;  // frames until the time is up; frames played
  int tiles;
};
struct Result {
  float *cars, *totals;  // totals: reward, score, tiles, grass, backwards, of both cars each
  bool *touching, *visited;
  int* counts;  // frame, astray of both cars, over
};
struct Game {  // what a block shares
  Touch touch;
  Shapes shapes;
  Stand stand[2];  // before and after a frame, in turns
  Box boxes[MOST_TILES];
  uint8_t visited[MOST_TILES];  // a bit for each car
  Nearest nearest[2 * ROAD_THREADS / 32];
  Tally tally;
  float totals[TOTALS][2], actions[6];
  int counts[COUNTS];
};

__device__ __forceinline__ void enter(Game& g, const Given& in, const Road& road, const Shapes& shapes, int game) {
  const int thread = threadIdx.x;
  const bool* visited = in.visited + (int64_t)game * 2 * road.tiles;
  for (int i = thread; i < numbers<Shapes>; i += ROAD_THREADS)
    ((float*)&g.shapes)[i] = ((const float*)&shapes)[i];
  if (thread < TOTALS * 2) g.totals[thread / 2][thread % 2] = 0;
  if (thread < 6) g.actions[thread] = in.actions[game * 6 + thread];
  if (thread == 0) {
    g.tally = {};
    g.counts[0] = in.frame[game], g.counts[1] = in.astray[game * 2], g.counts[2] = in.astray[game * 2 + 1];
    g.counts[3] = 0;
  }
  __syncthreads();
  int covered = 0;
  for (int i = thread; i < road.tiles; i += ROAD_THREADS) {
    g.boxes[i] = around(road, i);
    g.visited[i] = (visited[i] ? 1 : 0) | (visited[road.tiles + i] ? 2 : 0);
    covered += g.visited[i] != 0;
  }
  atomicAdd(&g.tally.covered, covered);
}

__device__ __forceinline__ void leave(const Game& g, const Result& out, int tiles, int game) {
  const int thread = threadIdx.x;
  if (thread < TOTALS * 2) out.totals[game * TOTALS * 2 + thread] = g.totals[thread / 2][thread % 2];
  if (thread < COUNTS) out.counts[game * COUNTS + thread] = g.counts[thread];
  for (int i = thread; i < 2 * tiles; i += ROAD_THREADS)
    out.visited[(int64_t)game * 2 * tiles + i] = g.visited[i % tiles] >> i / tiles & 1;
}

// A frame of both cars, by one warp, a lane for each wheel.
__device__ __forceinline__ void drive(Lane& l, Game& g, const Stand& st, bool on_road, const Facts& f) {
  const int lane = threadIdx.x, car = lane / 4 % 2;
  const float dx = st.x[1] - st.x[0], dy = st.y[1] - st.y[0];
  accelerate(l, g.actions + 3 * car, on_road, f.body);
  if (dx * dx + dy * dy < f.body.reach * f.body.reach)
    touching(l, g.touch, g.shapes, st, f.body, f.impulse, lane);
  else
    move(l, f.body);
}

// What a frame was worth and whether the game is over, by one thread.
__device__ __forceinline__ void settle(Game& g, const Stand& st, const Road& road, float half_side, Rules r) {
  bool over = g.tally.covered == road.tiles;
  for (int car = 0; car < 2; car++) {
    Nearest best = g.nearest[car * (ROAD_THREADS / 32)];
    for (int i = 1; i < ROAD_THREADS / 32; i++) {
      const Nearest other = g.nearest[car * (ROAD_THREADS / 32) + i];
      if (other.away < best.away || (other.away == best.away && other.tile < best.tile)) best = other;
    }
    const float beta = road.beta[(int)best.tile];
    const bool backwards = st.way[car][1] * cosf(beta) < st.way[car][0] * sinf(beta);
    const bool grass = !(g.tally.paved >> car & 1);
    const bool lost = fmaxf(fabsf(st.origin[car][0]), fabsf(st.origin[car][1])) > half_side;
    const float won = r.lap / 2 * g.tally.halves[car] / road.tiles;
    const float score = lost ? r.lost : won - r.cost;
    g.totals[0][car] = g.totals[0][car] + score - (r.grass_penalty * grass + r.backwards_penalty * backwards);
    g.totals[1][car] += score;
    g.totals[2][car] += (float)g.tally.fresh[car] / road.tiles;
    g.totals[3][car] += grass;
    g.totals[4][car] += backwards;
    g.counts[1 + car] = grass ? g.counts[1 + car] + 1 : 0;
    g.tally.halves[car] = g.tally.fresh[car] = 0;
    over |= lost;
  }
  g.tally.wheels = g.tally.paved = 0;
  g.counts[0]++;
  g.counts[3] = over || (r.most_astray > 0 && g.counts[1] >= r.most_astray);
}

__global__ void __launch_bounds__(ROAD_THREADS, RESIDENT) frames_kernel(Given in, Result out, Facts f) {
  __shared__ Game g;
  const int game = blockIdx.x, thread = threadIdx.x, warp = thread / 32, car = thread / 4 % 2;
  const Road road = {in.surface + (int64_t)game * in.tiles * 16, in.point + (int64_t)game * in.tiles * 2,
                     in.beta + (int64_t)game * in.tiles, in.tiles};
  const int limit = in.limit[game], first = in.first[game];
  Lane lane;
  bool on_road;
  if (warp == 0) {
    lane = loaded(in.cars + (game * 2 + car) * PARTS, thread % 4, f.body);
    on_road = in.touching[game * 8 + thread % 8];
    if (thread < 8) show(lane, car, f.body, g.stand[0]);
  }
  enter(g, in, road, f.shapes, game);
  __syncthreads();
  for (int n = 0; n < REPEAT && !g.counts[3] && g.counts[0] < limit; n++) {
    const Stand &before = g.stand[n % 2], &after = g.stand[(n + 1) % 2];
    if (warp == 0) {
      drive(lane, g, before, on_road, f);
      if (thread < 8) show(lane, car, f.body, g.stand[(n + 1) % 2]);
    } else {
      drive_over(road, g.boxes, g.visited, before, f.body, first, warp - 1, ROAD_THREADS / 32 - 1, g.tally);
    }
    __syncthreads();
    if (warp == 0) on_road = g.tally.wheels >> thread % 8 & 1;
    look(road, g.boxes, after, g.nearest, g.tally);
    __syncthreads();
    if (thread == 0) settle(g, after, road, in.half_side[game], f.rules);
    __syncthreads();
  }
  if (thread < 8) {
    store(lane, out.cars + (game * 2 + car) * PARTS);
    out.touching[game * 8 + thread] = on_road;
  }
  leave(g, out, road.tiles, game);
}
