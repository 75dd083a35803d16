#include "sim/base/wire_format.hpp"

#include <bit>

namespace foretrain {

double WireField::as_double() const
{
  return std::bit_cast<double>(value);
}

float WireField::as_float() const
{
  return std::bit_cast<float>(static_cast<std::uint32_t>(value));
}

bool WireReader::varint(std::uint64_t& value)
{
  constexpr int kMostBytes = 10;
  value = 0;
  for (int i = 0; i < kMostBytes && static_cast<std::size_t>(i) < rest_.size(); ++i) {
    const auto byte = static_cast<unsigned char>(rest_[static_cast<std::size_t>(i)]);
    value |= static_cast<std::uint64_t>(byte & 0x7fu) << (7 * i);
    if ((byte & 0x80u) == 0) {
      rest_.remove_prefix(static_cast<std::size_t>(i) + 1);
      return true;
    }
  }
  damaged_ = true;
  return false;
}

bool WireReader::take(std::uint64_t count, std::string_view& bytes)
{
  if (count > rest_.size()) {
    damaged_ = true;
    return false;
  }
  bytes = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(static_cast<std::size_t>(count));
  return true;
}

bool WireReader::next(WireField& field)
{
  if (rest_.empty() || damaged_)
    return false;
  std::uint64_t key = 0;
  if (!varint(key))
    return false;
  field = {};
  field.number = static_cast<std::uint32_t>(key >> 3);
  field.type = static_cast<WireType>(key & 7u);
  if (field.number == 0 || key >> 3 > 0x1fffffff) {
    damaged_ = true;
    return false;
  }
  switch (field.type) {
  case WireType::varint:
    return varint(field.value);
  case WireType::bytes: {
    std::uint64_t size = 0;
    return varint(size) && take(size, field.bytes);
  }
  case WireType::fixed64:
  case WireType::fixed32: {
    const std::uint64_t size = field.type == WireType::fixed64 ? 8 : 4;
    if (!take(size, field.bytes))
      return false;
    for (std::size_t i = size; i-- > 0;)
      field.value = field.value << 8 | static_cast<unsigned char>(field.bytes[i]);
    return true;
  }
  }
  damaged_ = true;
  return false;
}

} // namespace foretrain
