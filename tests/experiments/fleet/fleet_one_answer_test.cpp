// What all commands say of a fleet is the same: random fleets of all policies with failures,
// checkpoints, quotas and maintenance, asked through fleet, its tables, check, compare and plan.
#include "experiments/fleet/fleet_compare.hpp"
#include "experiments/fleet/fleet_expectations.hpp"
#include "experiments/fleet/fleet_plan.hpp"
#include "experiments/fleet/fleet_points_text.hpp"
#include "experiments/fleet/fleet_quantities.hpp"
#include "experiments/fleet/fleet_text.hpp"
#include "experiments/fleet/fleet_when.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "tests/experiments/draw.hpp"
#include "tests/experiments/fleet/text_file.hpp"
#include "tests/support/catch.hpp"

#include <numeric>
#include <sstream>

namespace foretrain::fleet_one_answer_test {

using namespace foretrain::experiments;
using models::fleet::JobState;

namespace {

Json random_mix(test::Draw& draw, int gpus)
{
  Json mix = Json::array();
  for (int i = draw.whole(1, 3); i > 0; --i) {
    Json entry = {{"name", "mix " + std::to_string(i)},
                  {"share", draw.log(0.2, 5)},
                  {"queue", draw.of<std::string>({"long", "short"})},
                  {"account", draw.of<std::string>({"nlp", "vision", "other"})},
                  {"priority", draw.whole(0, 3)},
                  {"gpus", draw.whole(1, draw.whole(0, 9) == 0 ? 2 * gpus : gpus)},
                  {"run_time", std::to_string(draw.whole(60, 20000)) + " s"},
                  {"law", draw.of<std::string>({"exponential", "log-normal", "fixed"})}};
    if (draw.whole(0, 1) == 1)
      entry["limit"] = std::to_string(draw.whole(600, 90000)) + " s";
    mix.push_back(entry);
  }
  return mix;
}

Json random_policy(test::Draw& draw)
{
  switch (draw.whole(0, 3)) {
  case 0:
    return draw.of<std::string>({"fifo", "easy", "conservative", "kubernetes", "srtf", "las"});
  case 1:
    return {{"order", draw.of<std::string>({"priority", "sjf"})},
            {"preemption", draw.of<std::string>({"priority", "none"})},
            {"backfill", "easy"}};
  case 2:
    return {{"order", "fair-share"}, {"backfill", draw.of<std::string>({"easy", "conservative"})}};
  default:
    return {{"gang", false},
            {"placement", draw.of<std::string>({"spread", "first-fit", "best-fit"})}};
  }
}

Json random_failures(test::Draw& draw)
{
  Json failures = {{"per_1000_node_days", draw.log(10, 3000)},
                   {"repair", {{"median", "1 h"}, {"mean", "3 h"}}},
                   {"detect", "2 min"},
                   {"spares", draw.whole(0, 2)},
                   {"keep_place", draw.whole(0, 1) == 1}};
  if (draw.whole(0, 2) == 0)
    failures["storage"] = {{"per_1000_days", 500}};
  if (draw.whole(0, 2) == 0)
    failures["gpus"] = {{"per_1000_days", draw.log(1, 300)},
                        {"takes", draw.of<std::string>({"node", "gpu"})}};
  if (draw.whole(0, 2) == 0)
    failures["drained"] = 0.5;
  return failures;
}

Json random_fleet(test::Draw& draw)
{
  const int nodes = draw.whole(2, 8), per_node = draw.of(std::vector<int>{1, 2, 4, 8});
  Json json = {{"name", "random"},
               {"cluster", {{"nodes", nodes}, {"gpus_per_node", per_node}}},
               {"queues", {{{"name", "long"}}, {{"name", "short"}}}},
               {"policy", random_policy(draw)},
               {"arrivals",
                {{"per_hour", draw.log(0.5, 8)},
                 {"until", "2 d"},
                 {"burst", draw.whole(1, 3)},
                 {"mix", random_mix(draw, nodes * per_node)}}},
               {"seeds", draw.whole(1, 3)},
               {"seed", draw.whole(1, 1000)}};
  if (draw.whole(0, 1) == 1) {
    json["cluster"]["price_per_gpu_hour"] = draw.log(0.5, 10);
    json["cluster"]["currency"] = "EUR";
  }
  if (draw.whole(0, 1) == 1)
    json["cluster"]["power"] = {{"gpu_busy", 300}, {"gpu_idle", 50}, {"node", 800}};
  if (draw.whole(0, 2) == 0) {
    json["queues"][0]["quota_gpus"] = draw.whole(1, nodes * per_node);
    json["queues"][1]["borrow"] = true;
  }
  if (draw.whole(0, 1) == 1)
    json["failures"] = random_failures(draw);
  if (draw.whole(0, 1) == 1)
    json["checkpoint"] = {{"interval", draw.of<std::string>({"30 min", "best"})},
                          {"write", "40 s"},
                          {"restart", "3 min"},
                          {"asynchronous", draw.whole(0, 1) == 1}};
  if (json["policy"] == "kubernetes" ||
      (json["policy"].is_object() && json["policy"].contains("gang")))
    json.contains("failures") ? json["failures"].erase("keep_place") : 0; // pods keep theirs anyway
  if (!json.contains("failures") && json.contains("checkpoint"))
    json["checkpoint"]["interval"] = "30 min"; // there is no best one
  if (draw.whole(0, 3) == 0)
    json["maintenance"] = {{{"from", "10 h"}, {"length", "3 h"}, {"nodes", 1}}};
  return json;
}

FleetFile load(const Json& json)
{
  return load_fleet_file(parse_document(json.dump(), "fleet.json"), {}, "");
}

const LoadedFleet& only(const FleetFile& file)
{
  return file.points.front().fleet;
}

// At most so many GPU seconds are of GPUs that are down, and that jobs hold until it is noticed.
double broken_held(const LoadedFleet& fleet, const FleetRun& run)
{
  const double detect = fleet.spec.failures ? fleet.spec.failures->detect.value() : 0;
  return detect * run.result.failures * fleet.shape.gpus_per_node;
}

// Of one seed.
void check_run(const LoadedFleet& fleet, const FleetRun& run)
{
  const FleetAnswer answer = fleet_answer(fleet, {&run, 1});
  const double length = answer.makespan_s.median / 3600;
  double hours = 0, held = 0;
  for (const FleetHoursPart& part : fleet_hours_parts()) {
    const Range& range = answer.gpu_hours.*part.part;
    CHECK(range.median >= -1e-9);
    CHECK(range.low == range.high);
    hours += range.median;
  }
  const FleetHours& parts = answer.gpu_hours;
  for (const Range* of : {&parts.productive, &parts.contended, &parts.checkpoint, &parts.lost,
                          &parts.restart, &parts.held})
    held += of->median;
  CHECK(hours == Approx(answer.gpus * length));
  CHECK(answer.utilisation.median == Approx(held / hours));
  CHECK(answer.goodput.median == Approx(parts.productive.median / hours));
  if (held > 0)
    CHECK(answer.ettr.median == Approx(parts.productive.median / held));
  if (answer.cost) // of spares, too
    CHECK(answer.cost->median == Approx(*fleet.price * length * fleet.shape.gpus()));

  const double broken = broken_held(fleet, run) / 3600;
  const FleetJobCounts& jobs = answer.jobs;
  CHECK(jobs.submitted == jobs.completed + jobs.timeout + jobs.rejected + jobs.waiting);
  CHECK(jobs.stuck <= jobs.waiting);
  const int ran = jobs.completed + jobs.timeout;
  for (const auto* groups : {&answer.by_queue, &answer.by_account, &answer.by_size}) {
    int in_groups = 0;
    double waits = 0, of_groups = 0;
    for (const auto& [name, group] : *groups) {
      in_groups += group.jobs;
      of_groups += group.gpu_hours.median;
      CHECK(group.wait_s.has_value() == (group.jobs > 0));
      waits += group.jobs > 0 ? group.jobs * group.wait_s->mean.median : 0;
    }
    CHECK(in_groups == ran);
    CHECK(of_groups > (1 - 1e-9) * (held - parts.held.median) - 1e-9);
    CHECK(of_groups < (1 + 1e-9) * (held - parts.held.median) + broken + 1e-9);
    if (ran > 0)
      CHECK(waits / ran == Approx(answer.wait_s->mean.median));
  }
  CHECK(answer.wait_s.has_value() == (ran > 0));
}

std::vector<std::string> split(const std::string& line, char by)
{
  std::vector<std::string> cells;
  std::istringstream in(line);
  for (std::string cell; std::getline(in, cell, by);)
    cells.push_back(cell);
  return cells;
}

std::vector<std::vector<std::string>> rows_of(const std::string& csv)
{
  std::vector<std::vector<std::string>> rows;
  std::istringstream in(csv);
  for (std::string line; std::getline(in, line);) {
    line.pop_back(); // CR
    rows.push_back(split(line + ",", ','));
  }
  return rows;
}

// The table of jobs says what the answer of its seed says.
void check_jobs(const FleetRun& run, const FleetAnswer& answer)
{
  const auto rows = rows_of(jobs_csv(run));
  REQUIRE(rows.size() == static_cast<std::size_t>(answer.jobs.submitted) + 1);
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(rows[0].begin(), rows[0].end(), name) -
                                    rows[0].begin());
  };
  int completed = 0, ran = 0;
  double waits = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::string& state = rows[i].at(column("state"));
    completed += state == "completed" ? 1 : 0;
    if (state != "completed" && state != "timeout")
      continue;
    ++ran;
    waits += std::stod(rows[i].at(column("wait_s")));
    CHECK(std::stod(rows[i].at(column("end_s"))) >= std::stod(rows[i].at(column("start_s"))));
  }
  CHECK(completed == answer.jobs.completed);
  if (ran > 0)
    CHECK(waits / ran == Approx(answer.wait_s->mean.median).margin(1e-3));
}

// Who held which GPUs when adds up to what the answer says jobs held, and nobody shares one.
void check_history(const LoadedFleet& fleet, const FleetRun& run, const FleetRun& with_history)
{
  CHECK(with_history.result.end == run.result.end);
  const auto sum = [&](const std::vector<models::fleet::HeldSpan>& spans) {
    double held = 0;
    for (const auto& span : spans) {
      held += count(span.slice) * (span.until - span.from).value();
      CHECK((span.slice.gpus & ~models::fleet::first_gpus(fleet.shape.gpus_per_node)) == 0);
    }
    return held;
  };
  const models::fleet::GpuTime& time = run.result.gpu_time;
  CHECK(sum(with_history.result.held_waiting) == Approx(time.held));
  const double held = sum(with_history.result.spans), told = time.busy() - time.held;
  CHECK(held > (1 - 1e-9) * told - 1e-6);
  CHECK(held < (1 + 1e-9) * told + broken_held(fleet, run) + 1e-6);
  for (std::size_t i = 0; i < run.result.jobs.size(); ++i)
    CHECK(with_history.result.jobs[i].end == run.result.jobs[i].end);
}

bool same(const Range& a, const Range& b)
{
  return a.median == b.median && a.low == b.low && a.high == b.high;
}

void check_comparison(const FleetFile& file, const std::vector<FleetPointRun>& points)
{
  const FleetSide side{"a", points};
  const FleetComparison found = compare_fleets(side, side, {}, {});
  REQUIRE(found.pairs.size() == 1);
  const FleetAnswer& answer = points.front().answer;
  std::size_t known = 0;
  for (const FleetQuantity& quantity : fleet_quantities())
    known += quantity.of(answer) != nullptr ? 1U : 0U;
  CHECK(found.pairs[0].quantities.size() == known);
  for (const FleetComparedQuantity& it : found.pairs[0].quantities) {
    const Range& told = *fleet_quantity(it.quantity).of(answer);
    CHECK(same(it.a, told));
    CHECK(same(it.b, told));
    CHECK(it.difference.median == 0);
    CHECK(it.b_less + it.b_more == 0);
  }
  CHECK(found.seeds == only(file).spec.seeds);
}

// As columns of a table of points, of which there is one.
void check_points(const FleetFile& file, const std::vector<FleetPointRun>& points)
{
  const auto rows = rows_of(fleet_points_csv(fleet_sweep_answer(file, points)));
  REQUIRE(rows.size() == 2);
  for (const FleetQuantity& quantity : fleet_quantities()) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), quantity.column());
    const Range* const told = quantity.of(points.front().answer);
    if (at == rows[0].end())
      CHECK(told == nullptr);
    else if (const std::string& cell = rows[1].at(static_cast<std::size_t>(at - rows[0].begin()));
             told != nullptr)
      CHECK(std::stod(cell) == Approx(told->median).margin(1e-9));
    else
      CHECK(cell.empty());
  }
}

// What is expected at least as it is holds; more does not.
void check_expectations(const Json& fleet, const FleetAnswer& answer)
{
  Json json = fleet;
  json["expect"] = Json::array();
  for (const FleetQuantity& quantity : fleet_quantities())
    if (const Range* told = quantity.of(answer); told != nullptr && told->median > 1e-6) {
      json["expect"].push_back({{"quantity", quantity.pointer}, {"at_least", told->median}});
      json["expect"].push_back({{"quantity", quantity.pointer}, {"at_least", 1.01 * told->median}});
    }
  const FleetFile file = load(json);
  const auto judged = judged_fleet_expectations(
      file, {{run_fleet_points(file.points, options_of(only(file).spec))}});
  REQUIRE(judged.size() == json["expect"].size());
  for (const JudgedExpectation& it : judged)
    CHECK(it.problem.empty() == (it.index % 2 == 0));
}

void check_plan(const Json& fleet, const FleetAnswer& answer)
{
  const Json plan = {
      {"name", "p"},
      {"fleet", fleet},
      {"goals", {{{"done_by", "1000 d"}}}},
      {"changes",
       {{{"name", "nodes"}, {"vary", "/cluster/nodes"}, {"values", {fleet["cluster"]["nodes"]}}}}}};
  const test::TextFile file("one-answer-plan.json", plan.dump());
  const LoadedFleetPlan loaded = load_fleet_plan(load_plan_file(file.path(), {}));
  const FleetPlanAnswer found = judge_fleet_plan(
      loaded, run_fleet_points(loaded.points, options_of(loaded.points.front().fleet.spec)));
  const FleetCandidateAnswer& candidate = found.candidates.front();
  CHECK(candidate.error.empty());
  CHECK(same(*candidate.makespan_s, answer.makespan_s));
  CHECK(same(*candidate.goodput, answer.goodput));
  CHECK(same(*candidate.utilisation, answer.utilisation));
  CHECK(candidate.wait_p90_s.has_value() == answer.wait_s.has_value());
  if (answer.wait_s) {
    CHECK(same(*candidate.wait_p90_s, answer.wait_s->p90));
    CHECK(same(*candidate.wait_mean_s, answer.wait_s->mean));
    CHECK(same(*candidate.completion_mean_s, answer.completion_s->mean));
  }
  CHECK(candidate.cost.has_value() == answer.cost.has_value());
  if (answer.cost)
    CHECK(*candidate.cost == Approx(answer.cost->median));
  CHECK(candidate.never_run == never_run(answer.jobs));
}

void check_fleets(unsigned seed, int count)
{
  test::Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    const Json json = random_fleet(draw);
    CAPTURE(i, json.dump());
    const FleetFile file = load(json);
    const LoadedFleet& fleet = only(file);
    FleetOptions options = options_of(fleet.spec);
    const std::vector<FleetRun> runs = run_fleet(fleet, options);
    for (const FleetRun& run : runs)
      check_run(fleet, run);
    const FleetAnswer answer = fleet_answer(fleet, runs);
    CHECK(written(read_from<FleetAnswer>(written(answer), "an answer")) == written(answer));
    check_jobs(runs.front(), fleet_answer(fleet, {&runs.front(), 1}));
    const auto points = run_fleet_points(file.points, options);
    CHECK(written(points.front().answer) == written(answer));
    options.history = true;
    check_history(fleet, runs.front(), run_fleet(fleet, options).front());
    check_comparison(file, points);
    check_points(file, points);
    check_expectations(json, answer);
    check_plan(json, answer);
  }
}

} // namespace

TEST_CASE("all commands say the same of a fleet, 1 to 10", "[fleet][same][property][long]")
{
  check_fleets(1, 10);
}

TEST_CASE("all commands say the same of a fleet, 11 to 100", "[fleet][same][property][many]")
{
  check_fleets(2, 90);
}

} // namespace foretrain::fleet_one_answer_test
