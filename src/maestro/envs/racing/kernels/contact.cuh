// Where two cars touch, and what follows: what manifold.py and collision.py compute, by one warp.
#pragma once
#include "car.cuh"

constexpr int SHAPES = 8, EDGES = 64;  // of a car; edges of all its shapes, eight each

struct Shapes {  // of manifold.py: edges with x first, what each shape turns about, how many corners it has
  float start[2][EDGES], end[2][EDGES], normal[2][EDGES], pivot[2][SHAPES], corners[SHAPES];
};
struct Outline {
  float start[2][EDGES], end[2][EDGES], normal[2][EDGES];
};
struct Face {  // the edge of a shape that another shape is furthest outside of, and how far
  float away;
  int edge;
};
struct Touch {  // what a warp shares
  Outline car[2];
  Face from[2][SHAPES * SHAPES];  // [whose edge][shape of the first car, of the second]
  int chosen[PAIRS];
  bool active[PAIRS * 2];
  float rows[PAIRS * ROWS * LANES], wheel[PAIRS * WHEELS], strength[2 * WHEELS];
  float gap[PAIRS * 2], u[LANES];
  Solver solver;
};
struct Vector {
  float x, y;
};
__device__ __forceinline__ float dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y; }
__device__ __forceinline__ float cross(Vector a, Vector b) { return a.x * b.y - a.y * b.x; }
__device__ __forceinline__ Vector turned(float c, float s, float x, float y) {
  return {c * x - s * y, s * x + c * y};
}
__device__ __forceinline__ Vector at(const float (&of)[2][EDGES], int n) { return {of[0][n], of[1][n]}; }
__device__ __forceinline__ void put(float (&of)[2][EDGES], int n, Vector v) { of[0][n] = v.x, of[1][n] = v.y; }
__device__ __forceinline__ Vector pivot(const Shapes& f, const Stand& st, int car, int shape) {
  return turned(st.c[car], st.s[car], f.pivot[0][shape], f.pivot[1][shape]);
}

// One edge of one car, from the first car's center of mass.
__device__ __forceinline__ void outline(const Shapes& f, const Stand& st, int car, int n, Outline& to) {
  const int shape = n / 8, wheel = car * 4 + shape - 4;
  const float c = shape < 4 ? st.c[car] : st.wheel_c[wheel], s = shape < 4 ? st.s[car] : st.wheel_s[wheel];
  const Vector about = pivot(f, st, car, shape);
  const float x = about.x + (st.x[car] - st.x[0]), y = about.y + (st.y[car] - st.y[0]);
  const Vector start = turned(c, s, f.start[0][n], f.start[1][n]), end = turned(c, s, f.end[0][n], f.end[1][n]);
  put(to.start, n, {start.x + x, start.y + y});
  put(to.end, n, {end.x + x, end.y + y});
  put(to.normal, n, turned(c, s, f.normal[0][n], f.normal[1][n]));
}

__device__ __forceinline__ Face furthest(const Shapes& f, const Outline& a, int i, const Outline& b, int j) {
  Face best = {-INFINITY, 0};
  for (int e = 0; e < (int)f.corners[i]; e++) {
    const Vector normal = at(a.normal, i * 8 + e);
    float least = INFINITY;
    for (int k = 0; k < (int)f.corners[j]; k++) least = fminf(least, dot(normal, at(b.start, j * 8 + k)));
    const float away = least - dot(normal, at(a.start, i * 8 + e));
    if (away > best.away) best = {away, e};
  }
  return best;
}
__device__ __forceinline__ float apart(const Touch& t, int pair) {  // two wheels never touch
  if (pair / 8 >= 4 && pair % 8 >= 4) return INFINITY;
  return fmaxf(t.from[0][pair].away, t.from[1][pair].away);
}

// The pairs of shapes that overlap most, the deepest first.
__device__ __forceinline__ void choose(Touch& t, const Shapes& f, const Stand& st, int lane) {
  for (int n = lane; n < 2 * EDGES; n += 32) outline(f, st, n / EDGES, n % EDGES, t.car[n / EDGES]);
  __syncwarp();
  for (int n = lane; n < SHAPES * SHAPES; n += 32) {
    if (n / 8 >= 4 && n % 8 >= 4) continue;
    t.from[0][n] = furthest(f, t.car[0], n / 8, t.car[1], n % 8);
    t.from[1][n] = furthest(f, t.car[1], n % 8, t.car[0], n / 8);
  }
  __syncwarp();
  for (int n = lane; n < SHAPES * SHAPES; n += 32) {
    const float mine = apart(t, n);
    int rank = 0;
    for (int m = 0; m < SHAPES * SHAPES; m++) {
      const float other = apart(t, m);
      rank += other < mine || (other == mine && m < n);
    }
    if (rank < PAIRS) t.chosen[rank] = n;
  }
  __syncwarp();
}

// A segment cut where it goes too far along a direction; whether anything is left of it.
__device__ __forceinline__ bool clipped(Vector* ends, Vector way, float most) {
  const Vector old[2] = {ends[0], ends[1]};
  const float over[2] = {dot(old[0], way) - most, dot(old[1], way) - most};
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const float share = over[i] / (over[0] == over[1] ? 1.f : over[i] - over[1 - i]);
    const Vector cut = {old[i].x + share * (old[1 - i].x - old[i].x), old[i].y + share * (old[1 - i].y - old[i].y)};
    if (over[i] > 0) ends[i] = cut;
  }
  return over[0] <= 0 || over[1] <= 0;
}

struct Point {  // of contact; the normal leads from the first car to the second
  Vector at, normal;
  float gap;
  bool active;
};

__device__ __forceinline__ Point point_of(const Touch& t, const Shapes& f, const Body& b, int pair, int which) {
  const Face one = t.from[0][pair], two = t.from[1][pair];
  const bool flip = two.away > b.relative * one.away + b.absolute;
  const Outline &mine = t.car[flip], &other = t.car[!flip];
  const int face = (flip ? pair % 8 : pair / 8) * 8 + (flip ? two.edge : one.edge);
  const int shape = flip ? pair / 8 : pair % 8;
  const Vector normal = at(mine.normal, face), along = {-normal.y, normal.x}, start = at(mine.start, face);
  int opposite = shape * 8;
  float least = INFINITY;
  for (int e = 0; e < (int)f.corners[shape]; e++) {
    const float facing = dot(normal, at(other.normal, shape * 8 + e));
    if (facing < least) least = facing, opposite = shape * 8 + e;
  }
  Vector ends[2] = {at(other.start, opposite), at(other.end, opposite)};
  const bool some = clipped(ends, {-along.x, -along.y}, b.touch - dot(along, start));
  const bool more = clipped(ends, along, b.touch + dot(along, at(mine.end, face)));
  const Vector end = which ? ends[1] : ends[0];
  const float away = dot(normal, {end.x - start.x, end.y - start.y});
  return {{end.x - 0.5f * away * normal.x, end.y - 0.5f * away * normal.y},
          {flip ? -normal.x : normal.x, flip ? -normal.y : normal.y},
          away - b.touch,
          away <= b.touch && some && more && apart(t, pair) <= b.touch};
}

// How fast the second car leaves the first at a point, along a way: factors of the velocities.
__device__ __forceinline__ void parting(float* row, const Shapes& f, const Stand& st, int pair, Vector at, Vector way) {
#pragma unroll
  for (int car = 0; car < 2; car++) {
    const int shape = car ? pair % 8 : pair / 8;
    const float sign = car ? 1.f : -1.f;
    const Vector point = {at.x - (st.x[car] - st.x[0]), at.y - (st.y[car] - st.y[0])};
    const Vector about = pivot(f, st, car, shape);
    float* own = row + car * 7;
    own[0] = sign * way.x;
    own[1] = sign * way.y;
    own[2] = sign * cross(shape < 4 ? point : about, way);
    const float spin = sign * cross({point.x - about.x, point.y - about.y}, way);
#pragma unroll
    for (int w = 0; w < 4; w++) own[3 + w] = shape - 4 == w ? spin : 0.f;
  }
}

// What impulses act on, for the chosen pairs: lane 2 i + p for point p of pair i.
__device__ __forceinline__ void describe(Touch& t, const Shapes& f, const Stand& st, const Body& b, int lane) {
  if (lane < 2 * PAIRS) {
    const int i = lane / 2, which = lane % 2, pair = t.chosen[i], first = pair / 8, second = pair % 8;
    float* rows = t.rows + i * ROWS * LANES;
    const Point p = point_of(t, f, b, pair, which);
    parting(rows + which * LANES, f, st, pair, p.at, {p.normal.y, -p.normal.x});
    parting(rows + (2 + which) * LANES, f, st, pair, p.at, p.normal);
    t.active[lane] = p.active;
    t.gap[lane] = p.gap;
    const int held = first >= 4 ? first - 4 : second >= 4 ? second : 0;
    if (which == 0) {
      for (int l = 0; l < LANES; l++) {
        rows[4 * LANES + l] = wheel_of(l) == held ? 1.f : l == (held < 4 ? 2 : 9) ? -1.f : 0.f;
      }
      for (int w = 0; w < WHEELS; w++) t.wheel[i * WHEELS + w] = w == held;
    }
  }
  __syncwarp();
}

// The fourteen numbers that the lanes of two cars hold; all lanes of the first eight write.
__device__ __forceinline__ void gather(float* u, int car, const Lane& l, Vector first, float second, float third) {
  u[car * 7 + 3 + l.wheel] = third;
  if (l.wheel == 0) u[car * 7] = first.x, u[car * 7 + 1] = first.y, u[car * 7 + 2] = second;
}

// The rest of a frame for cars that may touch; `l` has the velocities of free cars, `st` is where they stood.
__device__ __forceinline__ void touching(Lane& l, Touch& t, const Shapes& f, const Stand& st, const Body& b,
                                         Constants c, int lane) {
  const int car = lane / 4 % 2, v = lane % 16;
  const bool writes = lane < 8;
  if (writes) {
    t.strength[lane] = l.steer >= b.limit ? -HUGE_SPEED : -b.motor;
    t.strength[WHEELS + lane] = l.steer <= -b.limit ? HUGE_SPEED : b.motor;
    gather(t.u, car, l, {l.vx, l.vy}, l.spin, l.rate + l.spin);
  }
  choose(t, f, st, lane);
  describe(t, f, st, b, lane);
  const Contacts contacts = {t.rows, t.active, t.wheel, t.strength};
  const float u = solved(contacts, t.u, lane, t.solver, c);
  __syncwarp();
  if (lane < LANES) t.u[lane] = u;
  __syncwarp();
  const float* own = t.u + car * 7;
  l.vx = own[0], l.vy = own[1], l.spin = own[2];
  l.rate = clip(own[3 + l.wheel], -b.max_spin, b.max_spin) - l.spin;
  const Lane before = l;
  move(l, b);
  __syncwarp();
  if (writes) {
    gather(t.u, car, l, {l.x - before.x, l.y - before.y}, l.heading - before.heading,
           (l.steer + l.heading) - (before.steer + before.heading));
  }
  __syncwarp();
  if (lane < 2 * PAIRS) {
    const float* row = t.rows + (lane / 2 * ROWS + 2 + lane % 2) * LANES;
    float shift = 0;
    for (int i = 0; i < LANES; i++) shift += row[i] * t.u[i];
    t.gap[lane] += shift;
  }
  __syncwarp();
  const float by = separated(contacts, t.gap, v, c);
  if (lane < LANES) t.u[lane] = by;
  __syncwarp();
  l.x += own[0], l.y += own[1], l.heading += own[2];
  l.steer += own[3 + l.wheel] - own[2];
}
