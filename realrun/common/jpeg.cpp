// JPEG through libjpeg's memory interface; without the library both calls say so.
#include "realrun/common/picture.hpp"

#include <stdexcept>

#ifdef REALRUN_HAVE_JPEG
#include <cstdio>
#include <cstdlib>

#include <jpeglib.h>

namespace foretrain::realrun {

namespace {

[[noreturn]] void raise(j_common_ptr info)
{
  char text[JMSG_LENGTH_MAX] = "";
  (*info->err->format_message)(info, text);
  throw std::runtime_error(text);
}

/// libjpeg's error hook throws instead of ending the process. The library is C: the exception
/// passes through frames without destructors, which g++ and clang support on this platform.
jpeg_error_mgr throwing_errors()
{
  jpeg_error_mgr errors{};
  jpeg_std_error(&errors);
  errors.error_exit = &raise;
  errors.output_message = [](j_common_ptr) {}; // damage is counted and reported by the caller
  return errors;
}

} // namespace

bool jpeg_available()
{
  return true;
}

std::vector<std::uint8_t> encode_jpeg(const Picture& picture, int quality)
{
  jpeg_error_mgr errors = throwing_errors();
  jpeg_compress_struct state{};
  state.err = &errors;
  jpeg_create_compress(&state);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &bytes, &size);
  state.image_width = static_cast<JDIMENSION>(picture.side);
  state.image_height = static_cast<JDIMENSION>(picture.side);
  state.input_components = picture.channels;
  state.in_color_space = picture.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, quality, TRUE);
  jpeg_start_compress(&state, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(picture.side * picture.channels));
  while (state.next_scanline < state.image_height) {
    const auto from =
        picture.pixels.begin() + static_cast<std::ptrdiff_t>(state.next_scanline * row.size());
    row.assign(from, from + static_cast<std::ptrdiff_t>(row.size()));
    JSAMPROW rows[1] = {row.data()};
    jpeg_write_scanlines(&state, rows, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::vector<std::uint8_t> result(bytes, bytes + size);
  std::free(bytes); // malloc'ed by jpeg_mem_dest
  return result;
}

Picture decode_jpeg(const std::vector<std::uint8_t>& bytes, const std::string& name)
{
  jpeg_error_mgr errors = throwing_errors();
  jpeg_decompress_struct state{};
  state.err = &errors;
  jpeg_create_decompress(&state);
  try {
    jpeg_mem_src(&state, bytes.data(), static_cast<unsigned long>(bytes.size()));
    jpeg_read_header(&state, TRUE);
    jpeg_start_decompress(&state);
    Picture picture{static_cast<int>(state.output_width), state.output_components, {}};
    const std::size_t row = static_cast<std::size_t>(picture.side * picture.channels);
    picture.pixels.resize(row * state.output_height);
    while (state.output_scanline < state.output_height) {
      JSAMPROW rows[1] = {picture.pixels.data() + state.output_scanline * row};
      jpeg_read_scanlines(&state, rows, 1);
    }
    jpeg_finish_decompress(&state);
    if (errors.num_warnings > 0)
      throw std::runtime_error("the file is damaged or cut off");
    jpeg_destroy_decompress(&state);
    return picture;
  } catch (const std::runtime_error& error) {
    jpeg_destroy_decompress(&state);
    throw std::runtime_error("cannot decode '" + name + "': " + error.what());
  }
}

} // namespace foretrain::realrun

#else

namespace foretrain::realrun {

namespace {
constexpr const char* kMissing =
    "this build has no JPEG support: install libjpeg-dev and build again, or use --input raw";
}

bool jpeg_available()
{
  return false;
}
std::vector<std::uint8_t> encode_jpeg(const Picture&, int)
{
  throw std::runtime_error(kMissing);
}
Picture decode_jpeg(const std::vector<std::uint8_t>&, const std::string&)
{
  throw std::runtime_error(kMissing);
}

} // namespace foretrain::realrun

#endif
