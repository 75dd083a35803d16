#include "models/fleet/simulation.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace foretrain::queue_test {

using namespace foretrain::models::fleet;
using test::job;

namespace {

// Mean waits of independent runs: their mean and its standard error.
struct Estimate {
  double mean = 0, error = 0;
};

template <class Work>
Estimate waits(int servers, double between, const Work& work)
{
  constexpr int kRuns = 20, kJobs = 20000;
  std::vector<double> means;
  for (int run = 0; run < kRuns; ++run) {
    sim::RandomStream stream(static_cast<std::uint64_t>(run), "queue");
    Workload workload;
    double now = 0;
    for (int i = 0; i < kJobs; ++i)
      workload.jobs.push_back(job(now += test::exponential(stream, between), 1, work(stream)));
    means.push_back(test::mean_wait(workload, simulate(workload, test::one_gpu_nodes(servers))));
  }
  Estimate estimate;
  for (const double mean : means)
    estimate.mean += mean / kRuns;
  for (const double mean : means)
    estimate.error += (mean - estimate.mean) * (mean - estimate.mean) / (kRuns * (kRuns - 1));
  estimate.error = std::sqrt(estimate.error);
  return estimate;
}

// Probability of waiting in M/M/c.
double erlang_c(int servers, double load)
{
  double term = 1, sum = 1;
  for (int k = 1; k < servers; ++k)
    sum += term *= load / k;
  const double last = term * load / servers * servers / (servers - load);
  return last / (sum + last);
}

} // namespace

TEST_CASE("M/M/c: jobs wait as long as Erlang's C says", "[fleet][closed-form][many]")
{
  const int servers = GENERATE(1, 4);
  const double service = 10, between = service / servers / 0.7;
  const Estimate found = waits(servers, between, [&](sim::RandomStream& stream) {
    return test::exponential(stream, service);
  });
  const double load = service / between;
  const double expected = erlang_c(servers, load) * service / (servers - load);
  CAPTURE(servers, found.mean, found.error, expected);
  CHECK(std::abs(found.mean - expected) < 3 * found.error);
  CHECK(found.error < 0.05 * expected);
}

TEST_CASE("M/G/1: jobs wait as long as Pollaczek and Khinchine say", "[fleet][closed-form][many]")
{
  const double between = 10;
  const Estimate found = waits(1, between, [](sim::RandomStream& stream) {
    return stream.uniform() < 0.5 ? 2.0 : 10.0; // mean 6, second moment 52
  });
  const double expected = 52 / between / (2 * (1 - 6 / between));
  CAPTURE(found.mean, found.error, expected);
  CHECK(std::abs(found.mean - expected) < 3 * found.error);
}

TEST_CASE("on one machine no order of jobs has a shorter mean wait than the shortest first",
          "[fleet][closed-form]")
{
  Workload workload;
  for (const double work : {4.0, 1.0, 3.0, 7.0, 2.0, 5.0})
    workload.jobs.push_back(job(0, 1, work));
  const double found =
      test::mean_wait(workload, simulate(workload, test::one_gpu_nodes(1, {.order = Order::sjf})));
  std::vector<double> works;
  for (const Job& one : workload.jobs)
    works.push_back(one.work.value());
  std::sort(works.begin(), works.end());
  double best = 1e9;
  do {
    double now = 0, sum = 0;
    for (const double work : works) {
      sum += now;
      now += work;
    }
    best = std::min(best, sum / static_cast<double>(works.size()));
  } while (std::next_permutation(works.begin(), works.end()));
  CHECK_THAT(found, test::is(best));
}

} // namespace foretrain::queue_test
