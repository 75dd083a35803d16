// Errors, ratios, rankings, coverage and gates against values worked out by hand.
#include "calibration/fits.hpp"
#include "experiments/report/svg_scatter.hpp"
#include "experiments/validate/validation_gates.hpp"
#include "experiments/validate/validation_json.hpp"
#include "sim/base/error.hpp"
#include "tests/support/catch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace foretrain::validation_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

Comparison comparison(const std::string& id, double measured, double predicted)
{
  Comparison it;
  it.row.id = id;
  it.row.regime = "network";
  it.row.unit = "samples/s";
  it.row.measured = measured;
  it.predicted = it.low = it.high = predicted;
  return it;
}

std::vector<const Comparison*> pointers(const std::vector<Comparison>& all)
{
  std::vector<const Comparison*> some;
  for (const Comparison& it : all)
    some.push_back(&it);
  return some;
}

Summary summary_of(const std::vector<Comparison>& all)
{
  return summarise(pointers(all), all);
}

// A suite file in a folder of its own, removed at the end.
class SuiteFile {
public:
  explicit SuiteFile(const std::string& text)
  {
    static int count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("foretrain-suite-" + std::to_string(getpid()) + "-" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << text;
  }
  ~SuiteFile() { std::filesystem::remove_all(folder_); }
  SuiteFile(const SuiteFile&) = delete;
  SuiteFile& operator=(const SuiteFile&) = delete;
  std::string path() const { return (folder_ / "mine.json").string(); }
  SuitePlan plan() const { return plan_suites({load_suite(path())}, ""); }

private:
  std::filesystem::path folder_;
};

const std::string kJob = R"({ "cluster": { "platform": "generic-4gpu" },
  "jobs": [ { "model": "resnet50", "framework": "tensorflow-horovod", "batch_per_gpu": 32 } ] })";

std::string suite_text(const std::string& rows)
{
  return R"({ "format": "foretrain.suite/1", "experiments": { "mine": )" + kJob +
         R"( }, "rows": [ )" + rows + " ] }";
}

} // namespace

TEST_CASE("errors are relative to what was measured", "[validation]")
{
  const Summary summary =
      summary_of({comparison("a", 100, 110), comparison("b", 200, 180), comparison("c", 50, 65)});
  CHECK(summary.errors.rows == 3);
  CHECK(summary.errors.mean == Approx((0.1 + 0.1 + 0.3) / 3));
  CHECK(summary.errors.bias == Approx((0.1 - 0.1 + 0.3) / 3));
  CHECK(summary.errors.maximum == Approx(0.3));
  CHECK(summary.errors.worst == "c");
}

TEST_CASE("a ratio of two rows has the error of both", "[validation]")
{
  std::vector<Comparison> all{comparison("one", 100, 110), comparison("two", 150, 198)};
  all[1].row.ratio_of = "one"; // measured 1.5, predicted 1.8
  const Summary summary = summary_of(all);
  CHECK(summary.ratios.rows == 1);
  CHECK(summary.ratios.mean == Approx(0.2));
}

TEST_CASE("rankings count pairs of a group that differ by more than noise", "[validation]")
{
  std::vector<Comparison> all{comparison("a", 100, 120), comparison("b", 110, 119),
                              comparison("c", 110.5, 100), comparison("d", 200, 300)};
  for (Comparison& it : all)
    it.row.group = "g";
  all[3].row.group = "another";
  const Summary summary = summary_of(all); // a-b and a-c count, b-c is a tie, d stands alone
  CHECK(summary.pairs == 2);
  CHECK(summary.right_pairs == 0);
  all[0].row.spread = 20; // as far apart as a repetition of it: no order to predict
  CHECK(summary_of(all).pairs == 0);
}

TEST_CASE("a row and its divisor are a pair, too", "[validation]")
{
  std::vector<Comparison> all{comparison("synthetic", 100, 90), comparison("real", 90, 95)};
  all[1].row.ratio_of = "synthetic"; // measured as a loss, predicted as a gain
  Summary summary = summary_of(all);
  CHECK(summary.pairs == 1);
  CHECK(summary.right_pairs == 0);
  all[1].row.anchor = "synthetic"; // which is thus predicted as measured, 100: a loss
  summary = summary_of(all);
  CHECK(summary.right_pairs == 1);
  CHECK(summary.ratios.mean == Approx(0.95 / 0.9 - 1));
  all[0].row.group = all[1].row.group = "g"; // a pair of that group already
  CHECK(summary_of(all).pairs == 1);
}

TEST_CASE("coverage counts rows with an interval only", "[validation]")
{
  std::vector<Comparison> all{comparison("a", 100, 102), comparison("b", 100, 120),
                              comparison("c", 100, 100)};
  all[0].low = 98;
  all[0].high = 106;
  all[1].low = 115;
  all[1].high = 125;
  const Summary summary = summary_of(all);
  CHECK(summary.intervals == 2);
  CHECK(summary.covered == 1);
}

TEST_CASE("a row without prediction is told, not counted", "[validation]")
{
  std::vector<Comparison> all{comparison("a", 100, 110), comparison("b", 100, 0)};
  all[1].problem = "no";
  CHECK(summary_of(all).errors.rows == 1);
}

TEST_CASE("jobs that ran and are told not to fit are counted", "[validation]")
{
  const SuiteFile file(suite_text(R"({"id": "a", "experiment": "mine", "regime": "network",
      "quantity": "/throughput_samples_per_s", "unit": "samples/s", "measured": 100, "source": "s"})"));
  const SuitePlan plan = file.plan();
  std::vector<Comparison> all{comparison("a", 100, 110), comparison("b", 100, 90),
                              comparison("c", 100, 90)};
  all[0].fits = true;
  all[1].fits = false;
  const Json memory = judge(plan, all, {}, true).result.at("suites").at(0).at("memory");
  CHECK(memory.at("rows") == 2);
  CHECK(memory.at("fit") == 1);
  CHECK(memory.at("not_fitting") == Json({"b"}));
  // Where a run tells it, the row has it.
  CHECK(to_json(plan, all[1]).at("fits") == false);
  CHECK_FALSE(to_json(plan, all[2]).contains("fits"));
}

TEST_CASE("a gate lets today's error through and not a larger one", "[validation]")
{
  const Summary today = summary_of({comparison("a", 100, 110), comparison("b", 100, 130)});
  const Gate gate = gate_for("network", today.errors);
  CHECK(gate.mean == Approx(0.215));
  CHECK(gate.maximum == Approx(0.32));
  CHECK(passed_gates(gate, today.errors).empty());
  const Summary worse = summary_of({comparison("a", 100, 110), comparison("b", 100, 140)});
  const auto lines = passed_gates(gate, worse.errors);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Contains("mean error 25.0 %"));
  CHECK_THAT(lines[1], Contains("40.0 % of b"));
}

TEST_CASE("what a prediction starts from can't be counted", "[validation]")
{
  const std::string anchored = R"({ "id": "four", "experiment": "mine", "anchor": "one",
    "settings": { "/jobs/0/gpus": 4 }, "measured": 900, "regime": "intra-node" })";
  const auto one = [](const std::string& role) {
    return R"({ "id": "one", "experiment": "mine", "measured": 250, "regime": "compute",
      "role": ")" +
           role + "\" }, ";
  };
  CHECK_NOTHROW(SuiteFile(suite_text(one("calibration") + anchored)).plan());
  CHECK_THROWS_WITH(SuiteFile(suite_text(one("validation") + anchored)).plan(),
                    Contains("a measurement that a prediction starts from can't be counted"));
  // The same number written into the experiment is found by its value.
  const std::string by_hand = R"({ "id": "four", "experiment": "mine", "settings":
    { "/jobs/0/gpus": 4, "/jobs/0/anchor": { "samples_per_s": 250 } }, "measured": 900,
    "regime": "intra-node" })";
  CHECK_THROWS_WITH(SuiteFile(suite_text(one("validation") + by_hand)).plan(),
                    Contains("is, by its value, the anchor of row 'four'"));
}

TEST_CASE("what a bundled parameter was fitted to can't be counted", "[validation]")
{
  const auto row = [](const std::string& role) {
    return suite_text(R"({ "id": "lambda-fp32-v10032gb-resnet50", "experiment": "mine",
      "measured": 432, "regime": "compute", "role": ")" +
                      role + "\" }");
  };
  CHECK_NOTHROW(SuiteFile(row("calibration")).plan());
  CHECK_THROWS_WITH(SuiteFile(row("validation")).plan(), Contains("was used to fit"));
}

TEST_CASE("mistakes in a suite are found before anything runs", "[validation]")
{
  const auto with = [](const std::string& more) {
    return suite_text(R"({ "id": "a", "experiment": "mine", "measured": 1, "regime": "compute")" +
                      more + " }");
  };
  CHECK_THROWS_WITH(SuiteFile(with(R"(, "ratio_of": "b")")).plan(), Contains("which is not there"));
  CHECK_THROWS_WITH(SuiteFile(with(R"(, "repetitions": [1, 2])")).plan(), Contains("either"));
  CHECK_THROWS_WITH(SuiteFile(with(R"(, "job": "other")")).plan(), Contains("known jobs: train"));
  CHECK_THROWS_WITH(SuiteFile(with(R"(, "settings": { "/jobs/0/batch": 1 })")).plan(),
                    Contains("batch_per_gpu"));
  CHECK_THROWS_WITH(SuiteFile(with(R"(, "unit": "MB/h")")).plan(), Contains("/rows/0/unit"));
  const auto measured_in = [&](const char* quantity, const char* unit) {
    SuiteFile(with(fmt::format(R"(, "quantity": "/{}", "unit": "{}")", quantity, unit))).plan();
  };
  for (const auto& [quantity, unit] : {std::pair{"throughput_samples_per_s", "GB/s"},
                                       std::pair{"throughput_samples_per_s", "tokens/s"},
                                       std::pair{"tokens_per_s", "samples/s"}}) {
    CAPTURE(quantity, unit);
    CHECK_THROWS_WITH(measured_in(quantity, unit), Contains("which '/" + std::string(quantity)));
  }
  CHECK_NOTHROW(measured_in("throughput_samples_per_s", "images/s"));
  CHECK_NOTHROW(measured_in("tokens_per_s", "tokens/s"));
  CHECK_THROWS_WITH(
      SuiteFile(
          suite_text(R"({ "id": "a", "experiment": "min", "measured": 1, "regime": "compute" })"))
          .plan(),
      Contains("did you mean 'mine'?"));
  CHECK_THROWS_WITH(SuiteFile(suite_text("")).plan(), Contains("holds no measurement"));
}

TEST_CASE("repetitions give the median and its spread", "[validation]")
{
  const SuitePlan plan = SuiteFile(suite_text(R"({ "id": "a", "experiment": "mine",
    "repetitions": [12, 10, 14], "quantity": "/step_time_s", "unit": "ms", "regime": "compute" })"))
                             .plan();
  REQUIRE(plan.measurements.size() == 1);
  CHECK(plan.measurements[0].measured == Approx(0.012));
  CHECK(plan.measurements[0].spread == Approx(0.002));
}

TEST_CASE("rows on one experiment share a run", "[validation]")
{
  const std::string row =
      R"({ "id": "ID", "experiment": "mine", "measured": 1, "regime": "compute" })";
  std::string a = row;
  std::string b = row;
  a.replace(a.find("ID"), 2, "a");
  b.replace(b.find("ID"), 2, "b");
  const SuitePlan plan = SuiteFile(suite_text(a + ", " + b)).plan();
  CHECK(plan.measurements.size() == 2);
  CHECK(plan.runs.size() == 1);
}

TEST_CASE("rows of a table that contradict it are not counted", "[validation]")
{
  const auto disturbed = [](const std::string& unit, const std::string& rows) {
    const std::string quantity = unit == "us" ? "time" : "bus_bandwidth";
    const SuitePlan plan =
        SuiteFile(
            R"({ "format": "foretrain.suite/1", "tables": [ { "id": "t", "regime": "intra-node",
          "platform": "generic-4gpu", "gpus_per_node": 4, "unit": ")" +
            unit + R"(", "quantity": ")" + quantity + R"(", "rows": )" + rows + " } ] }")
            .plan();
    std::vector<bool> marks;
    for (const Measurement& it : plan.measurements)
      marks.push_back(it.role == RowRole::disturbed);
    return marks;
  };
  using Marks = std::vector<bool>;
  CHECK(disturbed("us", "[[1024, 16], [4096, 10], [16384, 12]]") == Marks{true, false, false});
  CHECK(disturbed("us", "[[1024, 14], [4096, 10]]") == Marks{false, false});
  CHECK(disturbed("us", "[[2048, 16], [4096, 10]]") == Marks{false, false}); // another algorithm
  // 1 KiB at 0.1 and 4 KiB at 0.5 GB/s: 10 and 8 us; at 0.7 GB/s: 6 us.
  CHECK(disturbed("GB/s", "[[1024, 0.1], [4096, 0.5]]") == Marks{false, false});
  CHECK(disturbed("GB/s", "[[1024, 0.1], [4096, 0.7]]") == Marks{true, false});
}

TEST_CASE("a star stands for any text", "[validation]")
{
  CHECK(calibration::matches("a*c", "abbc"));
  CHECK(calibration::matches("*", ""));
  CHECK(calibration::matches("a-*-b-*", "a-x-b-b-y"));
  CHECK_FALSE(calibration::matches("a*c", "abcd"));
  CHECK_FALSE(calibration::matches("", "a"));
}

TEST_CASE("a plot has a mark for each point and the line of right predictions", "[validation]")
{
  ScatterChart chart{"what", "measured", "predicted", 0.2, {}};
  chart.points = {{10, 11, 10, 12, 0, "<a>"}, {1000, 900, 900, 900, 1, "b"}};
  const std::string svg = scatter_chart(chart, 500, 480);
  CHECK_THAT(svg, Contains("&lt;a&gt;"));
  CHECK_THAT(svg, Contains("whisker"));
  std::size_t marks = 0;
  for (std::size_t at = svg.find("\"marker\""); at != std::string::npos;
       at = svg.find("\"marker\"", at + 1))
    ++marks;
  CHECK(marks == 2);
  CHECK(scatter_chart({"what", "x", "y", 0.2, {}}, 500, 480).empty());
}

} // namespace foretrain::validation_test
