// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding): fields of a
// message one after the other. Enough to take a few fields of other software's files without its
// schemas, generated code or library.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretrain {

enum class WireType : unsigned char { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct WireField {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // of a number; fixed ones as their bits
  std::string_view bytes{}; // of a text, a message or packed numbers

  std::int64_t integer() const { return static_cast<std::int64_t>(value); }
  double as_double() const; // of a fixed64
  float as_float() const;   // of a fixed32
};

/// Reads fields out of a message, which must outlive it.
class WireReader {
public:
  explicit WireReader(std::string_view message) : rest_(message) {}

  /// False at the end, and where the message is damaged.
  bool next(WireField& field);
  /// A varint alone, as stands before a message in a stream of them.
  bool varint(std::uint64_t& value);
  /// So many bytes.
  bool take(std::uint64_t count, std::string_view& bytes);
  bool damaged() const { return damaged_; }
  bool at_end() const { return rest_.empty(); }

private:
  std::string_view rest_;
  bool damaged_ = false;
};

} // namespace foretrain
