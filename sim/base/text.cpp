#include "sim/base/text.hpp"

#include <algorithm>
#include <numeric>

namespace foretrain {

namespace {
std::size_t edit_distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitution});
    }
  }
  return row.back();
}
} // namespace

std::string joined(const std::vector<std::string>& words, std::string_view separator)
{
  std::string text;
  for (const auto& word : words) {
    if (!text.empty())
      text += separator;
    text += word;
  }
  return text;
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates)
{
  if (word.size() > 200)
    return "";
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    if (candidate.size() > 200)
      continue;
    std::size_t distance = edit_distance(word, candidate);
    const bool prefix = word.size() >= 3 && candidate.size() >= word.size() &&
                        std::string_view(candidate).substr(0, word.size()) == word;
    if (prefix)
      distance = std::min<std::size_t>(distance, 2);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates,
                       std::string_view label)
{
  const std::string guess = nearest(word, candidates);
  if (!guess.empty())
    return "did you mean '" + guess + "'?";
  std::vector<std::string> shown(
      candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(
                                                   std::min<std::size_t>(candidates.size(), 20)));
  for (std::string& name : shown)
    name = excerpt(name);
  if (shown.size() < candidates.size())
    shown.emplace_back("...");
  return "known " + std::string(label) + ": " + joined(shown);
}

std::string excerpt(std::string_view text, std::size_t limit)
{
  std::string shown(text.substr(0, limit));
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  if (text.size() > limit)
    shown += "...";
  return shown;
}

} // namespace foretrain
