// Pictures the networks can learn from, made by a formula, and their JPEG form.
//
// Picture i belongs to class i mod classes; its class sets a smooth colour pattern, its index the
// noise on top, so that a loss falls and every rank can make any sample alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace foretrain::realrun {

struct Picture {
  int side = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels; // side x side x channels
};

Picture make_picture(std::size_t index, int classes, int side, int channels, int seed);

inline int class_of(std::size_t index, int classes)
{
  return static_cast<int>(index % static_cast<std::size_t>(classes));
}

/// Averages `picture` down to `side` pixels (its own side must be a multiple) and maps 0..255 to
/// about -1..1 into `out` (side x side x channels).
void shrink_to_floats(const Picture& picture, int side, float* out);

/// True when this build can read and write JPEG (libjpeg was there).
bool jpeg_available();
/// Throw std::runtime_error; quality 0..100, 3 channels or 1.
std::vector<std::uint8_t> encode_jpeg(const Picture& picture, int quality);
Picture decode_jpeg(const std::vector<std::uint8_t>& bytes, const std::string& name);

} // namespace foretrain::realrun
