// One point of an experiment, from JSON text to results, for tests.
#pragma once

#include "experiments/run/scenario.hpp"

#include <string>
#include <utility>
#include <vector>

namespace foretrain::test {

/// Runs the experiment in `text` after setting pointers to JSON texts.
inline experiments::PointResult
run_text(const std::string& text,
         const std::vector<std::pair<std::string, std::string>>& settings = {})
{
  auto document = parse_document(text, "test");
  for (const auto& [pointer, value] : settings)
    set_value(*document, pointer, value);
  experiments::Point point;
  point.document = document;
  return experiments::run_point(point, {});
}

} // namespace foretrain::test
