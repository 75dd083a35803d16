// Any damage to a log gives rows that agree with themselves or an error, never anything else.
#include "tests/calibration/nccl_tests_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

#include <cmath>

namespace foretrain::nccl_tests_fuzz_test {

using namespace foretrain::calibration;
using namespace foretrain::test;

TEST_CASE("damaged nccl-tests logs are refused or read right", "[nccl-tests][fuzz]")
{
  const int variant = GENERATE(0, 1, 2, 3);
  const std::string text =
      nccl_text({.root = variant > 0, .iterations = variant == 2, .json = variant == 3});
  std::mt19937 random(static_cast<unsigned>(variant));
  int accepted = 0;
  int refused = 0;
  const auto attempt = [&](const std::string& input) {
    try {
      const auto log = read_nccl_tests(input, "log");
      ++accepted;
      for (const auto& row : log.rows) {
        // What was accepted is a row of the model the log was written with.
        const double size = row.size.value();
        const double error = row.out_of_place.time.value() * 1e6 - time_us(size);
        const bool known = std::abs(error) < 0.06;
        const double rate = row.out_of_place.algorithm_bandwidth.value();
        const bool consistent =
            size == 0 || std::abs(size / row.out_of_place.time.value() - rate) < 1e-2 * rate + 6e6;
        CHECK((known || consistent));
      }
    } catch (const ConfigError&) {
      ++refused;
    }
  };
  for (int i = 0; i < 1200; ++i) {
    const std::string once = damaged(text, random);
    attempt(i % 3 == 0 ? damaged(once, random) : once);
  }
  for (std::size_t length = 0; length < text.size(); length += 7)
    attempt(text.substr(0, length));
  CAPTURE(variant, accepted, refused);
  CHECK(accepted > 0);
  CHECK(refused > 100);
}

} // namespace foretrain::nccl_tests_fuzz_test
