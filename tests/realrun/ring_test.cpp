#include "realrun/common/clock.hpp"
#include "realrun/cpu/reducer.hpp"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <functional>
#include <numeric>

using namespace foretrain::realrun;

namespace {

/// Runs `body` as each of `world` ranks, one thread each.
void as_ranks(int world, const std::function<void(World&)>& body)
{
  const std::string file =
      (std::filesystem::temp_directory_path() / ("realrun_ring_test." + std::to_string(::getpid())))
          .string();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      Meeting meeting;
      meeting.rank = rank;
      meeting.world = world;
      meeting.file = file;
      World here(meeting);
      body(here);
    });
  for (auto& rank : ranks)
    rank.join();
}

float value(int rank, std::size_t i)
{
  return static_cast<float>(rank + 1) * static_cast<float>(i % 97);
}

} // namespace

TEST_CASE("ring all-reduce gives every rank the sum, for sizes below and above the rank count")
{
  const int world = GENERATE(1, 2, 3, 4);
  const std::size_t count =
      GENERATE(std::size_t{1}, std::size_t{3}, std::size_t{1000}, std::size_t{300001});
  std::vector<std::vector<float>> data(static_cast<std::size_t>(world), std::vector<float>(count));
  as_ranks(world, [&](World& here) {
    auto& mine = data[static_cast<std::size_t>(here.rank())];
    for (std::size_t i = 0; i < count; ++i)
      mine[i] = value(here.rank(), i);
    Ring ring(here);
    ring.all_reduce(mine);
  });
  const auto factor = static_cast<float>(world * (world + 1) / 2);
  std::size_t wrong = 0;
  for (const auto& mine : data)
    for (std::size_t i = 0; i < count; ++i)
      wrong += mine[i] == factor * static_cast<float>(i % 97) ? 0U : 1U; // small integers: exact
  CHECK(wrong == 0);
}

TEST_CASE("the reducer works through its buckets in order and tells their times")
{
  std::vector<std::vector<ReduceTimes>> times(2);
  std::vector<std::vector<float>> data(2, std::vector<float>(50000, 1.0F));
  as_ranks(2, [&](World& here) {
    const auto rank = static_cast<std::size_t>(here.rank());
    Ring ring(here);
    Reducer reducer(ring);
    for (std::size_t i = 0; i < 5; ++i)
      reducer.submit(std::span(data[rank]).subspan(i * 10000, 10000));
    times[rank] = reducer.wait();
    CHECK(reducer.wait().empty());
  });
  for (const auto& mine : data)
    CHECK(std::accumulate(mine.begin(), mine.end(), 0.0) == 100000.0);
  for (const auto& mine : times) {
    REQUIRE(mine.size() == 5);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      CHECK(mine[i].ready <= mine[i].start);
      CHECK(mine[i].start < mine[i].end);
      if (i > 0)
        CHECK(mine[i - 1].end <= mine[i].start);
    }
  }
}

TEST_CASE("when a rank leaves, the other's reducer fails instead of waiting")
{
  std::string message;
  const double start = now_s();
  as_ranks(2, [&](World& here) {
    Ring ring(here);
    if (here.rank() == 1)
      return; // goes away without a word
    std::vector<float> data(1000000, 1.0F);
    Reducer reducer(ring);
    reducer.submit(data);
    try {
      reducer.wait();
    } catch (const PeerError& error) {
      message = error.what();
    }
  });
  CHECK_THAT(message, Catch::Contains("lost rank 1"));
  CHECK(now_s() - start < 10.0);
}
