#include "realrun/common/settings.hpp"
#include "sim/base/error.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>

using namespace foretrain;
using namespace foretrain::realrun;

namespace {

CommandLine parse(std::vector<const char*> words)
{
  words.insert(words.begin(), "realrun-cpu");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

} // namespace

TEST_CASE("flags become settings, with units and defaults")
{
  const CommandLine line =
      parse({"train", "m.json", "--batch", "64", "--bucket", "4 MiB", "--overlap", "off", "--label",
             "tenant=1", "--label", "why=test"});
  CHECK(line.verb == "train");
  CHECK(line.arguments == std::vector<std::string>{"m.json"});
  CHECK(line.settings.batch == 64);
  CHECK(line.settings.bucket.value() == 4194304.0);
  CHECK(line.settings.overlap == "off");
  CHECK(line.settings.world == 1);
  CHECK(line.labels.at("tenant") == 1);
  CHECK(line.labels.at("why") == "test");
}

TEST_CASE("wrong flags say what is right")
{
  CHECK_THROWS_WITH(parse({"train", "--bacth", "3"}), Catch::Contains("--batch"));
  CHECK_THROWS_WITH(parse({"train", "--batch", "many"}), Catch::Contains("--batch"));
  CHECK_THROWS_WITH(parse({"train", "--bucket", "4"}), Catch::Contains("unit"));
  CHECK_THROWS_WITH(parse({"train", "--overlap", "yes"}), Catch::Contains("on"));
  CHECK_THROWS_WITH(parse({"train", "--batch"}), Catch::Contains("needs a value"));
  CHECK_THROWS_WITH(parse({"train", "--rank", "2", "--world", "2"}), Catch::Contains("rank 2"));
  CHECK_THROWS_AS(parse({"train", "--batch", "0"}), ConfigError);
}

TEST_CASE("rank and world come from the launcher's environment when no flag gives them")
{
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  const CommandLine from_environment = parse({"train"});
  const CommandLine from_flags = parse({"train", "--rank", "0", "--world", "2"});
  ::setenv("OMPI_COMM_WORLD_RANK", "one", 1);
  CHECK_THROWS_AS(parse({"train"}), UsageError);
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");
  CHECK(from_environment.settings.rank == 1);
  CHECK(from_environment.settings.world == 3);
  CHECK(from_flags.settings.rank == 0);
  CHECK(from_flags.settings.world == 2);
}

TEST_CASE("the root address must be HOST:PORT")
{
  Settings settings = parse({"train", "--root", "10.0.0.1:4000"}).settings;
  CHECK(meeting_of(settings).host == "10.0.0.1");
  CHECK(meeting_of(settings).port == 4000);
  for (const char* wrong : {"10.0.0.1", ":4000", "a:b", "a:70000", "a:0"}) {
    settings.root = wrong;
    CHECK_THROWS_AS(meeting_of(settings), UsageError);
  }
}
