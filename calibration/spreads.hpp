// How far parameters may be off that nobody has measured on the machine at hand
// (calibration/data/spreads.json).
#pragma once

#include "sim/base/schema.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace foretrain::calibration {

/// Parameters of one kind of preset that share a cause of error: off by one factor together.
struct SpreadLine {
  std::string name;
  std::string kind;
  std::vector<std::string> pointers; // a step "*" stands for every entry of a list
  double spread = 0;                 // relative standard deviation
  bool defaults = false;             // also where a file leaves the object that holds them out
  std::string source;
};

struct Spreads {
  std::vector<SpreadLine> spreads;
};

/// Where the bundled table is.
std::filesystem::path spreads_file();
/// The bundled table.
Spreads load_spreads();

/// The pointers of a line that hold something in `preset`, with list entries spelled out.
std::vector<std::string> pointers_in(const Json& preset, const SpreadLine& line);

/// Whether a line is about a pointer.
bool covers(const SpreadLine& line, const std::string& pointer);

template <class V>
void describe(V& v, SpreadLine& s)
{
  v.required("name", s.name, "what is uncertain, in words");
  v.required("kind", s.kind, "kind of preset");
  v.required("pointers", s.pointers, "JSON pointers into it; * for every entry of a list");
  v.required("spread", s.spread, "relative standard deviation", between(0, 2));
  v.optional("defaults", s.defaults, "also where a file leaves the object that holds them out");
  v.optional("source", s.source, "why so much");
}

template <class V>
void describe(V& v, Spreads& s)
{
  v.format("foretrain.spreads/1");
  v.required("spreads", s.spreads, "one line per cause");
}

} // namespace foretrain::calibration
