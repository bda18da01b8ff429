// Impulses between cars that touch, and shifts out of each other: what impulse.py computes, in the same order.
#pragma once
#include <cstdint>

constexpr unsigned ALL = 0xffffffffu;
constexpr int WARPS = 4;  // games in a block: a warp solves one
constexpr int PAIRS = 6, ROWS = 5, LANES = 14, WHEELS = 8;
constexpr float HUGE_SPEED = 1e6f;

struct Constants {  // of impulse.py and car.py
  float mass, frame, wheel_spin, wheel_mass, friction, slop, share, largest;
  int sweeps, turns, box2d_turns;
};
constexpr int FACTS = 11;
static Constants constants(const float* f) {
  return {f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], (int)f[8], (int)f[9], (int)f[10]};
}

__device__ __forceinline__ float sum(float x) {
#pragma unroll
  for (int o = 8; o > 0; o >>= 1) x += __shfl_xor_sync(ALL, x, o);  // both halves of a warp hold the same
  return x;
}
__device__ __forceinline__ float clip(float x, float low, float high) { return fminf(fmaxf(x, low), high); }
__device__ __forceinline__ float lightness(int lane, Constants c) {
  const int i = lane % 7;
  return lane >= LANES ? 0.f : i < 2 ? 1 / c.mass : i == 2 ? 1 / c.frame : 1 / c.wheel_spin;
}
__device__ __forceinline__ int wheel_of(int lane) {  // the number of the wheel whose spin a lane holds, or -1
  return lane < LANES && lane % 7 >= 3 ? lane / 7 * 4 + lane % 7 - 3 : -1;
}

struct Contacts {  // of one pair of cars: `Pairs` of impulse.py
  const float* rows;
  const bool* active;
  const float *wheel, *strength;
};

// Each lane has a speed of its own and the impulse that acts on it: lane 4 i + j the row j of pair i of shapes
// (friction twice, apart twice), lane 24 + w the joint of wheel w (what pairs have as a fifth row). So no sum over
// velocities is needed until the end, and what is divided by is known beforehand.
constexpr int ROW_LANES = PAIRS * 4, SPEEDS = ROW_LANES + WHEELS;

struct Press {  // what `pressed` needs of its three numbers
  float k11, k12, k22, by_det, by_11, by_22;
  bool distinct;
};
struct Pair {
  int wheel;
  bool active[2];
  float k[ROWS][ROWS], c[4], by_44, by_rub[2], by_own[2], low, high;
  Press freely, held;  // with the wheel's motor as it wants, as it is
};
struct Solver {  // what a warp shares
  float response[SPEEDS][SPEEDS];  // of one lane's speed to another one's impulse
  Pair pair[PAIRS];
};

__device__ __forceinline__ Press press_of(float k11, float k12, float k22) {
  const float det = k11 * k22 - k12 * k12;
  return {k11, k12, k22, det > 0 ? 1 / det : 1.f, 1 / k11, 1 / k22, k11 * k11 < 1000 * det};
}

// Two impulses x >= 0 that leave speeds k x + b >= 0, a speed being 0 wherever an impulse is not.
__device__ __forceinline__ void pressed(const Press& k, float b1, float b2, float& x1, float& x2) {
  const float z1 = (k.k12 * b2 - k.k22 * b1) * k.by_det, z2 = (k.k12 * b1 - k.k11 * b2) * k.by_det;
  const float y1 = -b1 * k.by_11, y2 = -b2 * k.by_22;
  if (z1 >= 0 && z2 >= 0 && k.distinct) {
    x1 = z1, x2 = z2;
  } else if (y1 >= 0 && k.k12 * y1 + b2 >= 0) {
    x1 = y1, x2 = 0;
  } else {
    x1 = 0, x2 = y2 >= 0 && k.k12 * y2 + b1 >= 0 ? y2 : 0.f;
  }
}

// New friction at one point: as if the motor held, then with what it has.
__device__ __forceinline__ void rubbed(const Pair& p, const float* free, float* x, int i, float grip) {
  float b = free[i], turn = free[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (j == i) continue;
    b += p.k[i][j] * x[j];
    turn += p.k[4][j] * x[j];
  }
  const float guess = clip((p.c[i] * turn - b) * p.by_rub[i], -grip, grip);
  const float hold = clip((-turn - p.k[i][4] * guess) * p.by_44, p.low, p.high);
  x[i] = clip((-b - p.k[i][4] * hold) * p.by_own[i], -grip, grip);
  x[4] = hold;
}

// New impulses that keep both points apart: likewise.
__device__ __forceinline__ void parted(const Pair& p, const float* free, float* x) {
  float b[2], g[2];
#pragma unroll
  for (int i = 0; i < 2; i++)
    b[i] = p.active[i] ? free[2 + i] + p.k[2 + i][0] * x[0] + p.k[2 + i][1] * x[1] : HUGE_SPEED;
  const float turn = free[4] + p.k[4][0] * x[0] + p.k[4][1] * x[1];
  pressed(p.freely, b[0] - p.c[2] * turn, b[1] - p.c[3] * turn, g[0], g[1]);
  const float hold = clip((-turn - p.k[2][4] * g[0] - p.k[3][4] * g[1]) * p.by_44, p.low, p.high);
  pressed(p.held, b[0] + p.k[2][4] * hold, b[1] + p.k[3][4] * hold, x[2], x[3]);
  x[4] = hold;
}

// How a lane's speed comes from the velocities.
__device__ __forceinline__ float factor(const float* rows, int lane, int l) {
  if (lane < ROW_LANES) return rows[(lane / 4 * ROWS + lane % 4) * LANES + l];
  const int wheel = lane - ROW_LANES;
  return wheel_of(l) == wheel ? 1.f : l == (wheel < 4 ? 2 : 9) ? -1.f : 0.f;
}

// What each lane's speed answers to each lane's impulse; returns the speed itself, a joint's without its goal.
__device__ __forceinline__ float respond(Contacts at, const float* before, int lane, Solver& s, Constants c) {
  float mine[LANES], speed = 0;
#pragma unroll
  for (int l = 0; l < LANES; l++) {
    const float own = factor(at.rows, lane, l);
    speed += own * before[l];
    mine[l] = own * lightness(l, c);
  }
  for (int other = 0; other < ROW_LANES; other++) {
    const float* row = at.rows + (other / 4 * ROWS + other % 4) * LANES;
    float sum = 0;
#pragma unroll
    for (int l = 0; l < LANES; l++) sum += mine[l] * row[l];
    s.response[other][lane] = sum;
  }
#pragma unroll
  for (int w = 0; w < WHEELS; w++)
    s.response[ROW_LANES + w][lane] = mine[w / 4 * 7 + 3 + w % 4] - mine[w / 4 * 7 + 2];
  return lane < ROW_LANES ? speed : 0.f;  // motors have reached their speeds
}

__device__ __forceinline__ void prepare(Pair& p, Contacts at, int i, const Solver& s) {
  p.wheel = 0;
  for (int w = 1; w < WHEELS; w++)
    if (at.wheel[i * WHEELS + w] != 0) p.wheel = w;
  const int joint = ROW_LANES + p.wheel;
  for (int j = 0; j < ROWS; j++)
    for (int l = 0; l < ROWS; l++) p.k[j][l] = s.response[l < 4 ? i * 4 + l : joint][j < 4 ? i * 4 + j : joint];
  p.active[0] = at.active[i * 2], p.active[1] = at.active[i * 2 + 1];
  p.low = at.strength[p.wheel], p.high = at.strength[WHEELS + p.wheel];
  p.by_44 = 1 / p.k[4][4];
  for (int j = 0; j < 4; j++) p.c[j] = p.k[j][4] * p.by_44;
  for (int j = 0; j < 2; j++) p.by_rub[j] = 1 / (p.k[j][j] - p.c[j] * p.k[j][4]), p.by_own[j] = 1 / p.k[j][j];
  p.freely = press_of(p.k[2][2] - p.c[2] * p.k[2][4], p.k[2][3] - p.c[2] * p.k[3][4],
                      p.k[3][3] - p.c[3] * p.k[3][4]);
  p.held = press_of(p.k[2][2], p.k[2][3], p.k[3][3]);
}

// One pair of shapes: its new impulses, and what they do to each lane's speed.
__device__ __forceinline__ void settle_pair(const Solver& s, int i, int lane, float friction, float& speed,
                                            float& impulse) {
  const Pair& p = s.pair[i];
  const int joint = ROW_LANES + p.wheel;
  const float turn = __shfl_sync(ALL, speed, joint), hold = __shfl_sync(ALL, impulse, joint);
  if (!p.active[0] && !p.active[1]) {  // nothing to keep apart: only the motor has anything to do
    const float now = clip(-(turn - p.k[4][4] * hold) * p.by_44, p.low, p.high);
    speed += s.response[joint][lane] * (now - hold);
    if (lane == joint) impulse = now;
    return;
  }
  float old[ROWS], free[ROWS], now[ROWS];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    free[j] = __shfl_sync(ALL, speed, i * 4 + j);
    old[j] = __shfl_sync(ALL, impulse, i * 4 + j);
  }
  free[4] = turn, old[4] = hold;
#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    now[j] = old[j];
#pragma unroll
    for (int l = 0; l < ROWS; l++) free[j] -= p.k[j][l] * old[l];
  }
  rubbed(p, free, now, 0, friction * old[2]);
  rubbed(p, free, now, 1, friction * old[3]);
  parted(p, free, now);
#pragma unroll
  for (int j = 0; j < ROWS; j++) {
    const int row = j < 4 ? i * 4 + j : joint;
    speed += s.response[row][lane] * (now[j] - old[j]);
    if (lane == row) impulse = now[j];
  }
}

// The velocities after all impulses, from those before: velocity l on lanes l and l + 16.
__device__ __forceinline__ float solved(Contacts at, const float* before, int lane, Solver& s, Constants c) {
  const int v = lane % 16, wheel = lane - ROW_LANES;
  float u = v < LANES ? before[v] : 0.f;
  bool any = false;
#pragma unroll
  for (int i = 0; i < PAIRS * 2; i++) any |= at.active[i];
  if (!any) return u;
  float speed = respond(at, before, lane, s, c), impulse = 0;
  __syncwarp();
  if (lane < PAIRS) prepare(s.pair[lane], at, lane, s);
  __syncwarp();
  const float low = wheel < 0 ? 0.f : at.strength[wheel], high = wheel < 0 ? 0.f : at.strength[WHEELS + wheel];
  const float joint_mass = 1 / (1 / c.wheel_spin + 1 / c.frame);
  float response[WHEELS];
#pragma unroll
  for (int w = 0; w < WHEELS; w++) response[w] = s.response[ROW_LANES + w][lane];
  for (int n = 0; n < c.sweeps * PAIRS; n++) {
    settle_pair(s, n % PAIRS, lane, c.friction, speed, impulse);
    const float hold = clip(impulse - joint_mass * speed, low, high);
    const float twist = wheel < 0 ? 0.f : hold - impulse;
    if (wheel >= 0) impulse = hold;
#pragma unroll
    for (int w = 0; w < WHEELS; w++) speed += response[w] * __shfl_sync(ALL, twist, ROW_LANES + w);
  }
  float change = 0;
  for (int row = 0; row < SPEEDS; row++) {
    const float by = __shfl_sync(ALL, impulse, row);
    if (v < LANES) change += by * factor(at.rows, row, v);
  }
  return u + change * lightness(v, c);
}

// How both cars are shifted out of each other: lane l holds velocity l of 14, lanes beyond hold zeros.
__device__ __forceinline__ float separated(Contacts at, const float* gap, int lane, Constants c) {
  const float light = lightness(lane, c);
  float by = 0, along[PAIRS][2], gaps[PAIRS][2], share[PAIRS][2], both[PAIRS];
  bool on[PAIRS][2];
  bool deep = false;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
#pragma unroll
    for (int p = 0; p < 2; p++) {
      on[i][p] = at.active[i * 2 + p];
      gaps[i][p] = gap[i * 2 + p];
      deep |= on[i][p] && gaps[i][p] < -3 * c.slop;
    }
  }
  if (deep) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
#pragma unroll
      for (int p = 0; p < 2; p++) {
        along[i][p] = lane < LANES ? at.rows[(i * ROWS + 2 + p) * LANES + lane] : 0.f;
      }
      both[i] = sum(along[i][0] * along[i][1] * light);
      const bool wheels =
          __any_sync(ALL, wheel_of(lane) >= 0 && (along[i][0] != 0.f || along[i][1] != 0.f));
#pragma unroll
      for (int p = 0; p < 2; p++) {
        const float give = sum(along[i][p] * along[i][p] * light);
        const float slow = (float)c.turns / c.box2d_turns * (give + 1 / c.wheel_mass);
        share[i][p] = on[i][p] ? c.share / (wheels ? slow : give) : 0.f;
      }
    }
    for (int turn = 0; turn < c.turns && deep; turn++) {
#pragma unroll
      for (int i = 0; i < PAIRS; i++) {
        if (!on[i][0] && !on[i][1]) continue;
        const float most = c.largest / c.share;
        float over[2];
#pragma unroll
        for (int p = 0; p < 2; p++) over[p] = -c.slop - gaps[i][p] - sum(along[i][p] * by);
        const float first = clip(share[i][0] * over[0], 0.f, most * share[i][0]);
        const float second = clip(share[i][1] * (over[1] - both[i] * first), 0.f, most * share[i][1]);
        by += (first * along[i][0] + second * along[i][1]) * light;
      }
      deep = false;
#pragma unroll
      for (int i = 0; i < PAIRS * 2; i++) {
        const float now = gaps[i / 2][i % 2] + sum(along[i / 2][i % 2] * by);
        deep |= on[i / 2][i % 2] && now < -3 * c.slop;
      }
    }
  }
  return by;
}

__global__ void __launch_bounds__(32 * WARPS)
    solve_kernel(const float* rows, const bool* active, const float* wheel, const float* strength,
                 const float* before, float* after, int games, Constants c) {
  const int game = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 16;
  if (game >= games) return;
  __shared__ Solver solvers[WARPS];
  const Contacts at = {rows + game * PAIRS * ROWS * LANES, active + game * PAIRS * 2,
                       wheel + game * PAIRS * WHEELS, strength + game * 2 * WHEELS};
  const float now = solved(at, before + game * LANES, threadIdx.x % 32, solvers[threadIdx.x / 32], c);
  if (threadIdx.x % 32 < LANES) after[game * LANES + lane] = now;
}

__global__ void __launch_bounds__(32 * WARPS)
    separate_kernel(const float* rows, const bool* active, const float* gap, float* out, int games, Constants c) {
  const int game = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 16;
  if (game >= games) return;
  const Contacts at = {rows + game * PAIRS * ROWS * LANES, active + game * PAIRS * 2, nullptr, nullptr};
  const float by = separated(at, gap + game * PAIRS * 2, lane, c);
  if (threadIdx.x % 32 < LANES) out[game * LANES + lane] = by;
}
