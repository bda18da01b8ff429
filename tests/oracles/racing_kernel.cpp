// Racing's kernels, to be called from Python on a CPU.
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
