// A frame of two cars that nothing touches: what car.py computes. A lane of a warp holds one wheel and, as the three
// lanes of the car's other wheels do, the car; lanes l, l + 8, l + 16, l + 24 hold the same.
#pragma once
#include "impulses.cuh"

struct Body {  // constants of car.py, place.py, contact.py and manifold.py, as frames.py lists them
  float dt, engine, brake, radius, stiffness, grip, grass_grip, limit, slop, winding, motor, orbit, wheel_spin;
  float inertia, push, rolling, max_speed, max_spin, back, wheel[2], arms[8], center[2], hull[2];
  float slow, skin, reach, nearby, touch, relative, absolute;
};
constexpr int PARTS = 28;  // numbers of a `Car`, in the order of its fields

struct Lane {
  float x, y, heading, before, vx, vy, spin, gas;  // of the car
  float steer, rate, omega, phase, windup;         // of the wheel
  float arm_x, arm_y;                              // from the center of mass to the wheel
  int wheel;                                       // of four
};

__device__ __forceinline__ Lane loaded(const float* car, int wheel, const Body& b) {
  return {car[0],          car[1],           car[2],          car[3],          car[4],
          car[5],          car[6],           car[19],         car[7 + wheel],  car[11 + wheel],
          car[15 + wheel], car[20 + wheel],  car[24 + wheel], b.arms[2 * wheel], b.arms[2 * wheel + 1],
          wheel};
}
__device__ __forceinline__ void store(const Lane& l, float* car) {
  const float own[] = {l.x, l.y, l.heading, l.before, l.vx, l.vy, l.spin};
  if (l.wheel == 0) {
#pragma unroll
    for (int i = 0; i < 7; i++) car[i] = own[i];
    car[19] = l.gas;
  }
  car[7 + l.wheel] = l.steer;
  car[11 + l.wheel] = l.rate;
  car[15 + l.wheel] = l.omega;
  car[20 + l.wheel] = l.phase;
  car[24 + l.wheel] = l.windup;
}

__device__ __forceinline__ float of_four(float x) {  // the sum over a car's wheels
  x += __shfl_xor_sync(ALL, x, 1);
  return x + __shfl_xor_sync(ALL, x, 2);
}
__device__ __forceinline__ float sign(float x) { return x > 0 ? 1.f : x < 0 ? -1.f : 0.f; }

__device__ __forceinline__ float rolled(const Lane& l, float brake, const Body& b) {
  const float drive = l.wheel < 2 ? 0.f : l.gas;
  const float omega = l.omega + b.engine * drive / (fabsf(l.omega) + 5);
  const float slower = omega - sign(omega) * fminf(b.brake * brake, fabsf(omega));
  return brake >= 0.9f ? 0.f : brake > 0 ? slower : omega;
}

// The force on a wheel; returns the part of it that works against the wheel's rolling.
__device__ __forceinline__ float tyre(const Lane& l, float omega, bool on_road, const Body& b, float& fx, float& fy) {
  const float side_x = cosf(l.heading + l.steer), side_y = sinf(l.heading + l.steer);
  const float c = cosf(l.before), s = sinf(l.before);
  const float vx = l.vx - l.spin * (s * l.arm_x + c * l.arm_y), vy = l.vy + l.spin * (c * l.arm_x - s * l.arm_y);
  const float along = (omega * b.radius - (side_x * vy - side_y * vx)) * b.stiffness;
  const float across = -(side_x * vx + side_y * vy) * b.stiffness;
  const float size = sqrtf(along * along + across * across), limit = on_road ? b.grip : b.grass_grip;
  const float share = size > limit ? limit / fmaxf(size, 1e-6f) : 1.f;
  fx = share * across * side_x - share * along * side_y;
  fy = share * across * side_y + share * along * side_x;
  return share * along;
}

__device__ __forceinline__ void steer(Lane& l, float target, const Body& b, float& rate) {
  const float speed = clip(50 * ((l.wheel < 2 ? target : 0.f) - l.steer), -3.f, 3.f);
  const float side = fabsf(l.steer) >= b.limit ? sign(l.steer) : 0.f;
  const float windup = fminf(l.windup + side * b.winding * speed, b.motor);
  const bool held = side != 0 && windup >= 0;
  rate = held ? 0.f : speed;
  l.windup = held ? windup : 0.f;
}

// The first half of a frame, new velocities.
__device__ __forceinline__ void accelerate(Lane& l, const float* action, bool on_road, const Body& b) {
  l.gas += fminf(clip(action[1], 0.f, 1.f) - l.gas, 0.1f);
  const float omega = rolled(l, action[2], b);
  float fx, fy, rate;
  const float braking = tyre(l, omega, on_road, b, fx, fy);
  steer(l, -action[0], b, rate);
  const float c = cosf(l.heading), s = sinf(l.heading);
  const float arm_x = c * l.arm_x - s * l.arm_y, arm_y = s * l.arm_x + c * l.arm_y;
  const float torque = of_four(arm_x * fy - arm_y * fx);
  const float half = sinf((l.heading - l.before) / 2), lost = b.orbit * half * half * l.spin;
  const float turn = b.dt * torque - b.wheel_spin * of_four(rate - l.rate) - lost;
  l.before = l.heading;
  l.vx += b.push * of_four(fx);
  l.vy += b.push * of_four(fy);
  l.spin += turn / b.inertia;
  l.rate = rate;
  l.omega = omega - b.rolling * braking;
  l.phase += b.dt * omega;
}

// The second half of a frame, a new pose.
__device__ __forceinline__ void move(Lane& l, const Body& b) {
  const float speed = sqrtf(l.vx * l.vx + l.vy * l.vy);
  const float slower = speed > b.max_speed ? b.max_speed / fmaxf(speed, 1.f) : 1.f;
  l.vx *= slower;
  l.vy *= slower;
  l.spin = clip(l.spin, -b.max_spin, b.max_spin);
  const float turn = b.dt * l.spin, back = b.back * turn * turn * turn;
  const float most = l.steer >= b.limit ? b.limit + b.slop : INFINITY;
  const float least = l.steer <= -b.limit ? -b.limit - b.slop : -INFINITY;
  l.x += b.dt * l.vx;
  l.y += b.dt * l.vy;
  l.heading += turn + back;
  l.steer = clip(l.steer + b.dt * l.rate - back, least, most);
}

struct Stand {  // how two cars stand, for all threads to see
  float x[2], y[2], c[2], s[2], origin[2][2], way[2][2];
  float wheel_x[8], wheel_y[8], wheel_c[8], wheel_s[8];
};

// What a lane's wheel, and its car if the wheel is the first, tell of how they stand.
__device__ __forceinline__ void show(const Lane& l, int car, const Body& b, Stand& to) {
  const float c = cosf(l.heading), s = sinf(l.heading);
  const int n = 4 * car + l.wheel;
  to.wheel_x[n] = l.x + (c * l.arm_x - s * l.arm_y);
  to.wheel_y[n] = l.y + (s * l.arm_x + c * l.arm_y);
  to.wheel_c[n] = cosf(l.heading + l.steer);
  to.wheel_s[n] = sinf(l.heading + l.steer);
  if (l.wheel) return;
  const float c0 = cosf(l.before), s0 = sinf(l.before);
  const float vx = l.vx - l.spin * (s0 * b.hull[0] + c0 * b.hull[1]);
  const float vy = l.vy + l.spin * (c0 * b.hull[0] - s0 * b.hull[1]);
  const float speed = sqrtf(vx * vx + vy * vy), by = fmaxf(speed, b.slow);
  to.x[car] = l.x, to.y[car] = l.y, to.c[car] = c, to.s[car] = s;
  to.origin[car][0] = l.x - (c * b.center[0] - s * b.center[1]);
  to.origin[car][1] = l.y - (s * b.center[0] + c * b.center[1]);
  to.way[car][0] = speed > b.slow ? vx / by : -s;
  to.way[car][1] = speed > b.slow ? vy / by : c;
}
