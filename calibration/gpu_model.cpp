#include "calibration/gpu_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace foretrain::calibration {

namespace {

std::vector<std::string> words_of(const std::string& name)
{
  std::vector<std::string> words(1);
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)))
      words.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else if (!words.back().empty())
      words.emplace_back();
  static constexpr std::array<std::string_view, 8> kMakers{
      "", "NVIDIA", "TESLA", "GEFORCE", "QUADRO", "GRAPHICS", "AMD", "INSTINCT"};
  std::erase_if(words, [](const std::string& word) {
    return std::find(kMakers.begin(), kMakers.end(), word) != kMakers.end();
  });
  return words;
}

bool has_digit(const std::string& word)
{
  return std::any_of(word.begin(), word.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

} // namespace

std::string gpu_model(const std::string& name)
{
  const auto words = words_of(name);
  if (words.empty())
    return "";
  if (has_digit(words[0]))
    return words[0];
  // A family of words alone, like RTX and TITAN, is told apart by what follows.
  return words.size() > 1 ? words[0] + " " + words[1] : "";
}

} // namespace foretrain::calibration
