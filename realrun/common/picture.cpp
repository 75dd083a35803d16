#include "realrun/common/picture.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace foretrain::realrun {

namespace {

/// A well mixed 64-bit number (splitmix64).
std::uint64_t mixed(std::uint64_t x)
{
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

} // namespace

Picture make_picture(std::size_t index, int classes, int side, int channels, int seed)
{
  const auto label = static_cast<std::uint64_t>(class_of(index, classes));
  const std::uint64_t look = mixed(label * 1000003U + static_cast<std::uint64_t>(seed));
  const double angle = static_cast<double>(look % 1024) / 1024.0 * 6.283185307;
  const double waves = 1.0 + static_cast<double>((look >> 10) % 4);
  Picture picture{side, channels, {}};
  picture.pixels.reserve(static_cast<std::size_t>(side * side * channels));
  std::uint64_t noise = mixed(index * 7919U + static_cast<std::uint64_t>(seed) + 1U);
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int c = 0; c < channels; ++c) {
        const double along = (std::cos(angle) * x + std::sin(angle) * y) / side;
        const double phase = static_cast<double>((look >> (16 + 8 * (c % 4))) & 255U) / 40.0;
        noise = noise * 6364136223846793005U + 1442695040888963407U;
        const double grain = static_cast<double>(noise >> 40) / 16777216.0 - 0.5;
        const double value =
            128.0 + 80.0 * std::sin(6.283185307 * waves * along + phase) + 60.0 * grain;
        picture.pixels.push_back(static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0)));
      }
  return picture;
}

void shrink_to_floats(const Picture& picture, int side, float* out)
{
  const int step = picture.side / side;
  const float scale = 1.0F / (128.0F * static_cast<float>(step * step));
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x)
      for (int c = 0; c < picture.channels; ++c) {
        unsigned sum = 0;
        for (int dy = 0; dy < step; ++dy)
          for (int dx = 0; dx < step; ++dx)
            sum += picture.pixels[static_cast<std::size_t>(
                ((y * step + dy) * picture.side + x * step + dx) * picture.channels + c)];
        *out++ = static_cast<float>(sum) * scale - 1.0F;
      }
}

} // namespace foretrain::realrun
