// Which logs teach something worth keeping: programs and GPUs that logs are of, and profiles
// against the presets on what was held back.
#include "calibration/gpu_model.hpp"
#include "calibration/nccl_tests_log.hpp"
#include "experiments/learn/calibrate.hpp"
#include "sim/base/error.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

#include <regex>

namespace foretrain::profile_check_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

std::string problem_of(const std::vector<std::string>& logs, const CalibrateOptions& options)
{
  try {
    calibrate(logs, options);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

std::string reason_of(const Calibration& c)
{
  for (const auto& refused : c.profile.refused)
    if (refused.reason.starts_with("not kept"))
      return refused.reason;
  return "";
}

// How a program prints what it measured.
struct Printed {
  std::string columns; // between the type and the times
  std::string values;
  std::string wrong, wrong_in_place;
};
const Printed kNoColumns{"", "", "N/A", "N/A"};

// A run of 8 ranks that names no program, whose bandwidths are those of a collective.
std::string old_log(const std::string& collective, const Printed& printed = kNoColumns)
{
  const bool pieces = collective != "all_reduce" && collective != "broadcast";
  std::string text = "# nThread 1 nGpus 8 minBytes 1 maxBytes 8\n# Using devices\n";
  for (int rank = 0; rank < 8; ++rank)
    text +=
        fmt::format("#   Rank  {} Pid 1 on host device  {} [0x00] A100-SXM4-40GB\n", rank, rank);
  const std::string times = " time algbw busbw #wrong";
  const std::string units = " (us) (GB/s) (GB/s)";
  text += "# size count type " + printed.columns + times + times + "\n# (B) (elements)" + units +
          units + "\n";
  for (const double size : {1048576.0, 134217728.0}) {
    const double us = 20 + size / 100e3;
    const double algbw = size / us / 1e3;
    const std::string half = fmt::format("{:8.2f} {:7.2f} {:7.2f}", us, algbw,
                                         algbw * calibration::bus_factor(collective, 8).value());
    text +=
        fmt::format("{:12.0f} {:10.0f} float {} {} {} {} {}\n", size, size / 4 / (pieces ? 8 : 1),
                    printed.values, half, printed.wrong, half, printed.wrong_in_place);
  }
  return text;
}

} // namespace

TEST_CASE("A log that names no program is of those that its numbers allow", "[calibrate]")
{
  const auto possible = [](const std::string& collective) {
    return calibration::possible_collectives(
        calibration::read_nccl_tests(old_log(collective), "log"));
  };
  CHECK(possible("all_reduce") == std::vector<std::string>{"all_reduce"});
}

TEST_CASE("Programs with the same numbers are told apart by how they print them", "[calibrate]")
{
  struct Row {
    Printed printed;
    std::vector<std::string> possible;
  };
  const Row rows[] = {
      {kNoColumns, {"all_gather"}},
      {{"redop", "", "N/A", "N/A"}, {"alltoall"}},
      {{"redop", "sum", "N/A", "N/A"}, {"reduce_scatter"}},
      {{"redop root", "none -1", "N/A", "N/A"}, {"all_gather", "alltoall"}},
      {{"redop root", "none -1", "0", "N/A"}, {"alltoall"}},
      {{"redop root", "none -1", "0", "0"}, {"all_gather"}},
      {{"redop root", "none 0", "N/A", "N/A"}, {"gather", "scatter"}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.printed.columns, row.printed.values);
    CHECK(calibration::possible_collectives(calibration::read_nccl_tests(
              old_log("all_gather", row.printed), "log")) == row.possible);
  }
}

TEST_CASE("Ambiguous logs ask for their program, and take none that they cannot be of",
          "[calibrate][long]")
{
  const LogFolder folder;
  const Printed either{"redop root", "none -1", "N/A", "N/A"};
  const std::string log = folder.write("g.log", old_log("all_gather", either));
  CalibrateOptions options{.platform = "dgx-a100"};
  CHECK_THAT(problem_of({log}, options),
             Contains("g.log") && Contains("give --program: it can be of all_gather"));
  options.program = "all_reduce_perf";
  CHECK_THAT(problem_of({log}, options), Contains("cannot be of --program 'all_reduce_perf'"));
  options.program = "all_gather_perf";
  options.force = true;
  const Calibration c = calibrate({log}, options);
  REQUIRE(c.checks.size() == 1);
  CHECK_THAT(calibration_text(c), Contains("Compared with the presets"));
}

TEST_CASE("The first outliers are told, and where the others are", "[calibrate]")
{
  Calibration c;
  for (int i = 0; i < 20; ++i)
    c.profile.outliers.push_back({fmt::format("log:{}", i), "3 us measured"});
  CHECK_THAT(calibration_text(c), Contains("log:19: 3 us measured") && !Contains("more"));
  for (int i = 20; i < 25; ++i)
    c.profile.outliers.push_back({fmt::format("log:{}", i), "3 us measured"});
  CHECK_THAT(calibration_text(c), Contains("log:19:") && !Contains("log:20:") &&
                                      Contains("and 5 more: \"outliers\" of the profile"));
}

TEST_CASE("Models of GPUs are told from their names", "[calibrate]")
{
  const std::pair<const char*, const char*> names[] = {{"NVIDIA A100-SXM4-40GB", "A100"},
                                                       {"A100-PG509-200", "A100"},
                                                       {"NVIDIA H100 80GB HBM3", "H100"},
                                                       {"Tesla V100-SXM2-16GB", "V100"},
                                                       {"GeForce RTX 2080 Ti", "RTX 2080"},
                                                       {"TITAN RTX", "TITAN RTX"},
                                                       {"NVIDIA RTX A6000", "RTX A6000"},
                                                       {"AMD Instinct MI300X", "MI300X"},
                                                       {"GPU", ""},
                                                       {"", ""}};
  for (const auto& [name, model] : names)
    CHECK(calibration::gpu_model(name) == model);
}

TEST_CASE("A profile is kept where it beats the presets on what was held back", "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine =
      truth({{"gpu", "v100-sxm2-16gb", "/nvlink_collective_efficiency", 0.6, "t"}});
  const std::string log = folder.write("nccl.log", nccl_log("dgx1-v100", "nccl-2.4", 8, machine));
  CalibrateOptions options{.platform = "dgx1-v100", .library = "nccl-2.4"};
  const Calibration better = calibrate({log}, options);
  REQUIRE(better.checks.size() == 1);
  CHECK(better.checks[0].held_back);
  CHECK(better.checks[0].measurements >= 3);
  CHECK(better.checks[0].presets > 0.05);
  CHECK(better.checks[0].profile < 0.02);
  CHECK(better.checks[0].objection.empty());
  CHECK_FALSE(better.withholds());
}

TEST_CASE("What follows the logs it was fitted to no better than the presets is not kept",
          "[calibrate]")
{
  const auto objection = [](double presets, double profile, bool held_back) {
    FitCheck check;
    check.presets = presets;
    check.profile = profile;
    check.held_back = held_back;
    return objection_to(check);
  };
  CHECK(objection(0.1980, 0.1981, true).empty()); // equal but for the scatter of what was held back
  CHECK_THAT(objection(0.1980, 0.1990, true), Contains("no better") && Contains("held back"));
  CHECK_THAT(objection(0.1980, 0.1983, false), Contains("no better") && !Contains("held back"));
  CHECK(objection(0.1980, 0.1979, false).empty());
  CHECK(objection(0.25, 0.25, false).empty()); // a log as the presets have it confirms them
  CHECK_THAT(objection(0.8, 0.6, true), Contains("follows the logs too badly"));
}

TEST_CASE("What is held back does not depend on the order in which logs are named",
          "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine =
      truth({{"gpu", "v100-sxm2-16gb", "/nvlink_collective_efficiency", 0.6, "t"}});
  std::mt19937 noise(5);
  const auto log = [&](int gpus) {
    return nccl_log("dgx1-v100", "nccl-2.4", gpus, machine, 1 << 28, 1, &noise);
  };
  const std::string one = folder.write("a.log", log(8));
  const std::string other = folder.write("b.log", log(4));
  const CalibrateOptions options{.platform = "dgx1-v100", .library = "nccl-2.4"};
  const Calibration first = calibrate({one, other}, options);
  const Calibration second = calibrate({other, one}, options);
  REQUIRE(first.checks.size() == 1);
  REQUIRE(second.checks.size() == 1);
  CHECK(first.checks[0].held_back);
  CHECK(first.checks[0].presets == Approx(second.checks[0].presets).epsilon(1e-9));
  CHECK(first.checks[0].profile == Approx(second.checks[0].profile).epsilon(1e-3));
}

TEST_CASE("A fit that misses the largest messages is told of, and far off not kept",
          "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine =
      truth({{"gpu", "v100-sxm2-16gb", "/nvlink_collective_efficiency", 0.6, "t"}});
  const std::string text = nccl_log("dgx1-v100", "nccl-2.4", 8, machine);
  const CalibrateOptions options{.platform = "dgx1-v100", .library = "nccl-2.4"};
  // The last row, of 256 MiB, takes so many times as long as the others say.
  const auto taught = [&](double longer) {
    const std::size_t row = text.rfind('\n', text.size() - 2) + 1;
    std::istringstream last(text.substr(row));
    std::string size, count, type, operation;
    double time = 0;
    double algorithm = 0;
    double bus = 0;
    last >> size >> count >> type >> operation >> time >> algorithm >> bus;
    return calibrate(
        {folder.write("nccl.log",
                      text.substr(0, row) + fmt::format("{} {} {} {} {:.3f} {:.3f} {:.3f} 1e-07\n",
                                                        size, count, type, operation, time * longer,
                                                        algorithm / longer, bus / longer))},
        options);
  };
  const auto said = [](const Calibration& of) { return joined(of.notes); };
  CHECK_THAT(said(taught(1)), !Contains("largest"));
  CHECK_THAT(said(taught(1.3)), Contains("misses the largest messages") && Contains("256 MiB"));
  CHECK_FALSE(taught(1.3).withholds());
  const Calibration far = taught(1.7);
  CHECK(far.withholds());
  CHECK_THAT(reason_of(far), Contains("misses what rates show in") && Contains("256 MiB"));
}

TEST_CASE("What a log of another GPU, or of noise, teaches is not kept without --force",
          "[calibrate][long]")
{
  const LogFolder folder;
  std::string text = nccl_log("dgx1-v100", "nccl-2.4", 8, truth({}));
  CalibrateOptions options{.platform = "dgx1-v100", .library = "nccl-2.4"};
  const std::string other = folder.write(
      "other.log", std::regex_replace(text, std::regex(" GPU\n"), " A100-SXM4-40GB\n"));
  const Calibration foreign = calibrate({other}, options);
  CHECK(foreign.withholds());
  CHECK(foreign.profile.parameters.empty());
  CHECK_THAT(reason_of(foreign), Contains("is of a 'A100-SXM4-40GB'"));
  options.force = true;
  CHECK_FALSE(calibrate({other}, options).profile.parameters.empty());
}

TEST_CASE("Mixed reads and writes teach nothing of either", "[calibrate]")
{
  const LogFolder folder;
  const std::string read = fio_log({"randread", "4k", 128, 2.5e5, 4096, 2.5e-4});
  Json mixed = Json::parse(read);
  mixed["jobs"][0]["write"] = mixed["jobs"][0]["read"];
  const std::string log = folder.write("m.json", mixed.dump());
  const Calibration c = calibrate({log}, {.disk = "nvme-1.6tb"});
  CHECK(c.profile.parameters.empty());
  std::string notes;
  for (const std::string& note : c.notes)
    notes += note;
  CHECK_THAT(notes, Contains("reads and writes mixed"));
}

} // namespace foretrain::profile_check_test
