// Racing's kernels, to be called from Python on a CPU.
#include "gpu.h"

#include "frames.cuh"
#include "pictures.cuh"

extern "C" void solve(const float* rows, const bool* active, const float* wheel, const float* strength,
                      const float* before, float* after, int games, const float* facts) {
  const Constants c = constants(facts);
  launch((games + WARPS - 1) / WARPS, 32 * WARPS,
         [=] { solve_kernel(rows, active, wheel, strength, before, after, games, c); });
}
extern "C" void separate(const float* rows, const bool* active, const float* gap, float* by, int games,
                         const float* facts) {
  const Constants c = constants(facts);
  launch((games + WARPS - 1) / WARPS, 32 * WARPS,
         [=] { separate_kernel(rows, active, gap, by, games, c); });
}
extern "C" void pictures(const float* road, const int* road_codes, const float* cars, const int* car_codes,
                         const float* poses, const float* half_sides, uint8_t* out, int games, int tiles,
                         int parts, const float* camera, const int* colors) {
  const Camera c = camera_of(camera);
  const Palette palette = palette_of(colors);
  launch(games * SEATS, THREADS, [=] {
    pictures_kernel(road, road_codes, cars, car_codes, poses, half_sides, out, tiles, parts, c, palette);
  });
}
extern "C" void frames(const float* surface, const float* point, const float* beta, const float* half_side,
                       const int* limit, const float* cars, const bool* touching, const bool* visited,
                       const int* frame, const int* astray, const float* actions, const bool* first,
                       float* cars_after, bool* touching_after, bool* visited_after, int* counts, float* totals,
                       int games, int tiles, const float* facts, const float* body, const float* rules,
                       const float* shapes) {
  const Given in = {surface,  point,   beta,  half_side, cars,  actions, touching,
                    visited, first, limit,     frame, astray,  tiles};
  const Result out = {cars_after, totals, touching_after, visited_after, counts};
  const Facts known = {constants(facts), read<Body>(body), read<Rules>(rules), read<Shapes>(shapes)};
  launch(games, ROAD_THREADS, [=] { frames_kernel(in, out, known); });
}
extern "C" int sizes(int which) {
  const int all[] = {FACTS, numbers<Body>, numbers<Rules>, numbers<Shapes>, MOST_TILES, PARTS, REPEAT};
  return all[which];
}
