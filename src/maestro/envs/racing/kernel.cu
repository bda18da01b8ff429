// Two parts of racing that are long loops of little work, each as one kernel: impulses between cars that touch
// (impulse.py), and what two drivers see (view.py and raster.py). They compute what those files do, in the same
// order; sums may be rounded differently.
#include "native.h"

constexpr unsigned ALL = 0xffffffffu;
constexpr int WARPS = 4;  // games in a block: a warp solves one

// ---- impulses: lane l of a warp holds velocity l of 14, lanes beyond hold zeros ----
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

__device__ __forceinline__ float over(float a, float b) { return __fdividef(a, b); }  // off by 2 ulp, quick

// Two impulses x >= 0 that leave speeds k x + b >= 0, a speed being 0 wherever an impulse is not.
__device__ __forceinline__ void pressed(float k11, float k12, float k22, float b1, float b2, float& x1,
                                        float& x2) {
  const float det = k11 * k22 - k12 * k12, safe = det > 0 ? det : 1.f;
  const float z1 = over(k12 * b2 - k22 * b1, safe), z2 = over(k12 * b1 - k11 * b2, safe);
  const float y1 = over(-b1, k11), y2 = over(-b2, k22);
  if (z1 >= 0 && z2 >= 0 && k11 * k11 < 1000 * det) {
    x1 = z1, x2 = z2;
  } else if (y1 >= 0 && k12 * y1 + b2 >= 0) {
    x1 = y1, x2 = 0;
  } else {
    x1 = 0, x2 = y2 >= 0 && k12 * y2 + b1 >= 0 ? y2 : 0.f;
  }
}

struct Motor {
  float low, high;
};

// New friction at one point: as if the motor held, then with what it has.
__device__ __forceinline__ void rubbed(const float* k, const float* free, float* x, int i, float grip, Motor m) {
  float b = free[i], turn = free[4];
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (j == i) continue;
    b += k[i * ROWS + j] * x[j];
    turn += k[4 * ROWS + j] * x[j];
  }
  const float k44 = k[4 * ROWS + 4], ki4 = k[i * ROWS + 4], kii = k[i * ROWS + i], c = over(ki4, k44);
  const float guess = clip(over(c * turn - b, kii - c * ki4), -grip, grip);
  const float hold = clip(over(-turn - ki4 * guess, k44), m.low, m.high);
  x[i] = clip(over(-b - ki4 * hold, kii), -grip, grip);
  x[4] = hold;
}

// New impulses that keep both points apart: likewise.
__device__ __forceinline__ void parted(const float* k, const float* free, float* x, const bool* active, Motor m) {
  float b[2];
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float* row = k + (2 + i) * ROWS;
    b[i] = active[i] ? free[2 + i] + row[0] * x[0] + row[1] * x[1] : HUGE_SPEED;
  }
  const float turn = free[4] + k[4 * ROWS] * x[0] + k[4 * ROWS + 1] * x[1];
  const float k22 = k[2 * ROWS + 2], k23 = k[2 * ROWS + 3], k33 = k[3 * ROWS + 3];
  const float k24 = k[2 * ROWS + 4], k34 = k[3 * ROWS + 4], k44 = k[4 * ROWS + 4];
  const float c0 = over(k24, k44), c1 = over(k34, k44);
  float g0, g1;
  pressed(k22 - c0 * k24, k23 - c0 * k34, k33 - c1 * k34, b[0] - c0 * turn, b[1] - c1 * turn, g0, g1);
  const float hold = clip(over(-turn - k24 * g0 - k34 * g1, k44), m.low, m.high);
  pressed(k22, k23, k33, b[0] + k24 * hold, b[1] + k34 * hold, x[2], x[3]);
  x[4] = hold;
}

__device__ __forceinline__ float turning(float u, int lane) {  // of the wheel on its joint, on a wheel's lane
  const float first = __shfl_sync(ALL, u, 2), second = __shfl_sync(ALL, u, 9);
  return u - (lane < 7 ? first : second);
}

__global__ void __launch_bounds__(32 * WARPS)
    solve_kernel(const float* rows, const bool* active, const float* wheel, const float* strength,
                 const float* before, float* after, int games, Constants c) {
  const int game = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 16;
  const bool writes = threadIdx.x % 32 < LANES;
  if (game >= games) return;
  __shared__ float stiffness[WARPS][PAIRS * ROWS * ROWS];
  float* k = stiffness[threadIdx.x / 32];
  active += game * PAIRS * 2;
  float u = lane < LANES ? before[game * LANES + lane] : 0.f;
  bool on[PAIRS][2], any = false;
#pragma unroll
  for (int i = 0; i < PAIRS * 2; i++) any |= on[i / 2][i % 2] = active[i];
  if (!any) {
    if (writes) after[game * LANES + lane] = u;
    return;
  }
  const float light = lightness(lane, c);
  const int mine = wheel_of(lane);
  const float low = mine < 0 ? 0.f : strength[game * 2 * WHEELS + mine];
  const float high = mine < 0 ? 0.f : strength[game * 2 * WHEELS + WHEELS + mine];
  float r[PAIRS][ROWS], part[PAIRS], goal[PAIRS], x[PAIRS][4];
  Motor motor[PAIRS];
  const float joint = turning(u, lane);  // every lane takes part; what depends on the lane is chosen after it
  const float goals = mine < 0 ? 0.f : joint;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
      r[i][j] = lane < LANES ? rows[((game * PAIRS + i) * ROWS + j) * LANES + lane] : 0.f;
    }
    part[i] = mine < 0 ? 0.f : wheel[(game * PAIRS + i) * WHEELS + mine];
    motor[i] = {sum(part[i] * low), sum(part[i] * high)};
    goal[i] = sum(part[i] * goals);
#pragma unroll
    for (int j = 0; j < ROWS; j++) {
#pragma unroll
      for (int l = 0; l <= j; l++) {
        const float v = sum(r[i][j] * r[i][l] * light);
        k[(i * ROWS + j) * ROWS + l] = v;
        k[(i * ROWS + l) * ROWS + j] = v;
      }
    }
#pragma unroll
    for (int j = 0; j < 4; j++) x[i][j] = 0;
  }
  __syncwarp();
  const float joint_mass = 1 / (1 / c.wheel_spin + 1 / c.frame);
  float motors = 0;
  for (int sweep = 0; sweep < c.sweeps; sweep++) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
      const float* ki = k + i * ROWS * ROWS;
      const float held = sum(part[i] * motors);
      if (on[i][0] || on[i][1]) {
        float old[ROWS] = {x[i][0], x[i][1], x[i][2], x[i][3], held}, free[ROWS], now[ROWS];
#pragma unroll
        for (int j = 0; j < ROWS; j++) {
          free[j] = sum(r[i][j] * u) - (j == 4 ? goal[i] : 0.f);
#pragma unroll
          for (int l = 0; l < ROWS; l++) free[j] -= ki[j * ROWS + l] * old[l];
          now[j] = old[j];
        }
        rubbed(ki, free, now, 0, c.friction * old[2], motor[i]);
        rubbed(ki, free, now, 1, c.friction * old[3], motor[i]);
        parted(ki, free, now, on[i], motor[i]);
        float change = 0;
#pragma unroll
        for (int j = 0; j < ROWS; j++) change += (now[j] - old[j]) * r[i][j];
        u += change * light;
#pragma unroll
        for (int j = 0; j < 4; j++) x[i][j] = now[j];
        motors += (now[4] - held) * part[i];
      } else {  // nothing to keep apart: only the motor has anything to do
        const float k44 = ki[4 * ROWS + 4], turn = sum(r[i][4] * u) - goal[i] - k44 * held;
        const float change = clip(over(-turn, k44), motor[i].low, motor[i].high) - held;
        u += change * r[i][4] * light;
        motors += change * part[i];
      }
      const float turn = turning(u, lane);
      const float hold = mine < 0 ? 0.f : clip(motors - joint_mass * (turn - goals), low, high);
      const float twist = hold - motors;
      const float first = sum(lane < 7 ? twist : 0.f), second = sum(lane < 7 ? 0.f : twist);
      u += lane == 2 ? -first / c.frame : lane == 9 ? -second / c.frame : twist / c.wheel_spin;
      motors = hold;
    }
  }
  if (writes) after[game * LANES + lane] = u;
}

__global__ void __launch_bounds__(32 * WARPS)
    separate_kernel(const float* rows, const bool* active, const float* gap, float* out, int games, Constants c) {
  const int game = blockIdx.x * WARPS + threadIdx.x / 32, lane = threadIdx.x % 16;
  const bool writes = threadIdx.x % 32 < LANES;
  if (game >= games) return;
  const float light = lightness(lane, c);
  float by = 0, along[PAIRS][2], gaps[PAIRS][2], share[PAIRS][2], both[PAIRS];
  bool on[PAIRS][2];
  bool deep = false;
#pragma unroll
  for (int i = 0; i < PAIRS; i++) {
#pragma unroll
    for (int p = 0; p < 2; p++) {
      on[i][p] = active[(game * PAIRS + i) * 2 + p];
      gaps[i][p] = gap[(game * PAIRS + i) * 2 + p];
      deep |= on[i][p] && gaps[i][p] < -3 * c.slop;
    }
  }
  if (deep) {
#pragma unroll
    for (int i = 0; i < PAIRS; i++) {
#pragma unroll
      for (int p = 0; p < 2; p++) {
        along[i][p] = lane < LANES ? rows[((game * PAIRS + i) * ROWS + 2 + p) * LANES + lane] : 0.f;
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
  if (writes) out[game * LANES + lane] = by;
}

// ---- a picture: a block for each, a thread for each column, a bit for each row ----
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

// ---- what XLA calls; leading axes are games or pictures ----
using Facts = ffi::Span<const float>;
static bool fits(Any rows, int games, Facts facts) {
  return facts.size() == FACTS && (int64_t)rows.element_count() == (int64_t)games * PAIRS * ROWS * LANES;
}
static ffi::Error bad() {
  return ffi::Error::InvalidArgument("racing: six pairs of shapes, five rows, fourteen velocities");
}
static ffi::Error solve(cudaStream_t st, Any rows, Any active, Any wheel, Any strength, Any before, Out after,
                        Facts facts) {
  const int games = before.element_count() / LANES;
  if (!fits(rows, games, facts)) return bad();
  solve_kernel<<<(games + WARPS - 1) / WARPS, 32 * WARPS, 0, st>>>(
      data<float>(rows), data<bool>(active), data<float>(wheel), data<float>(strength), data<float>(before),
      data<float>(*after), games, constants(facts.begin()));
  return done();
}
static ffi::Error separate(cudaStream_t st, Any rows, Any active, Any gap, Out by, Facts facts) {
  const int games = by->element_count() / LANES;
  if (!fits(rows, games, facts)) return bad();
  separate_kernel<<<(games + WARPS - 1) / WARPS, 32 * WARPS, 0, st>>>(
      data<float>(rows), data<bool>(active), data<float>(gap), data<float>(*by), games, constants(facts.begin()));
  return done();
}
static ffi::Error pictures(cudaStream_t st, Any road, Any road_codes, Any cars, Any car_codes, Any poses,
                           Any half_sides, Out out, Facts camera, ffi::Span<const int32_t> colors) {
  const int tiles = road_codes.dimensions().back(), parts = car_codes.dimensions().back();
  const int games = road_codes.element_count() / tiles;
  const bool all = (int)car_codes.element_count() == games * SEATS * parts;
  if (camera.size() != 5 || colors.size() != COLORS * 3 || tiles + parts > MOST || !all)
    return ffi::Error::InvalidArgument("racing: two drivers, at most 4096 shapes");
  pictures_kernel<<<games * SEATS, THREADS, 0, st>>>(
      data<float>(road), data<int>(road_codes), data<float>(cars), data<int>(car_codes), data<float>(poses),
      data<float>(half_sides), data<uint8_t>(*out), tiles, parts, camera_of(camera.begin()),
      palette_of(colors.begin()));
  return done();
}
MAESTRO_KERNEL(RacingSolve, solve, bind<5, 1>().Attr<Facts>("facts"));
MAESTRO_KERNEL(RacingSeparate, separate, bind<3, 1>().Attr<Facts>("facts"));
MAESTRO_KERNEL(RacingPictures, pictures,
               bind<6, 1>().Attr<Facts>("camera").Attr<ffi::Span<const int32_t>>("colors"));
