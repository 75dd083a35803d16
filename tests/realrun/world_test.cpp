#include "realrun/common/clock.hpp"
#include "realrun/common/world.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <thread>

using namespace foretrain::realrun;

namespace {

Meeting meeting(int rank, int world, double timeout_s = 10.0)
{
  Meeting m;
  m.rank = rank;
  m.world = world;
  m.file = (std::filesystem::temp_directory_path() /
            ("realrun_world_test." + std::to_string(::getpid())))
               .string();
  m.timeout_s = timeout_s;
  return m;
}

} // namespace

TEST_CASE("ranks meet through a file and exchange texts")
{
  constexpr int world = 3;
  std::vector<std::vector<std::string>> heard(world);
  std::vector<std::string> told(world);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      World here(meeting(rank, world));
      const auto r = static_cast<std::size_t>(rank);
      heard[r] = here.all_gather("text of " + std::to_string(rank) + std::string(r * 1000, ' '));
      told[r] = here.broadcast(rank == 0 ? "root says" : "");
      here.barrier();
    });
  for (auto& rank : ranks)
    rank.join();
  for (int rank = 0; rank < world; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    REQUIRE(heard[r].size() == world);
    for (std::size_t from = 0; from < world; ++from)
      CHECK(heard[r][from] == "text of " + std::to_string(from) + std::string(from * 1000, ' '));
    CHECK(told[r] == "root says");
  }
}

TEST_CASE("a rank that never comes is named after the timeout")
{
  const double start = now_s();
  std::string message;
  std::thread root([&] {
    try {
      World here(meeting(0, 3, 1.0));
    } catch (const PeerError& error) {
      message = error.what();
    }
  });
  std::string member_message;
  try {
    World here(meeting(1, 3, 5.0));
    here.barrier();
  } catch (const PeerError& error) {
    member_message = error.what();
  }
  root.join();
  std::filesystem::remove(meeting(0, 3).file);
  CHECK_THAT(message, Catch::Contains("rank 2"));
  CHECK_THAT(member_message, Catch::Contains("rank 0"));
  CHECK(now_s() - start < 10.0);
}

TEST_CASE("a silent peer ends a receive after the timeout, a closed one at once")
{
  const Listener listener("127.0.0.1", 0);
  Socket here = connect_to("127.0.0.1", listener.port(), 5.0, "the other side");
  auto there = std::make_unique<Socket>(listener.accept(5.0, "the test"));
  char byte = 0;
  CHECK_THROWS_WITH(here.receive(&byte, 1, 0.2),
                    Catch::Contains("no progress with the other side"));
  there.reset();
  CHECK_THROWS_WITH(here.receive(&byte, 1, 5.0), Catch::Contains("closed the connection"));
}
