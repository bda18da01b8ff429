// Parts of racing that are many small steps, each as one kernel: impulses between cars that touch (impulse.py), all
// frames of a decision (game.py), and what two drivers see (view.py and raster.py). They compute what those files do,
// in the same order; sums may be rounded differently. Leading axes are games.
#include "kernels/frames.cuh"
#include "kernels/pictures.cuh"
#include "native.h"

using Numbers = ffi::Span<const float>;
static bool fits(Any rows, int games, Numbers facts) {
  return facts.size() == FACTS && (int64_t)rows.element_count() == (int64_t)games * PAIRS * ROWS * LANES;
}
static ffi::Error bad() {
  return ffi::Error::InvalidArgument("racing: six pairs of shapes, five rows, fourteen velocities");
}
static ffi::Error solve(cudaStream_t st, Any rows, Any active, Any wheel, Any strength, Any before, Out after,
                        Numbers facts) {
  const int games = before.element_count() / LANES;
  if (!fits(rows, games, facts)) return bad();
  solve_kernel<<<(games + WARPS - 1) / WARPS, 32 * WARPS, 0, st>>>(
      data<float>(rows), data<bool>(active), data<float>(wheel), data<float>(strength), data<float>(before),
      data<float>(*after), games, constants(facts.begin()));
  return done();
}
static ffi::Error separate(cudaStream_t st, Any rows, Any active, Any gap, Out by, Numbers facts) {
  const int games = by->element_count() / LANES;
  if (!fits(rows, games, facts)) return bad();
  separate_kernel<<<(games + WARPS - 1) / WARPS, 32 * WARPS, 0, st>>>(
      data<float>(rows), data<bool>(active), data<float>(gap), data<float>(*by), games, constants(facts.begin()));
  return done();
}
static ffi::Error pictures(cudaStream_t st, Any road, Any road_codes, Any cars, Any car_codes, Any poses,
                           Any half_sides, Out out, Numbers camera, ffi::Span<const int32_t> colors) {
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
static ffi::Error frames(cudaStream_t st, Any surface, Any point, Any beta, Any half_side, Any limit, Any cars,
                         Any touching, Any visited, Any frame, Any astray, Any actions, Any first, Out cars_after,
                         Out touching_after, Out visited_after, Out counts, Out totals, Numbers facts, Numbers body,
                         Numbers rules, Numbers shapes) {
  const int tiles = beta.dimensions().back(), games = frame.element_count();
  const bool all = (int64_t)surface.element_count() == (int64_t)games * tiles * 16 &&
                   (int)cars.element_count() == games * 2 * PARTS && facts.size() == FACTS &&
                   body.size() == numbers<Body> && rules.size() == numbers<Rules> &&
                   shapes.size() == numbers<Shapes>;
  if (!all || tiles > MOST_TILES) return ffi::Error::InvalidArgument("racing: two cars, at most 1024 tiles");
  const Given in = {data<float>(surface),  data<float>(point), data<float>(beta),    data<float>(half_side),
                    data<float>(cars),     data<float>(actions), data<bool>(touching), data<bool>(visited),
                    data<bool>(first),     data<int>(limit),   data<int>(frame),     data<int>(astray), tiles};
  const Result out = {data<float>(*cars_after), data<float>(*totals), data<bool>(*touching_after),
                      data<bool>(*visited_after), data<int>(*counts)};
  const Facts known = {constants(facts.begin()), read<Body>(body.begin()), read<Rules>(rules.begin()),
                       read<Shapes>(shapes.begin())};
  frames_kernel<<<games, ROAD_THREADS, 0, st>>>(in, out, known);
  return done();
}
MAESTRO_KERNEL(RacingSolve, solve, bind<5, 1>().Attr<Numbers>("facts"));
MAESTRO_KERNEL(RacingSeparate, separate, bind<3, 1>().Attr<Numbers>("facts"));
MAESTRO_KERNEL(RacingPictures, pictures,
               bind<6, 1>().Attr<Numbers>("camera").Attr<ffi::Span<const int32_t>>("colors"));
MAESTRO_KERNEL(RacingFrames, frames,
               bind<12, 5>().Attr<Numbers>("facts").Attr<Numbers>("body").Attr<Numbers>("rules").Attr<Numbers>(
                   "shapes"));
