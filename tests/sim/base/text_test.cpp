// Nearest names for messages.
#include "sim/base/text.hpp"

#include "tests/support/catch.hpp"

using namespace foretrain;

TEST_CASE("The nearest name: two letters exchanged are one mistake, and of equals the one as long")
{
  const std::vector<std::string> keys{"mode", "model", "gpus"};
  CHECK(nearest("modle", keys) == "model");
  CHECK(nearest("mod", keys) == "mode");
  CHECK(nearest("gpsu", keys) == "gpus");
  CHECK(nearest("framework", keys).empty());
}

TEST_CASE("Of several names that begin with the word all are told, unless one is nearly the word")
{
  const std::vector<std::string> names{"dgx-2", "dgx1-p100", "dgx1-v100", "resnet50", "resnet101"};
  CHECK(suggestion("dgx1", names, "platforms") == "did you mean one of dgx1-p100, dgx1-v100?");
  CHECK(suggestion("resnet5", names, "models") == "did you mean 'resnet50'?");
  CHECK(suggestion("dgx1-p10", names, "platforms") == "did you mean 'dgx1-p100'?");
  CHECK(suggestion("xyz", {"a", "b"}, "letters") == "known letters: a, b");
}
