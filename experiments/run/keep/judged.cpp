#include "experiments/run/keep/judged.hpp"

namespace foretrain::experiments {

namespace {

// A number, or the median of a range; 0 where there is none.
double value_at(const Json& json, const char* pointer)
{
  const Json::json_pointer at(pointer);
  if (!json.contains(at))
    return 0;
  const Json& value = json.at(at);
  return value.is_number()   ? value.get<double>()
         : value.is_object() ? value_at(value, "/median")
                             : 0;
}

} // namespace

bool fits(const Json& job)
{
  if (const auto said = job.find("fits"); said != job.end() && said->is_boolean())
    return said->get<bool>();
  const double available = value_at(job, "/device_memory_byte/available");
  return available <= 0 || value_at(job, "/device_memory_byte/needed") <= available;
}

double judged_rate(const Json& job)
{
  const double samples = value_at(job, "/throughput_samples_per_s");
  const double tokens = value_at(job, "/tokens_per_s");
  const double rate = tokens > 0 ? tokens : samples;
  const double total = value_at(job, "/training_s/total");
  const double whole = value_at(job, "/training_s/samples");
  return total > 0 && whole > 0 && samples > 0 ? rate / samples * whole / total : rate;
}

} // namespace foretrain::experiments
