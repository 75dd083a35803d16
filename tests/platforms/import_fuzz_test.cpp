// Any damage to a file gives a platform or an error message, never anything else.
#include "sim/engine/random.hpp"
#include "tests/platforms/import_support.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

using namespace foretrain;
using namespace foretrain::platforms;
using namespace foretrain::test;

namespace {

std::vector<std::string> lines_of(const std::string& text)
{
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

std::string mutated(const std::string& text, sim::RandomStream& random)
{
  static const char* const kHuge[] = {"1e308", "-1",          "99999999999999999999",
                                      "0x",    "NV999999999", "",
                                      "&a;",   "\xff\xfe",    "GPU",
                                      "\"",    "<",           "</cpu>"};
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::string out = text;
  const std::size_t at = below(text.size());
  auto lines = lines_of(text);
  const std::size_t line = below(lines.size());
  switch (below(6)) {
  case 0:
    return text.substr(0, at);
  case 1:
    out[at] = static_cast<char>(out[at] ^ (1 << below(8)));
    return out;
  case 2: { // a number becomes something else
    const std::size_t digit = text.find_first_of("0123456789", at);
    if (digit == std::string::npos)
      return out;
    const std::size_t end = text.find_first_not_of("0123456789", digit);
    return text.substr(0, digit) + kHuge[below(std::size(kHuge))] +
           (end == std::string::npos ? "" : text.substr(end));
  }
  case 3:
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(line));
    break;
  case 4:
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(below(lines.size())), lines[line]);
    break;
  default:
    std::swap(lines[line], lines[below(lines.size())]);
  }
  out.clear();
  for (const auto& it : lines)
    out += it + "\n";
  return out;
}

} // namespace

TEST_CASE("damaged topology files give a platform or an error", "[import][fuzz]")
{
  const std::string file =
      GENERATE("dgx1-v100.xml", "dgx-a100.xml", "c4140-k.xml", "v100-pcie-4gpu.xml",
               "dgx1-v100-2017.txt", "c4140-m-terminal.txt", "hgx-h100-paste.txt");
  const std::string text = fixture(file);
  sim::RandomStream random(1, file);
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 250; ++i) {
    std::string damaged = mutated(text, random);
    if (i % 3 == 0)
      damaged = damaged.empty() ? damaged : mutated(damaged, random);
    // Only ConfigError and UsageError are errors of the file; anything else fails the test.
    (import_error(damaged) == "no error" ? accepted : refused) += 1;
  }
  for (std::size_t length = 0; length < text.size(); length += 97)
    (import_error(text.substr(0, length)) == "no error" ? accepted : refused) += 1;
  CAPTURE(file, accepted, refused);
  CHECK(accepted > 0);
  CHECK(refused > accepted / 4);
}
