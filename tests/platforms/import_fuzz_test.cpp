// Any damage to a file gives a platform or an error message, never anything else.
#include "tests/platforms/import_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/damage.hpp"

#include <algorithm>

namespace foretrain::import_fuzz_test {

using namespace foretrain::platforms;
using namespace foretrain::test;

namespace {

const std::vector<std::string> kOddTopology = {"1e308", "-1",          "99999999999999999999",
                                               "0x",    "NV999999999", "",
                                               "&a;",   "\xff\xfe",    "GPU",
                                               "\"",    "<",           "</cpu>"};

} // namespace

TEST_CASE("damaged topology files give a platform or an error", "[import][fuzz]")
{
  const std::string file =
      GENERATE("dgx1-v100.xml", "dgx-a100.xml", "c4140-k.xml", "v100-pcie-4gpu.xml",
               "dgx1-v100-2017.txt", "c4140-m-terminal.txt", "hgx-h100-paste.txt");
  const std::string text = fixture(file);
  std::mt19937 random(static_cast<unsigned>(file.size()));
  int accepted = 0;
  int refused = 0;
  for (int i = 0; i < 250; ++i) {
    std::string damage = damaged(text, random, kOddTopology);
    if (i % 3 == 0)
      damage = damage.empty() ? damage : damaged(damage, random, kOddTopology);
    // Only ConfigError and UsageError are errors of the file; anything else fails the test.
    (import_error(damage) == "no error" ? accepted : refused) += 1;
  }
  for (std::size_t length = 0; length < text.size(); length += 97)
    (import_error(text.substr(0, length)) == "no error" ? accepted : refused) += 1;
  CAPTURE(file, accepted, refused);
  CHECK(accepted > 0);
  CHECK(refused > accepted / 4);
}

} // namespace foretrain::import_fuzz_test
