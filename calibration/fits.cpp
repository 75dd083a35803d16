#include "calibration/fits.hpp"

#include "sim/base/catalog.hpp"

namespace foretrain::calibration {

FitsSpec load_fits()
{
  const DocumentPtr document = load_document(data_root() / "calibration/data/fits.json");
  return read_as<FitsSpec>(Value(document));
}

const FitSpec* fit_of(const FitsSpec& fits, const std::string& row_id)
{
  for (const FitSpec& fit : fits.fits)
    for (const std::string& pattern : fit.row_ids)
      if (matches(pattern, row_id))
        return &fit;
  return nullptr;
}

bool matches(const std::string& pattern, const std::string& text)
{
  // Greedy with one point to return to: after the last star.
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

} // namespace foretrain::calibration
