// What all commands say of a point is the same: 200 random experiments of networks, transformers,
// inference and recordings, asked through predict, a store's SQL, CSV, check, compare, plan, tune,
// explain and the report.
#include "experiments/answers/compare.hpp"
#include "experiments/answers/compare_sides.hpp"
#include "experiments/answers/expectations.hpp"
#include "experiments/answers/explain.hpp"
#include "experiments/answers/plan_answer.hpp"
#include "experiments/answers/predict.hpp"
#include "experiments/answers/tune.hpp"
#include "experiments/report/report_csv.hpp"
#include "experiments/report/report_html_answer.hpp"
#include "experiments/run/keep/judged.hpp"
#include "experiments/run/keep/result_columns.hpp"
#include "experiments/run/keep/result_store.hpp"
#include "tests/experiments/random_jobs.hpp"
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretrain::one_answer_test {

using namespace foretrain::experiments;

namespace {

constexpr int kExplained = 25; // every so manieth: it runs the point for each lever
constexpr int kTuned = 5;      // likewise: it simulates many plans

enum class Kind { network, transformer, inference, recorded };

// Half of them networks and transformers each, but for what is drawn now and then.
Kind random_kind(test::Draw& draw)
{
  switch (draw.whole(0, 9)) {
  case 0:
    return Kind::inference;
  case 1:
    return Kind::recorded;
  default:
    return draw.whole(0, 1) == 1 ? Kind::transformer : Kind::network;
  }
}

Json random_job(test::Draw& draw, Kind kind, int gpus)
{
  switch (kind) {
  case Kind::transformer:
    return test::transformer_job(draw, gpus);
  case Kind::inference:
    return test::inference_job(draw);
  case Kind::recorded:
    return test::recorded_job(draw);
  default:
    return test::network_job(draw);
  }
}

// How long the training is: not told, or in one of three ways.
void add_length(test::Draw& draw, bool transformer, Json& job)
{
  switch (draw.whole(0, 2)) {
  case 0:
    break;
  case 1:
    job["training_steps"] = draw.whole(1000, 100000);
    break;
  default:
    transformer ? job["tokens"] = draw.log(1e8, 1e12) : job["epochs"] = draw.whole(1, 90);
  }
}

// One setting varies: some batches do not fit.
Json random_experiment(test::Draw& draw)
{
  const auto platform = draw.of<std::string>(
      {"c4140-m-v100-sxm2", "c4140-k-v100-sxm2", "c4140-c-v100-pcie", "dgx-a100", "hgx-h100"});
  const Kind kind = random_kind(draw);
  const bool transformer = kind == Kind::transformer;
  const int gpus = draw.of(std::vector<int>{1, 2, 4, 8});
  Json job = random_job(draw, kind, gpus);
  job["gpus"] = gpus;
  if (kind != Kind::inference)
    add_length(draw, transformer, job);
  if (kind == Kind::network && draw.whole(0, 3) == 0)
    job["input"] = draw.of<std::string>({"tfrecord", "jpeg"});
  Json json = {{"name", "random"}, {"cluster", {{"platform", platform}}}, {"jobs", {job}}};
  if (draw.whole(0, 1) == 1)
    json["cluster"]["price_per_gpu_hour"] = draw.log(0.5, 10);
  if (draw.whole(0, 1) == 1)
    json["cluster"]["currency"] = "EUR";
  if (!transformer && draw.whole(0, 5) == 0) {
    Json second = test::network_job(draw);
    second["name"] = "second";
    json["jobs"].push_back(second);
  }
  if (transformer) {
    json["jobs"][0]["global_batch"] = 16 * gpus;
    json["sweep"] = {{"/jobs/0/micro_batch", {1, 2, 16}}};
  } else {
    json["sweep"] = {{"/jobs/0/batch_per_gpu", {16, 64, 4096}}};
  }
  return json;
}

std::string temporary(const char* name)
{
  return (std::filesystem::temp_directory_path() /
          ("foretrain-one-" + std::to_string(getpid()) + "-" + name))
      .string();
}

ExperimentResult predicted_result(const LoadedExperiment& experiment)
{
  PredictOptions options;
  options.jobs = 1;
  options.uncertainty.method = UncertaintyMethod::steps;
  return predict(experiment, options, [](int, int) {}).result;
}

Json predicted(const LoadedExperiment& experiment)
{
  return written(predicted_result(experiment));
}

// As tables print it; "" where there is none.
std::string printed(const Json& job, const std::string& pointer, bool as_sql)
{
  const Json::json_pointer at(pointer);
  if (!job.contains(at))
    return "";
  const Json& value = job.at(at);
  return value.is_string() ? value.get<std::string>()
         : value.is_boolean()
             ? (value.get<bool>() ? (as_sql ? "1" : "true") : (as_sql ? "0" : "false"))
             : value.dump();
}

bool same_text(const std::string& a, const std::string& b)
{
  if (a == b)
    return true;
  if (a.empty() || b.empty())
    return false;
  try {
    return std::stod(a) == std::stod(b);
  } catch (const std::exception&) {
    return false;
  }
}

std::vector<std::vector<std::string>> csv_rows(const std::string& text)
{
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' && quoted && i + 1 < text.size() && text[i + 1] == '"') {
      rows.back().back() += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      rows.back().emplace_back();
    } else if (c == '\n' && !quoted) {
      rows.emplace_back(1);
    } else if (c != '\r') {
      rows.back().back() += c;
    }
  }
  rows.pop_back();
  return rows;
}

std::vector<const Json*> jobs_of(const Json& result)
{
  std::vector<const Json*> jobs;
  for (const Json& point : result.at("points"))
    for (const Json& job : point.at("jobs"))
      jobs.push_back(&job);
  return jobs;
}

// Rows of a table, a line for each job, hold what the jobs say.
void check_rows(const std::vector<std::vector<std::string>>& rows,
                const std::vector<const Json*>& jobs, bool as_sql)
{
  REQUIRE(rows.size() == jobs.size() + 1);
  for (const Column& column : result_columns()) {
    const auto at = std::find(rows[0].begin(), rows[0].end(), column.name);
    REQUIRE(at != rows[0].end());
    const auto i = static_cast<std::size_t>(at - rows[0].begin());
    for (std::size_t row = 0; row < jobs.size(); ++row) {
      const std::string expected = printed(*jobs[row], column.pointer, as_sql);
      if (!same_text(rows[row + 1][i], expected))
        FAIL_CHECK(column.name << " is " << rows[row + 1][i] << ", not " << expected);
    }
  }
}

double number(const Json& job, const char* pointer)
{
  return job.at(Json::json_pointer(pointer)).get<double>();
}

// What one job says agrees with itself.
void check_job(const Json& job, const Json& input)
{
  double parts = 0;
  for (const auto& part : job.at("time_s").items())
    parts += part.value().get<double>();
  CHECK(parts > 0.9 * number(job, "/step_time_s/low"));
  CHECK(parts < 1.1 * number(job, "/step_time_s/high"));
  for (const auto& part : job.at("time_s").items()) {
    CHECK(part.value().get<double>() > -1e-12);
    CHECK(part.value().get<double>() <= parts * (1 + 1e-9));
  }
  CHECK(job.at("fits").get<bool>() == (number(job, "/device_memory_byte/needed") <=
                                       number(job, "/device_memory_byte/available")));
  if (job.contains("tokens_per_s"))
    for (const char* end : {"/median", "/low", "/high"})
      CHECK_THAT(number(job, ("/tokens_per_s" + std::string(end)).c_str()),
                 test::is(number(job, ("/throughput_samples_per_s" + std::string(end)).c_str()) *
                          input.at("/jobs/0/sequence"_json_pointer).get<double>()));
  if (job.contains("days"))
    CHECK_THAT(86400 * number(job, "/days/median"), test::is(number(job, "/training_s/total")));
  const Json& cluster = input.at("cluster");
  CHECK(job.contains("cost") == (job.contains("days") && cluster.contains("price_per_gpu_hour")));
  if (job.contains("cost"))
    for (const char* end : {"/median", "/low", "/high"})
      CHECK_THAT(number(job, ("/cost" + std::string(end)).c_str()),
                 test::is(number(job, ("/days" + std::string(end)).c_str()) * 24 *
                          number(job, "/gpus") * cluster.at("price_per_gpu_hour").get<double>()));
}

void check_store(const Json& result)
{
  const std::string path = temporary("store.db");
  std::filesystem::remove(path);
  {
    ResultStore store(path);
    std::vector<StoredPoint> points;
    for (const Json& point : result.at("points"))
      points.push_back({std::to_string(points.size()), "random", "1", 1, "coupled", point});
    store.put(points);
    check_rows(store.ask("SELECT * FROM jobs ORDER BY point"), jobs_of(result), true);
  }
  std::filesystem::remove(path);
}

// The best of each job's answer is the best of what fits.
void check_best(const ExperimentResult& result)
{
  const Report report(result);
  for (const Answer& answer : answers(report))
    for (const ReportRow& row : report.rows())
      if (row.name == answer.best->name && row.fits()) {
        CHECK(answer.best->fits());
        CHECK(row.judged() <= answer.best->judged());
      }
  for (const PointComparison& it : result.comparisons)
    for (const int side : {it.point, it.than})
      for (const JobResult& job : result.points[static_cast<std::size_t>(side)].jobs)
        CHECK((job.name != it.job || job.memory.fits()));
}

void check_comparison(const LoadedExperiment& experiment, const ExperimentResult& made,
                      const Json& result)
{
  const CompareSide side = side_of_prediction(experiment, made, "a");
  CompareOptions options;
  options.settings_alone = false;
  const Json answer = written(compare(side, side, options));
  const auto jobs = jobs_of(result);
  REQUIRE(answer.at("pairs").size() == jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i)
    for (const char* key : {"throughput_samples_per_s", "step_time_s", "tokens_per_s", "days",
                            "cost", "fits", "bottleneck", "time_s"})
      for (const char* of : {"a", "b"})
        CHECK(answer.at("pairs")[i].at(of).value(key, Json()) == jobs[i]->value(key, Json()));
}

// Expectations that ask for what is predicted hold, those that ask for more do not.
void check_expectations(const LoadedExperiment& experiment, const ExperimentResult& made,
                        const Json& result)
{
  ExperimentSpec spec = experiment.spec;
  for (const std::string quantity :
       {"/throughput_samples_per_s", "/step_time_s", "/efficiency", "/days", "/cost", "/mfu"})
    for (const auto& setting : experiment.points.front().settings) {
      const Json& job = result.at("points")[0].at("jobs")[0];
      const Json::json_pointer at(quantity);
      if (!job.contains(at))
        continue;
      const Json& found = job.at(at);
      const double value =
          found.is_object() ? found.at("median").get<double>() : found.get<double>();
      ExpectationSpec expectation;
      expectation.job = job.at("name").get<std::string>();
      auto point = std::make_shared<Document>();
      point->root = {{setting.first, setting.second}};
      expectation.point = Value(point);
      expectation.quantity = quantity;
      expectation.at_least = value;
      expectation.at_most = value;
      spec.expect.push_back(expectation);
      expectation.at_least = 1.01 * value;
      expectation.at_most.reset();
      spec.expect.push_back(expectation);
    }
  const auto judged = judged_expectations(spec, made, false);
  CHECK(judged.size() == spec.expect.size());
  for (const JudgedExpectation& it : judged)
    CHECK(it.problem.empty() == (it.index % 2 == 0));
  std::size_t misfits = 0;
  for (const Json* job : jobs_of(result))
    misfits += job->at("fits").get<bool>() ? 0U : 1U;
  CHECK(unexpected_misfits(experiment.spec, made).size() == misfits);
}

void check_plan(const Json& experiment, const Json& result)
{
  Json json = experiment;
  const auto sweep = *json.at("sweep").items().begin();
  Json options = Json::array();
  for (const Json& value : sweep.value())
    options.push_back({{"name", value.dump()}, {"set", {{sweep.key(), value}}}});
  json.erase("sweep");
  const Json plan = {{"experiment", json},
                     {"changes", {{{"name", "batch"}, {"options", options}}}},
                     {"goals", {{{"throughput_at_least", 1e-6}}}}};
  const std::string path = temporary("plan.json");
  std::ofstream(path) << plan.dump();
  const LoadedPlan loaded = load_plan(path, {}, {});
  std::filesystem::remove(path);
  const Json answer = written(judge(loaded, predicted_result(loaded.experiment)));
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Json& candidate = answer.at("candidates")[i];
    const Json& jobs = result.at("points")[i].at("jobs");
    CHECK(candidate.at("jobs") == jobs);
    double cost = 0;
    bool all_fit = true;
    for (const Json& job : jobs) {
      cost += job.contains("cost") ? number(job, "/cost/median") : 0;
      all_fit = all_fit && job.at("fits").get<bool>();
    }
    CHECK_THAT(candidate.at("cost").get<double>(), test::is(cost));
    CHECK(candidate.at("fits_memory") == all_fit);
  }
  if (!answer.at("fastest").is_null())
    CHECK(answer.at("candidates")[answer.at("fastest").get<std::size_t>()].at("fits_memory") ==
          true);
}

void check_explanation(const LoadedExperiment& experiment, const Json& result)
{
  ExplainOptions options;
  options.swaps = false;
  const Json answer = written(explain(experiment, 0, options));
  const Json& jobs = result.at("points")[0].at("jobs");
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CHECK_THAT(answer.at("jobs")[i].at("throughput_samples_per_s").get<double>(),
               test::is(number(jobs[i], "/throughput_samples_per_s/median")));
    CHECK(answer.at("jobs")[i].at("waits_for").at("resource") ==
          jobs[i].at("bottleneck").at("resource"));
  }
}

// What tune says of its plans is what is predicted of the experiments that it writes of them.
void check_tuned(const Json& experiment)
{
  Json json = experiment;
  json.erase("sweep");
  const Point point{{}, parse_document(json.dump(), "random.json"), nullptr};
  const TuneAnswer answer = tune(point, 3, {});
  const Json told = written(answer);
  for (std::size_t i = 0; i < answer.best.size(); ++i) {
    const Json tuned = tuned_experiment(point, answer.best[i], ".");
    const Json result =
        predicted(load_experiment(parse_document(tuned.dump(), "best.json"), {}, {}));
    const Json& job = result.at("points")[0].at("jobs")[0];
    const Json& plan = told.at("plans")[i];
    CHECK(job.at("fits").get<bool>());
    for (const char* quantity : {"/tokens_per_s/median", "/days/median", "/cost/median"}) {
      const Json::json_pointer at(quantity);
      CHECK(plan.contains(at) == job.contains(at));
      if (job.contains(at))
        CHECK(plan.at(at).get<double>() == Approx(job.at(at).get<double>()).epsilon(1e-3));
    }
    CHECK(plan.at("tokens_per_s").at("median") <=
          told.at("plans").front().at("tokens_per_s").at("median"));
  }
}

void check_experiments(unsigned seed, int count)
{
  test::Draw draw(seed);
  for (int i = 0; i < count; ++i) {
    const Json json = random_experiment(draw);
    CAPTURE(i, json.dump());
    const auto experiment = load_experiment(parse_document(json.dump(), "random.json"), {}, {});
    const ExperimentResult made = predicted_result(experiment);
    const Json result = written(made);
    CHECK(written(read_from<ExperimentResult>(result, "a result")) == result);
    for (const Json* job : jobs_of(result))
      check_job(*job, json);
    check_rows(csv_rows(report_csv(made)), jobs_of(result), false);
    check_store(result);
    check_best(made);
    check_comparison(experiment, made, result);
    check_expectations(experiment, made, result);
    check_plan(json, result);
    if (i % kExplained == 0)
      check_explanation(experiment, result);
    if (i % kTuned == 0 && json.at("/jobs/0"_json_pointer).contains("parallel"))
      check_tuned(json);
  }
}

} // namespace

// In parts, for the time that one test may take.
TEST_CASE("All commands say the same of a point, 1 to 8", "[same][property][many]")
{
  check_experiments(1, 8);
}

TEST_CASE("All commands say the same of a point, 9 to 56", "[same][property][many]")
{
  check_experiments(2, 48);
}

TEST_CASE("All commands say the same of a point, 57 to 104", "[same][property][many]")
{
  check_experiments(3, 48);
}

TEST_CASE("All commands say the same of a point, 105 to 152", "[same][property][many]")
{
  check_experiments(4, 48);
}

TEST_CASE("All commands say the same of a point, 153 to 200", "[same][property][many]")
{
  check_experiments(5, 48);
}

} // namespace foretrain::one_answer_test
