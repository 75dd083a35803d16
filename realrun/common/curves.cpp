#include "realrun/common/curves.hpp"

#include "realrun/common/clock.hpp"
#include "sim/base/error.hpp"
#include "sim/base/text.hpp"

#include <iostream>

namespace foretrain::realrun {

namespace {

const Curve& find_curve(std::span<const Curve> curves, const std::string& name)
{
  std::vector<std::string> names;
  for (const Curve& curve : curves) {
    if (name == curve.name)
      return curve;
    names.emplace_back(curve.name);
  }
  throw UsageError("unknown curve '" + name + "'; " + suggestion(name, names, "curves"));
}

} // namespace

void measure_curve(std::span<const Curve> curves, const CommandLine& line, const char* program_name,
                   const std::function<void(Record&)>& describe)
{
  const double started = now_s();
  const Curve& curve = find_curve(curves, only_argument(line, "which curve"));
  Record record = begin_record(curve.name, line.settings.name, program_name, line.words);
  describe(record);
  record.settings = to_json(line.settings);
  record.settings.update(line.labels);
  wait_until(line.settings.start_at);
  Recorder recorder;
  for (int i = 0; i < line.settings.repetitions; ++i) {
    recorder.next_repetition();
    curve.measure(line.settings, recorder);
  }
  record.series = recorder.series();
  record.duration_s = now_s() - started;
  if (line.settings.rank == 0)
    write_record(record, line.settings.out, std::cout);
}

} // namespace foretrain::realrun
