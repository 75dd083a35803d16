// Damage for tests of readers, the same in each run; FORETRAIN_FUZZ=N asks for N executions.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace foretrain::test {

inline int fuzz_runs(int usual)
{
  const char* wanted = std::getenv("FORETRAIN_FUZZ");
  return wanted == nullptr ? usual : std::atoi(wanted);
}

class Damage {
public:
  explicit Damage(std::uint64_t seed = 1) : state_(seed) {}

  std::size_t below(std::size_t limit)
  {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<std::size_t>(state_ >> 33) % limit;
  }
  /// One to five bytes behind `from` changed, now and then the end cut off.
  std::string to(std::string text, std::size_t from = 0)
  {
    for (std::size_t k = 0; k <= below(4); ++k)
      text[from + below(text.size() - from)] = static_cast<char>(below(256));
    if (below(8) == 0)
      text.resize(from + below(text.size() - from));
    return text;
  }

private:
  std::uint64_t state_;
};

} // namespace foretrain::test
