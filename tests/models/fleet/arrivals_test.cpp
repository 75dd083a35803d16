// When drawn jobs come.
#include "models/fleet/arrivals.hpp"

#include "tests/support/catch.hpp"

namespace foretrain::arrivals_test {

using namespace foretrain::models::fleet;

namespace {

std::vector<double> times(const Arrivals& arrivals, std::uint64_t seed)
{
  std::vector<double> found;
  for (const Job& job : draw_jobs(arrivals, seed))
    found.push_back(job.submit.value());
  return found;
}

// Four jobs in the first hour of a day, two in each other one.
Arrivals busy_at_night()
{
  Arrivals arrivals;
  arrivals.process = ArrivalProcess::even;
  arrivals.per_second = 50.0 / 24 / 3600;
  arrivals.by_hour.assign(24, 1);
  arrivals.by_hour.front() = 2;
  arrivals.until = Seconds(2 * 86400 - 1);
  arrivals.kinds.emplace_back();
  return arrivals;
}

} // namespace

TEST_CASE("even arrivals are as far apart as the hour's rate says", "[fleet][closed-form]")
{
  const std::vector<double> found = times(busy_at_night(), 1);
  REQUIRE(found.size() == 99); // the hundredth comes at the end of the second day
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t day = i / 50, of_day = i % 50;
    const double at = of_day < 4 ? 900.0 * static_cast<double>(of_day + 1)
                                 : 3600 + 1800.0 * static_cast<double>(of_day - 3);
    CHECK_THAT(found[i], test::is(86400.0 * static_cast<double>(day) + at));
  }
  CHECK(times(busy_at_night(), 2) == found); // nothing is drawn
}

TEST_CASE("nobody comes in an hour without a rate", "[fleet]")
{
  Arrivals arrivals = busy_at_night();
  arrivals.by_hour.assign(24, 0);
  arrivals.by_hour[5] = 1;
  for (const auto process : {ArrivalProcess::even, ArrivalProcess::poisson}) {
    arrivals.process = process;
    const std::vector<double> found = times(arrivals, 1);
    CHECK(found.size() > 50);
    for (const double time : found)
      CHECK((static_cast<int>(time / 3600) % 24 == 5 || time == 6 * 3600.0 || time == 30 * 3600.0));
  }
}

TEST_CASE("even arrivals keep their rate on the days of a week", "[fleet][closed-form]")
{
  Arrivals arrivals = busy_at_night();
  arrivals.by_hour.clear();
  arrivals.by_weekday = {1, 1, 1, 1, 1, 0, 0};
  arrivals.per_second = 350.5 / (7 * 86400);
  arrivals.until = Seconds(8 * 86400); // the first day of the next week, too
  const std::vector<double> found = times(arrivals, 1);
  const double apart = 5 * 86400.0 / 350.5;
  REQUIRE(found.size() == 350 + 70);
  CHECK_THAT(found[1] - found[0], test::is(apart));
  CHECK_THAT(found[349], test::is(350 * apart));
  CHECK_THAT(found[350], test::is(2 * 86400.0 + 351 * apart));
}

} // namespace foretrain::arrivals_test
