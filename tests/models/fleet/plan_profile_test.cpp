#include "models/fleet/plan_profile.hpp"

#include "sim/engine/random.hpp"
#include "tests/models/fleet/workload.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <map>

namespace foretrain::plan_profile_test {

using namespace foretrain::models::fleet;

namespace {

constexpr ClusterShape kShape{5, 3, 0};

struct Taken {
  Allocation gpus;
  double from, until;
  bool operator==(const Taken&) const = default;
};

// What nobody has taken at any time of [from, until): second by second, GPU by GPU.
GpuSet free_between(const std::vector<Taken>& taken, double from, double until,
                    const ClusterShape& shape = kShape)
{
  GpuSet free(shape);
  for (int node = 0; node < shape.nodes; ++node)
    free.add({node, first_gpus(shape.gpus_per_node)});
  for (const Taken& it : taken)
    if (it.from < until && from < it.until)
      free.remove(it.gpus);
  return free;
}

// The fewest that are free in any second.
int fewest_between(const std::vector<Taken>& taken, double from, double until)
{
  int fewest = kShape.gpus();
  for (double second = from; second < until; ++second)
    fewest = std::min(fewest, free_between(taken, second, second + 1).count());
  return fewest;
}

// Whether so many are free from some second before `start` on, for `length` or until `start`, in a
// stretch of such seconds that meets `freed`.
bool enough_before(const std::vector<Taken>& taken, double start, int gpus, double length,
                   const TimeSpan& freed)
{
  if (start <= 0 || freed.from >= Seconds(start + length))
    return false;
  double first = std::min(freed.from.value(), start - 1);
  while (first > 0 && fewest_between(taken, first - 1, first + 1) >= gpus)
    --first;
  for (double second = first; second < std::min(freed.until.value(), start); ++second)
    if (fewest_between(taken, second, std::min(start, second + length)) >= gpus)
      return true;
  return false;
}

Allocation place(const GpuSet& free, int gpus)
{
  return first_fit(free, kShape, {gpus, 0});
}

// By trying each second.
Slot earliest(const std::vector<Taken>& taken, int gpus, double length, double from = 0,
              const ClusterShape& shape = kShape)
{
  for (double start = from;; ++start)
    if (const GpuSet free = free_between(taken, start, start + length, shape); free.count() >= gpus)
      return {Seconds(start), first_fit(free, shape, {gpus, 0})};
}

// Conservative backfilling on nodes of one GPU as its authors describe it, without any short cut:
// whenever a job has ended before its limit, each waiting job in turn gives its reservation back
// and takes the earliest one.
class EachInTurn {
public:
  std::vector<Decision> operator()(const Scheduler& s)
  {
    const double now = s.now().value();
    for (const Waiting& waiting : s.waiting()) // those that came while nothing was free
      if (!waiting.gone && s.job(waiting.job).submit < s.now() && !plans_.contains(waiting.job))
        plan(s, waiting.job, last_);
    bool early = false;
    for (auto it = plans_.begin(); it != plans_.end();) {
      const bool over = it->second.from < now && s.held(it->first).empty();
      early |= over && it->second.until > now;
      it = over ? plans_.erase(it) : std::next(it);
    }
    for (const Waiting& waiting : s.waiting())
      if (early && !waiting.gone && plans_.erase(waiting.job) > 0)
        plan(s, waiting.job, now);
    std::vector<Decision> start;
    for (const Waiting& waiting : s.waiting()) {
      if (waiting.gone)
        continue;
      if (!plans_.contains(waiting.job))
        plan(s, waiting.job, now);
      if (const Taken& taken = plans_[waiting.job]; taken.from <= now) {
        start.push_back({waiting.job, {}});
        for (const Slice& slice : taken.gpus)
          start.back().nodes.push_back(slice.node);
      }
    }
    last_ = now;
    return start;
  }

private:
  void plan(const Scheduler& s, JobId id, double from)
  {
    std::vector<Taken> others{{{{s.shape().nodes - 1, 1}}, 0, 1e9}}; // the node that is down
    for (const auto& [job, taken] : plans_)
      others.push_back(taken);
    const double length = s.expected(id).value();
    const double first = std::max(from, s.job(id).submit.value());
    Slot slot = earliest(others, s.job(id).gpus, length, first, s.shape());
    plans_[id] = {std::move(slot.gpus), slot.start.value(), slot.start.value() + length};
  }

  std::map<JobId, Taken> plans_; // of jobs that wait or run
  double last_ = 0;
};

// In other orders than that of arrival: all is planned anew whenever something has happened.
std::vector<Decision> planned_anew(const Scheduler& s)
{
  const double now = s.now().value();
  std::vector<Taken> taken;
  for (const Ending& ending : s.endings())
    taken.push_back({s.held(ending.job), 0, std::max(now + 1, ending.time.value())});
  std::vector<Decision> start;
  for (const Waiting& waiting : s.waiting()) {
    if (waiting.gone)
      continue;
    const double length = s.expected(waiting.job).value();
    const Slot slot = earliest(taken, waiting.gpus, length, now, s.shape());
    taken.push_back({slot.gpus, slot.start.value(), slot.start.value() + length});
    if (slot.start > s.now())
      continue;
    start.push_back({waiting.job, {}});
    for (const Slice& slice : slot.gpus)
      start.back().nodes.push_back(slice.node);
  }
  return start;
}

} // namespace

TEST_CASE("the earliest slot is that which trying each second finds", "[fleet][oracle]")
{
  sim::RandomStream stream(7, "plans");
  const auto up_to = [&](int most) { return 1 + static_cast<int>(stream.uniform() * most); };
  for (int trial = 0; trial < 40; ++trial) {
    PlanProfile profile(Seconds(0), free_between({}, 0, 1));
    std::vector<Taken> taken;
    for (int job = 0; job < 60; ++job) {
      const int gpus = up_to(kShape.gpus());
      const double length = up_to(30);
      const Slot expected = earliest(taken, gpus, length);
      const Slot found = profile.earliest(
          gpus, Seconds(length), [&](const GpuSet& free, Seconds) { return place(free, gpus); });
      REQUIRE(found == expected);
      CHECK(profile.may_start_now(gpus, Seconds(length)) ==
            (fewest_between(taken, 0, length) >= gpus));
      profile.take(found.gpus, {found.start, found.start + Seconds(length)});
      taken.push_back({found.gpus, found.start.value(), found.start.value() + length});
      const Taken own = taken[static_cast<std::size_t>(up_to(static_cast<int>(taken.size()))) - 1];
      CHECK(profile.free_throughout({Seconds(own.from), Seconds(own.until)}) ==
            free_between(taken, own.from, own.until));
      // As though its reservation was given back.
      std::vector<Taken> others;
      for (const Taken& it : taken)
        if (!(it == own))
          others.push_back(it);
      const int wanted = count(own.gpus);
      const Seconds lasts(own.until - own.from);
      const Slot again = earliest(others, wanted, lasts.value());
      const Slot earlier =
          profile.earlier({Seconds(own.from), own.gpus}, {Seconds(0), Seconds(own.from)}, wanted,
                          lasts, [&](const GpuSet& free, Seconds) { return place(free, wanted); });
      CHECK(earlier == (again.start < Seconds(own.from) ? again : Slot{}));
      const double freed = up_to(60);
      const TimeSpan since{Seconds(freed), Seconds(freed + up_to(30))};
      CHECK(profile.may_fit_before(Seconds(own.from), wanted, lasts, since) ==
            enough_before(taken, own.from, wanted, lasts.value(), since));
      if (earlier.start < kNever) // names may be in the way, counts are not
        CHECK(profile.may_fit_before(Seconds(own.from), wanted, lasts, {Seconds(0), kNever}));
      if (stream.uniform() < 0.3) { // somebody gives up
        const auto gone = taken.begin() + up_to(static_cast<int>(taken.size())) - 1;
        profile.give_back(gone->gpus, {Seconds(gone->from), Seconds(gone->until)});
        taken.erase(gone);
      }
    }
  }
}

TEST_CASE("nothing may fit where too few GPUs are free all the time", "[fleet]")
{
  PlanProfile profile(Seconds(0), free_between({}, 0, 1));
  profile.take(place(free_between({}, 0, 1), 10), {Seconds(0), Seconds(50)});
  profile.take({{4, 7}}, {Seconds(100), Seconds(120)});
  const Seconds late(200);
  const TimeSpan always{Seconds(0), kNever};
  CHECK_FALSE(profile.may_fit_before(Seconds(50), 6, Seconds(1), always));
  CHECK(profile.may_fit_before(late, 6, Seconds(10), always));
  CHECK_FALSE(profile.may_fit_before(Seconds(50), 13, Seconds(10), always));
  CHECK(profile.may_fit_before(late, 15, Seconds(80), always)); // what begins at 200 is its own
}

TEST_CASE("a job fits earlier only where something was freed", "[fleet]")
{
  PlanProfile profile(Seconds(0), free_between({}, 0, 1));
  profile.take(place(free_between({}, 0, 1), 10), {Seconds(0), Seconds(50)});
  const Seconds start(80);
  const auto fits = [&](double length, double from, double until) {
    return profile.may_fit_before(start, 6, Seconds(length), {Seconds(from), Seconds(until)});
  };
  CHECK_FALSE(fits(10, 20, 40)); // 5 are free then
  CHECK(fits(10, 20, 51));
  CHECK(fits(100, 60, 70));
  CHECK(fits(10, 85, 90)); // others than its own, until its end
  CHECK_FALSE(fits(10, 90, 95));
}

TEST_CASE("a boundary is a time to try, though nothing is freed then", "[fleet]")
{
  PlanProfile profile(Seconds(0), free_between({}, 0, 1));
  const auto from_30 = [](const GpuSet& free, Seconds start) {
    return start < Seconds(30) ? Allocation{} : place(free, 2);
  };
  CHECK(profile.earliest(2, Seconds(5), from_30).start == kNever);
  profile.keep_boundary(Seconds(40));
  profile.take({{0, 1}}, {Seconds(10), Seconds(90)});
  profile.give_back({{0, 1}},
                    {Seconds(10), Seconds(90)}); // joins what is alike, but for boundaries
  CHECK(profile.earliest(2, Seconds(5), from_30).start == Seconds(40));
}

namespace {

void check_conservative(int trials)
{
  sim::RandomStream stream(3, "conservative");
  const auto up_to = [&](int most) { return 1 + static_cast<int>(stream.uniform() * most); };
  for (int trial = 0; trial < trials; ++trial) {
    Workload workload;
    double time = 0;
    for (int i = 0; i < 50; ++i) {
      time += up_to(8) - 1;
      const int work = up_to(30);
      workload.jobs.push_back(test::job(time, up_to(6), work, work + (i % 3) * up_to(20)));
    }
    // Node 7 is down for good, and fails again each second, so that all is looked at then.
    std::vector<Outage> clock;
    for (int second = 0; second < 3000; ++second)
      clock.push_back({Seconds(second), 7, 1, Seconds(1e9)});
    FleetSetting setting = test::one_gpu_nodes(8, {.backfill = Backfilling::conservative});
    setting.outages = outages_of(clock);
    const FleetResult found = simulate(workload, setting);
    setting.outages = outages_of(clock);
    setting.decide = EachInTurn();
    const FleetResult expected = simulate(workload, setting);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      REQUIRE(found.jobs[i].start == expected.jobs[i].start);
  }
}

void check_planned_anew(Order order, int trials)
{
  sim::RandomStream stream(5, "anew");
  const auto up_to = [&](int most) { return 1 + static_cast<int>(stream.uniform() * most); };
  for (int trial = 0; trial < trials; ++trial) {
    Workload workload;
    workload.accounts = {"a", "b"};
    double time = 0;
    for (int i = 0; i < 40; ++i) {
      time += up_to(8) - 1;
      const int work = up_to(30);
      workload.jobs.push_back(test::job(time, up_to(6), work, work + (i % 3) * up_to(20)));
      workload.jobs.back().priority = up_to(3);
      workload.jobs.back().account = static_cast<std::uint32_t>(up_to(2) - 1);
    }
    FleetSetting setting =
        test::one_gpu_nodes(8, {.order = order, .backfill = Backfilling::conservative});
    const FleetResult found = simulate(workload, setting);
    setting.decide = planned_anew;
    const FleetResult expected = simulate(workload, setting);
    for (std::size_t i = 0; i < workload.jobs.size(); ++i)
      REQUIRE(found.jobs[i].start == expected.jobs[i].start);
  }
}

} // namespace

TEST_CASE("conservative backfilling is that which gives each reservation back in turn",
          "[fleet][oracle][many]")
{
  check_conservative(60);
}

TEST_CASE("some conservative backfilling is that which gives each reservation back in turn",
          "[fleet][oracle]")
{
  check_conservative(3);
}

TEST_CASE("in another order than that of arrival all is planned anew in it",
          "[fleet][oracle][many]")
{
  const Order order =
      GENERATE(Order::sjf, Order::priority, Order::las, Order::srtf, Order::fair_share);
  check_planned_anew(order, 20);
}

TEST_CASE("in each order some is planned anew in it", "[fleet][oracle]")
{
  const Order order =
      GENERATE(Order::sjf, Order::priority, Order::las, Order::srtf, Order::fair_share);
  check_planned_anew(order, 3);
}

TEST_CASE("nobody gets GPUs of a job that is overdue", "[fleet]")
{
  const Order order = GENERATE(Order::fifo, Order::sjf);
  Workload workload;
  workload.jobs = {test::job(0, 2, 100), test::job(1, 3, 50), test::job(150, 1, 200)};
  FleetSetting setting =
      test::one_gpu_nodes(3, {.order = order, .backfill = Backfilling::conservative});
  setting.speeds.rates = [](std::span<const Placed> jobs) {
    return std::vector<JobRate>(jobs.size(), JobRate{0.5, 1});
  };
  const FleetResult result = simulate(workload, setting);
  CHECK(result.jobs[1].start == Seconds(200));
  CHECK(result.jobs[2].start == Seconds(300));
}

TEST_CASE("a reservation that begins when nothing else happens is kept", "[fleet]")
{
  // Three GPUs. The third job needs all, at 100; the fourth has one from 60, when the second ends.
  // At 50 the first ends, long before its limit: the third moves to 65, behind the fourth, which
  // then moves to 50. Nobody ends at 65.
  Workload workload;
  workload.jobs = {test::job(0, 2, 50, 100), test::job(0, 1, 60, 60), test::job(1, 3, 10, 10),
                   test::job(2, 1, 5, 5)};
  const FleetResult result =
      simulate(workload, test::one_gpu_nodes(3, {.backfill = Backfilling::conservative}));
  CHECK(result.jobs[3].start == Seconds(50));
  CHECK(result.jobs[2].start == Seconds(65));
}

} // namespace foretrain::plan_profile_test
