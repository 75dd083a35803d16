// What a fit learns from measurements of many sizes, some of which were interrupted.
#include "experiments/learn/calibrate.hpp"
#include "experiments/learn/learning.hpp"
#include "platforms/storage.hpp"
#include "tests/experiments/calibrate_support.hpp"
#include "tests/support/catch.hpp"

#include <cmath>
#include <sstream>

namespace foretrain::fit_task_test {

using namespace foretrain::experiments;
using namespace foretrain::test;
using Catch::Matchers::Contains;

namespace {

constexpr double kOther = 6.39e9; // B/s of what limits large sizes, whatever the disk does
const std::vector<double> kSizes{1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, 3e8};
const std::vector<double> kOneLarge{1e2, 2e2, 5e2, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 3e8};

double time_of(double size, double latency, double rate)
{
  return latency + size / std::min(rate, kOther);
}

// Copies through a disk of such a rate, the last one of which took so many times as long. The
// preset is a little faster than what is behind it.
std::vector<calibration::ProfileRefusal> refused(double rate, double last, bool series,
                                                 const std::vector<double>& sizes = kSizes)
{
  const auto disk = [](const OverlayPtr& overlay) {
    return read_as<platforms::Disk>(
        resolve_preset(std::string("nvme-1.6tb"), platforms::kDiskKind, overlay));
  };
  FitTask task;
  const Part part = part_of(loose_value("nvme-1.6tb"), platforms::kDiskKind);
  task.source = "copies";
  task.series = series;
  task.knobs = {{part, "/read", 1e3, 1e13, "larger copies"},
                {part, "/latency", 1e-8, 10, "smaller copies"}};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    task.measurements.push_back({"log", "copy", time_of(sizes[i], 1.2e-4, rate)});
  task.measurements.back().value *= last;
  task.predict = [&](const OverlayPtr& overlay) {
    const platforms::Disk it = disk(overlay);
    std::vector<double> times;
    for (const double size : sizes)
      times.push_back(time_of(size, it.latency.value(), it.read.value()));
    return times;
  };
  Learning learning;
  learning.profiles.overlay = std::make_shared<Overlay>();
  learning.judging = false;
  learning.learn(task);
  return learning.learnt.refused;
}

} // namespace

TEST_CASE("one slow measurement of a series shows no limit, all large ones do", "[calibrate]")
{
  const auto alone = refused(1e12, 3, true);
  REQUIRE(alone.size() == 1);
  CHECK_THAT(alone[0].parameter, Contains("/read"));
  CHECK_THAT(alone[0].reason, Contains("one slow measurement alone"));
  CHECK(refused(1e12, 3, false).empty()); // measurements that stand for themselves
  // Nothing else speaks against it: still one.
  const auto only = refused(1e12, 3, true, kOneLarge);
  REQUIRE(only.size() == 1);
  CHECK_THAT(only[0].reason, Contains("one slow measurement alone"));
  CHECK(refused(1e12, 3, false, kOneLarge).empty());
  CHECK(refused(2e9, 1, true).empty());
  CHECK(refused(2e9, 3, true).empty());
}

namespace {

// Copies through a reader and then a writer of four disks, the tighter of which shows, and where
// asked for others from the reader alone. The presets hold 6.4 and 12 GB/s.
calibration::Profile copied(double read, double write, bool reader_alone, bool writer_first = true)
{
  const Part part = part_of(loose_value("nvme-1.6tb"), platforms::kDiskKind);
  FitTask task;
  task.source = "copies";
  task.series = true;
  task.knobs = {{part, "/write", 1e7, 1e12, "copies to the writer"},
                {part, "/read", 1e7, 1e12, "copies from the reader"}};
  if (!writer_first)
    std::swap(task.knobs[0], task.knobs[1]);
  const auto times = [&](double reader, double writer) {
    std::vector<double> list;
    for (const double size : kSizes)
      list.push_back(1e-4 + size / std::min(reader, 4 * writer));
    for (const double size : kSizes)
      if (reader_alone)
        list.push_back(1e-4 + size / reader);
    return list;
  };
  for (const double time : times(read, write))
    task.measurements.push_back({"log", "copy", time});
  task.predict = [&](const OverlayPtr& overlay) {
    const auto disk = read_as<platforms::Disk>(
        resolve_preset(std::string("nvme-1.6tb"), platforms::kDiskKind, overlay));
    return times(disk.read.value(), disk.write.value());
  };
  Learning learning;
  learning.profiles.overlay = std::make_shared<Overlay>();
  learning.judging = false;
  learning.learn(task);
  return learning.learnt;
}

double learnt_rate(const calibration::Profile& profile, const std::string& pointer)
{
  for (const auto& it : profile.parameters)
    if (it.pointer == pointer)
      return parse_measure(it.value.json().get<std::string>())->si();
  return 0;
}

std::string refusal_of(const calibration::Profile& profile, const std::string& pointer)
{
  for (const auto& it : profile.refused)
    if (it.parameter.ends_with(pointer))
      return it.reason;
  return "";
}

} // namespace

TEST_CASE("a slower link is found behind one that was tighter", "[calibrate]")
{
  const auto slow_writer = copied(6.4e9, 1e9, true);
  CHECK(learnt_rate(slow_writer, "/write") == Approx(1e9).epsilon(0.01));
  CHECK(learnt_rate(slow_writer, "/read") == Approx(6.4e9).epsilon(0.01));
  // Lowered together with the one in front.
  const auto both = copied(4e9, 0.5e9, true);
  CHECK(learnt_rate(both, "/write") == Approx(0.5e9).epsilon(0.01));
  CHECK(learnt_rate(both, "/read") == Approx(4e9).epsilon(0.01));
  // Nothing is asked of what was not the limit.
  CHECK(learnt_rate(copied(4e9, 3e9, true), "/read") == Approx(4e9).epsilon(0.01));
  CHECK(learnt_rate(copied(4e9, 3e9, true), "/write") == 0);
}

TEST_CASE("of links that explain measurements alike the first named is taken, the other told",
          "[calibrate]")
{
  for (const bool writer_first : {true, false}) {
    const auto profile = copied(6.4e9, 1e9, false, writer_first);
    const std::string taken = writer_first ? "/write" : "/read";
    const std::string other = writer_first ? "/read" : "/write";
    CHECK(learnt_rate(profile, taken) == Approx(writer_first ? 1e9 : 4e9).epsilon(0.01));
    CHECK(learnt_rate(profile, other) == 0);
    CHECK_THAT(refusal_of(profile, other),
               Contains(writer_first ? "explained by 4" : "explained by 1") &&
                   Contains("do not tell it from disk nvme-1.6tb " + taken));
  }
}

TEST_CASE("of the two halves of a row of nccl-tests the interrupted one is left out",
          "[calibrate][long]")
{
  const LogFolder folder;
  const auto machine = truth({});
  const std::string quiet = nccl_log("dgx1-v100", "nccl", 8, machine, 1 << 20);
  // Every row with both halves, the one of 64 KiB interrupted.
  const auto both = [&](double out_of_place, double in_place) {
    std::string text;
    for (std::istringstream lines(quiet); lines;) {
      std::string line;
      std::getline(lines, line);
      double size = 0, count = 0, time = 0, algbw = 0, busbw = 0;
      if (std::sscanf(line.c_str(), " %lf %lf float sum %lf %lf %lf", &size, &count, &time, &algbw,
                      &busbw) == 5) {
        line = fmt::format("{:12.0f} {:12.0f}  float     sum ", size, count);
        for (const double factor : {out_of_place, in_place}) {
          const double by = size == 65536 ? factor : 1;
          line += fmt::format(" {:.3f} {:.3f} {:.3f}  1e-07", by * time, algbw / by, busbw / by);
        }
      }
      for (const std::string half :
           {"     time   algbw   busbw  error", "     (us)  (GB/s)  (GB/s)"})
        if (line.ends_with(half.substr(5)))
          line += half;
      text += line + "\n";
    }
    return calibrate({folder.write("nccl.log", text)}, {.platform = "dgx1-v100", .force = true});
  };
  const Calibration calm = both(1, 1);
  REQUIRE(!calm.profile.parameters.empty());
  for (const Calibration& it : {both(3, 1), both(1, 3)}) {
    REQUIRE(it.profile.parameters.size() == calm.profile.parameters.size());
    for (std::size_t i = 0; i < calm.profile.parameters.size(); ++i)
      CHECK(it.profile.parameters[i].value.json() == calm.profile.parameters[i].value.json());
    REQUIRE(!it.notes.empty());
    std::string notes;
    for (const std::string& note : it.notes)
      notes += note + "\n";
    CHECK_THAT(notes, Contains("the shorter time is used"));
  }
  // What is a tenth apart is scatter: the mean of both.
  const Calibration tenth = both(1.21, 1);
  for (const std::string& note : tenth.notes)
    CHECK_THAT(note, !Contains("the shorter time"));
}

} // namespace foretrain::fit_task_test
