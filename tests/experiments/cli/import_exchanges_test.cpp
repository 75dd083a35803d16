// What options of `model import` change of a recording's model.
#include "sim/base/catalog.hpp"
#include "sim/base/document.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/program.hpp"

namespace foretrain::import_exchanges_test {

namespace {

Json imported(const std::string& seed, std::vector<std::string> more)
{
  std::vector<std::string> words{"model", "import", "tests/fuzz/seeds/kineto/" + seed};
  words.insert(words.end(), more.begin(), more.end());
  const test::Told told = test::told_by(words, data_root());
  INFO(told.err);
  REQUIRE(told.code == 0);
  return Json::parse(told.out).at("measured");
}

} // namespace

TEST_CASE("a recording is imported with its exchanges, or with those of gradients alone",
          "[import]")
{
  CHECK(imported("sends.json", {"--batch", "8"}).contains("exchanges"));
  CHECK(imported("sends.json", {"--batch", "8", "--exchanges", "recorded"}).contains("exchanges"));
  CHECK_FALSE(
      imported("sends.json", {"--batch", "8", "--exchanges", "gradients"}).contains("exchanges"));
  CHECK(imported("steps.json", {"--batch", "8"}).at("batch") == 8);
}

} // namespace foretrain::import_exchanges_test
