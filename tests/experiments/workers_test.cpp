// Pieces of work in processes, some of which die.
#include "experiments/run/workers.hpp"

#include "tests/support/catch.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

namespace foretrain::workers_test {

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

TEST_CASE("What was printed before is printed once")
{
  const std::string path =
      std::filesystem::temp_directory_path() / ("foretrain-once-" + std::to_string(getpid()));
  std::fflush(stdout);
  const int usual = dup(STDOUT_FILENO);
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  dup2(file, STDOUT_FILENO);
  std::printf("once;");
  const auto work = [](int) {
    std::fflush(stdout); // as SimGrid's engine does
    return Outcome{};
  };
  const bool finished = run_workers(2, 1, work, [](int, const Outcome&) {});
  std::fflush(stdout);
  dup2(usual, STDOUT_FILENO);
  close(usual);
  close(file);
  std::ifstream in(path);
  std::string printed;
  std::getline(in, printed);
  std::filesystem::remove(path);
  CHECK(finished);
  CHECK(printed == "once;");
}

TEST_CASE("Where the system has few files left fewer processes do all of the work")
{
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = dup(0); // the lowest that is free
  close(next);
  int done = 0;
  const auto work = [](int piece) { return Outcome{0, std::to_string(piece)}; };
  const auto count = [&](int, const Outcome& it) { done += it.status == 0 ? 1 : 0; };
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 3; // a pipe has two ends, of which one stays
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  CHECK(run_workers(40, 8, work, count));
  CHECK(done == 40);
  few.rlim_cur = static_cast<rlim_t>(next) + 1;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  CHECK_THROWS_WITH(run_workers(1, 1, work, count), Catch::Contains("cannot start a process"));
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
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

} // namespace foretrain::workers_test
