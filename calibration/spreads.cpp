#include "calibration/spreads.hpp"

#include "sim/base/catalog.hpp"
#include "sim/base/known_files.hpp"

namespace foretrain::calibration {

namespace {

void expand(const Json& at, const std::vector<std::string>& steps, std::size_t depth,
            const std::string& walked, std::vector<std::string>& found)
{
  if (depth == steps.size()) {
    found.push_back(walked);
    return;
  }
  const std::string& step = steps[depth];
  if (step == "*" && at.is_array()) {
    for (std::size_t i = 0; i < at.size(); ++i)
      expand(at[i], steps, depth + 1, walked + "/" + std::to_string(i), found);
  } else if (at.is_object() && at.contains(step)) {
    expand(at.at(step), steps, depth + 1, walked + "/" + step, found);
  }
}

} // namespace

std::filesystem::path spreads_file()
{
  return data_root() / "calibration/data/spreads.json";
}

Spreads load_spreads()
{
  return read_as<Spreads>(Value(known_document(spreads_file())));
}

std::vector<std::string> pointers_in(const Json& preset, const SpreadLine& line)
{
  std::vector<std::string> found;
  for (const std::string& pointer : line.pointers)
    expand(preset, pointer_steps(pointer), 0, "", found);
  return found;
}

bool covers(const SpreadLine& line, const std::string& pointer)
{
  const auto steps = pointer_steps(pointer);
  for (const std::string& pattern : line.pointers) {
    const auto wanted = pointer_steps(pattern);
    bool same = wanted.size() == steps.size();
    for (std::size_t i = 0; same && i < steps.size(); ++i)
      same = wanted[i] == "*" || wanted[i] == steps[i];
    if (same)
      return true;
  }
  return false;
}

} // namespace foretrain::calibration
