// What a terminal says of a command under way, and which part of its work another machine takes.
#include "experiments/cli/part_argument.hpp"
#include "experiments/cli/progress.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <regex>

namespace foretrain::progress_test {

using namespace foretrain::cli;

TEST_CASE("a progress bar fills as work is done, and time left is work left at this run's rate",
          "[progress]")
{
  // Ten of this run's points in five seconds; what was there before is no work of it.
  CHECK(progress_text(60, 100, 50, 5, "points") ==
        "[##############----------] 60/100 points, 2/s, 20 s left");
  CHECK(progress_text(0, 100, 0, 5, "points") == "[------------------------] 0/100 points");
  CHECK(progress_text(4, 4, 0, 0, "seeds") == "[########################] 4/4 seeds");
  CHECK(progress_text(0, 0, 0, 1, "seeds") == "[########################] 0/0 seeds");
  for (int total = 1; total < 60; total += 7)
    for (int done = 0; done <= total + 1; ++done) { // a total may be passed
      const std::string bar = progress_text(done, total, 0, 1, "points").substr(1, 24);
      CHECK(std::count(bar.begin(), bar.end(), '#') == 24 * std::min(done, total) / total);
      CHECK(bar.find("-#") == std::string::npos);
    }
}

TEST_CASE("time left is of whole seconds below an hour and of whole minutes above", "[progress]")
{
  const auto left = [](int seconds_and_tenths) { // one point in ten each second
    const std::string text = progress_text(10, 10 + seconds_and_tenths, 0, 1, "points");
    return text.substr(text.find("/s, ") + 4);
  };
  CHECK(left(594) == "59 s left");
  CHECK(left(596) == "1 min 00 s left");
  CHECK(left(1196) == "2 min 00 s left"); // not 1 min 60 s
  CHECK(left(35994) == "59 min 59 s left");
  CHECK(left(35996) == "1 h 00 min left");
  CHECK(left(71998) == "2 h 00 min left");
  CHECK(left(54000) == "1 h 30 min left");
  const std::regex whole(R"((\d+ h [0-5]\d min|\d+ min [0-5]\d s|[0-5]?\d s) left)");
  for (int tenths = 1; tenths < 200000; tenths += 173)
    CHECK(std::regex_match(left(tenths), whole));
}

TEST_CASE("a part is one of a number of parts, and every piece of work is in one of them",
          "[progress][property]")
{
  for (std::size_t count = 1; count < 12; ++count)
    for (std::size_t piece = 0; piece < 30; ++piece) {
      int in = 0;
      for (std::size_t k = 0; k < count; ++k)
        in += part_of(std::to_string(k) + "/" + std::to_string(count)).has(piece) ? 1 : 0;
      CHECK(in == 1);
    }
  for (const char* wrong : {"3/3", "x", "1", "1/0", "0/0", "-1/2", "1/2/3", "1/2 ", "1/", "/2", "",
                            "1 /2", "1/99999999999999999999999"})
    CHECK_THROWS_AS(part_of(wrong), UsageError);
}

} // namespace foretrain::progress_test
