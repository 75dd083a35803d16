// Pieces of work in processes, some of which die.
#include "experiments/run/workers.hpp"

#include "tests/support/catch.hpp"

#include <csignal>
#include <map>
#include <thread>

using namespace foretrain::experiments;

TEST_CASE("A piece whose process dies is told, the others are all done")
{
  std::map<int, Outcome> outcomes;
  const auto work = [](int piece) {
    if (piece == 5)
      std::raise(SIGKILL);
    return Outcome{0, std::to_string(10 * piece)};
  };
  CHECK(run_workers(16, 1, work, [&](int piece, const Outcome& it) { outcomes[piece] = it; }));
  REQUIRE(outcomes.size() == 16);
  for (const auto& [piece, outcome] : outcomes) {
    CAPTURE(piece, outcome.text);
    CHECK(outcome.status == (piece == 5 ? 3 : 0));
    CHECK((piece == 5 || outcome.text == std::to_string(10 * piece)));
  }
}

TEST_CASE("Who waits is told when nothing has been finished for a while")
{
  int idle = 0;
  const auto work = [](int) {
    std::this_thread::sleep_for(3 * kQuiet);
    return Outcome{};
  };
  CHECK(run_workers(
      1, 1, work, [](int, const Outcome&) {}, [&idle] { ++idle; }));
  CHECK(idle > 0);
}
