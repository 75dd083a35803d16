// Gates of suites, and tables of what came of them.
#include "experiments/validate/validation_gates.hpp"
#include "experiments/validate/validation_table.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

namespace foretrain::gates_test {

using namespace foretrain::experiments;
using Catch::Matchers::Contains;

namespace {

ErrorSummary errors(double mean, double maximum)
{
  ErrorSummary it;
  it.rows = 3;
  it.mean = mean;
  it.maximum = maximum;
  it.worst = "the-row";
  return it;
}

} // namespace

TEST_CASE("a gate lets today's errors pass, and 5 % of them and half a point more, at most two",
          "[gates]")
{
  for (const double error : {0.0, 0.01, 0.1, 0.25, 0.3, 0.5, 2.0}) {
    CAPTURE(error);
    const Gate gate = gate_for("one node", errors(error, 2 * error));
    CHECK(gate.regime == "one node");
    const double limit = error + std::min(0.02, 0.005 + 0.05 * error);
    CHECK(gate.mean >= limit - 1e-9);
    CHECK(gate.mean < limit + 1e-3);
    CHECK(gate.maximum >= 2 * error + std::min(0.02, 0.005 + 0.1 * error) - 1e-9);
    CHECK(passed_gates(gate, errors(error, 2 * error)).empty());
    CHECK(passed_gates(gate, errors(gate.mean, gate.maximum)).empty());
  }
}

TEST_CASE("what is above its gate is told, each of mean and maximum", "[gates]")
{
  const Gate gate{"one node", 0.1, 0.2};
  CHECK(passed_gates(gate, errors(0.125, 0.1)) ==
        std::vector<std::string>{"one node: mean error 12.5 % is above its gate of 10.0 %"});
  CHECK(passed_gates(gate, errors(0.05, 0.25)) ==
        std::vector<std::string>{"one node: error 25.0 % of the-row is above its gate of 20.0 %"});
  CHECK(passed_gates(gate, errors(0.2, 0.3)).size() == 2);
}

TEST_CASE("gates that are written are read again", "[gates]")
{
  const auto folder = std::filesystem::temp_directory_path() / "foretrain-gates";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  auto document = parse_document("{\"name\": \"s\"}", "s");
  document->path = folder / "suite.json";
  SuiteSpec suite;
  suite.origin = Value(DocumentPtr(document));
  CHECK(gates_path(suite) == folder / "gates/suite.json");
  CHECK(load_gates(suite).gates.empty()); // there are none yet
  const GatesSpec written{{{"intra-node", 0.123, 0.456}, {"network", 0.25, 1.5}}};
  write_gates(suite, written);
  const GatesSpec read = load_gates(suite);
  REQUIRE(read.gates.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read.gates[i].regime == written.gates[i].regime);
    CHECK_THAT(read.gates[i].mean, test::is(written.gates[i].mean));
    CHECK_THAT(read.gates[i].maximum, test::is(written.gates[i].maximum));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("a table tells the worst rows first, and those without a prediction", "[gates]")
{
  const auto row = [](const char* id, double error) {
    return Json{{"id", id},      {"role", "validation"}, {"error", error}, {"predicted", 3},
                {"measured", 2}, {"unit", "samples/s"},  {"regime", "r"}};
  };
  Json calibrated = row("fitted", 9);
  calibrated["role"] = "calibration";
  Json broken = row("broken", 0);
  broken["problem"] = "no such GPU";
  const Json result = {
      {"suites",
       {{{"suite", "s"},
         {"description", "what it is"},
         {"rows",
          {row("first", 0.5), calibrated, broken, row("second", -0.25), row("third", 0.1)}}}}}};
  const std::string text = validation_table(result, 2);
  CHECK_THAT(text, Contains("s: what it is\n"));
  CHECK_THAT(text, Contains("first") && Contains("+50") && Contains("second") && Contains("-25"));
  CHECK_THAT(text, !Contains("third") && !Contains("fitted")); // two, and none that was fitted
  CHECK_THAT(text, Contains("rows without prediction:\n  broken: no such GPU\n"));
  CHECK_THAT(validation_table(result, 3), Contains("third"));
}

TEST_CASE("jobs that ran and are told not to fit are named, as many as are asked for", "[gates]")
{
  const auto table = [](std::size_t worst) {
    const Json memory = {{"rows", 9}, {"fit", 7}, {"not_fitting", {"large", "larger"}}};
    return validation_table({{"suites", {{{"suite", "s"}, {"memory", memory}}}}}, worst);
  };
  CHECK_THAT(table(2),
             Contains("memory: 7 of 9 jobs that ran are told to fit; not these:\n  large\n"
                      "  larger\n") &&
                 !Contains("more"));
  CHECK_THAT(table(1), Contains("  large\n  and 1 more (--format json has all)\n"));
}

} // namespace foretrain::gates_test
