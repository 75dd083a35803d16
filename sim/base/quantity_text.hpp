// Quantities as people write them: "12.5 GB/s", "100 Gb/s", "1.5 us", "64 MiB".
// b is bit, B is byte; decimal prefixes are powers of ten, binary ones carry the i.
#pragma once

#include "sim/base/units.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace foretrain {

struct Unit {
  std::string_view name;
  double si; // one of this unit in SI
};

/// The units a quantity type accepts in files, and how its kind is called in messages.
template <class Q>
struct UnitsOf;

#define FORETRAIN_UNITS(TYPE)                                                                      \
  template <>                                                                                      \
  struct UnitsOf<TYPE> {                                                                           \
    static std::span<const Unit> units();                                                          \
    static std::string_view kind();                                                                \
    static std::string_view example();                                                             \
  };
FORETRAIN_UNITS(Seconds)
FORETRAIN_UNITS(Bytes)
FORETRAIN_UNITS(Flops)
FORETRAIN_UNITS(Hertz)
FORETRAIN_UNITS(BytesPerSecond)
FORETRAIN_UNITS(FlopsPerSecond)
FORETRAIN_UNITS(PerSecond)
#undef FORETRAIN_UNITS

struct ParsedQuantity {
  bool ok = false;
  double si = 0.0;
  std::string problem; // when not ok: what is wrong, as the end of a sentence
  std::string hint;
};

/// Parses "NUMBER UNIT". Never throws; NaN and infinities are refused.
ParsedQuantity parse_quantity(std::string_view text, std::span<const Unit> units,
                              std::string_view kind, std::string_view example);

/// A number as a file holds it, with its unit, whatever kind of quantity that makes it; a plain
/// number has none.
struct Measure {
  double value = 0; // in `unit`
  std::string_view unit;
  double unit_si = 1;
  double si() const { return value * unit_si; }
};
/// Reads "NUMBER UNIT" of any kind of quantity; empty when it is not one.
std::optional<Measure> parse_measure(std::string_view text);
/// "12.5 GB/s" with up to nine digits, or "0.93" without a unit.
std::string to_text(const Measure& measure);

/// Shortest text that reads well: 12.5 GB/s, 1.5 us, 64 MiB (exact powers of two only), 690/s.
std::string to_text(Seconds value);
std::string to_text(Bytes value);
/// In GB whatever it is: for sizes that are compared.
std::string gigabytes_text(Bytes value);
std::string to_text(BytesPerSecond value);
std::string to_text(FlopsPerSecond value);
std::string to_text(Flops value);
std::string to_text(Hertz value);
std::string to_text(PerSecond value);

} // namespace foretrain
