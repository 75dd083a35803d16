// Names that files may use.
#include "experiments/api/preset_list.hpp"

#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace foretrain::preset_list_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

TEST_CASE("presets of a kind are listed with their other names and what they are", "[presets]")
{
  const auto frameworks = preset_list("framework");
  const auto ddp = std::ranges::find(frameworks, "pytorch-ddp", &PresetLine::name);
  REQUIRE(ddp != frameworks.end());
  CHECK(ddp->aliases == std::vector<std::string>{"pytorch", "ddp"});
  CHECK(ddp->description == "PyTorch DistributedDataParallel");
  const auto channels_last =
      std::ranges::find(frameworks, "pytorch-ddp-channels-last", &PresetLine::name);
  REQUIRE(channels_last != frameworks.end());
  CHECK(channels_last->aliases.empty()); // those of what it extends are not its own
  CHECK(preset_list("frameworks").size() == frameworks.size());
  CHECK(preset_list("libraries").size() == preset_list("library").size());
  CHECK_THAT(preset_list_text(frameworks),
             Contains("PyTorch DistributedDataParallel (also pytorch, ddp)\n"));
}

TEST_CASE("the page of frameworks says what each of them is for", "[presets]")
{
  std::ifstream in(data_root() / "docs/frameworks.md");
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  for (const PresetLine& line : preset_list("framework")) {
    INFO(line.name);
    CHECK(page.find("`" + line.name + "`") != std::string::npos);
  }
}

TEST_CASE("whatever is bundled says what it is", "[presets]")
{
  for (const std::string& kind : listed_kinds())
    for (const PresetLine& line : preset_list(kind)) {
      INFO(kind << " " << line.name);
      CHECK(line.description.size() > 2);
    }
  CHECK_THAT(listed_kinds_text(), Contains("framework"));
}

TEST_CASE("a kind that is none is answered with the nearest", "[presets]")
{
  CHECK_THROWS_WITH(preset_list("gpuz"),
                    Contains("'gpuz' is no kind of preset") && Contains("did you mean 'gpu'"));
}

} // namespace foretrain::preset_list_test
