#include "experiments/serve/fair_queue.hpp"

#include <catch2/catch.hpp>

#include <future>

namespace foretrain::fair_queue_test {

using namespace foretrain::serve;

namespace {

constexpr std::chrono::milliseconds kNow{0};
constexpr QueueLimits kLimits{
    .places = 3, .long_places = 1, .page_places = 3, .page_waits = 4, .address_waits = 6};

} // namespace

TEST_CASE("No more than the places run, and who leaves makes room", "[serve]")
{
  FairQueue queue(kLimits);
  const auto a = queue.ask({"here", "a"}), b = queue.ask({"here", "b"}),
             c = queue.ask({"here", "c"}), d = queue.ask({"here", "d"});
  for (const auto ticket : {a, b, c})
    CHECK(queue.enter(ticket, kNow));
  CHECK_FALSE(queue.enter(d, kNow));
  CHECK(queue.running() == 3);
  queue.leave(b);
  CHECK(queue.enter(d, kNow));
  CHECK(queue.waiting() == 0);
  CHECK_FALSE(queue.enter(b, kNow)); // it has left
}

TEST_CASE("Who waits is woken by who leaves, not by the end of its patience", "[serve]")
{
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPatience{20};
  FairQueue queue(
      {.places = 1, .long_places = 1, .page_places = 1, .page_waits = 4, .address_waits = 6});
  const auto first = queue.ask({"here", "a"}), second = queue.ask({"here", "b"});
  REQUIRE(queue.enter(first, kNow));
  const auto begin = Clock::now();
  std::future<bool> entered =
      std::async(std::launch::async, [&] { return queue.enter(second, kPatience); });
  CHECK(entered.wait_for(std::chrono::milliseconds(20)) == std::future_status::timeout);
  queue.leave(first);
  CHECK(entered.get());
  CHECK(Clock::now() - begin < kPatience / 2);
}

TEST_CASE("A page that floods waits behind one that asks once", "[serve]")
{
  FairQueue queue(kLimits);
  std::vector<FairQueue::Ticket> flood;
  for (int i = 0; i < 3; ++i) {
    flood.push_back(queue.ask({"here", "flood"}));
    CHECK(queue.enter(flood.back(), kNow));
  }
  const auto next = queue.ask({"here", "flood"});
  const auto calm = queue.ask({"here", "calm"});
  queue.leave(flood[0]);
  CHECK_FALSE(queue.enter(next, kNow)); // came first, but has two running
  CHECK(queue.enter(calm, kNow));
  queue.leave(flood[1]);
  CHECK(queue.enter(next, kNow));
}

TEST_CASE("Addresses count before pages: many pages of one are one user", "[serve]")
{
  FairQueue queue(
      {.places = 2, .long_places = 1, .page_places = 1, .page_waits = 4, .address_waits = 6});
  const auto one = queue.ask({"10.0.0.1", "a"}), two = queue.ask({"10.0.0.1", "b"});
  CHECK(queue.enter(one, kNow));
  CHECK(queue.enter(two, kNow));
  const auto three = queue.ask({"10.0.0.1", "c"}), other = queue.ask({"10.0.0.2", "a"});
  queue.leave(one);
  CHECK_FALSE(queue.enter(three, kNow));
  CHECK(queue.enter(other, kNow));
}

TEST_CASE("Too many that wait are refused, of a page and of an address", "[serve]")
{
  FairQueue queue(kLimits);
  for (int i = 0; i < 4; ++i)
    CHECK(queue.ask({"here", "a"}) != 0);
  CHECK(queue.ask({"here", "a"}) == 0);
  CHECK(queue.ask({"here", "b"}) != 0);
  CHECK(queue.ask({"here", "c"}) != 0);
  CHECK(queue.ask({"here", "d"}) == 0); // six wait
  CHECK(queue.ask({"there", "a"}) != 0);
}

TEST_CASE("Long work leaves places for short, and does not hold up who comes after it", "[serve]")
{
  FairQueue queue(kLimits);
  const auto first = queue.ask({"here", "a", true}), second = queue.ask({"here", "b", true});
  CHECK(queue.enter(first, kNow));
  CHECK_FALSE(queue.enter(second, kNow));
  const auto brief = queue.ask({"here", "c"});
  CHECK(queue.enter(brief, kNow));
  queue.leave(first);
  CHECK(queue.enter(second, kNow));
}

TEST_CASE("A page never has all places, and does not hold up others with what it may not run",
          "[serve]")
{
  FairQueue queue(
      {.places = 3, .long_places = 1, .page_places = 2, .page_waits = 4, .address_waits = 6});
  const auto one = queue.ask({"here", "a"}), two = queue.ask({"here", "a"}),
             three = queue.ask({"here", "a"});
  CHECK(queue.enter(one, kNow));
  CHECK(queue.enter(two, kNow));
  CHECK_FALSE(queue.enter(three, kNow));
  const auto other = queue.ask({"here", "b"});
  CHECK(queue.enter(other, kNow));
  queue.leave(one);
  CHECK(queue.enter(three, kNow));
}

} // namespace foretrain::fair_queue_test
