// The Standard Workload Format: 18 columns, ';' before comments, -1 for what is not known.
// Feitelson, https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"

#include <sstream>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kSwfFields = 18;
enum SwfField {
  swf_job = 0,
  swf_submit = 1,
  swf_run = 3,
  swf_used = 4,
  swf_asked = 7,
  swf_limit = 8,
  swf_status = 10,
  swf_group = 12,
  swf_queue = 14
};

} // namespace

void read_swf(const std::filesystem::path& path, JobCollector& jobs)
{
  each_line(path, [&](std::string_view text, std::size_t number) {
    std::istringstream in{std::string(text)};
    std::vector<double> fields;
    std::string word;
    bool numbers = true;
    while (in >> word && word.front() != ';') {
      const auto value = number_of(word);
      numbers &= value.has_value();
      fields.push_back(value.value_or(0));
    }
    if (fields.empty())
      return;
    if (!numbers || fields.size() < kSwfFields)
      return jobs.leave_out("cannot be read: not 18 numbers", line_name(number));
    if (fields[swf_run] < 0 || (fields[swf_status] == 5 && fields[swf_run] == 0))
      return jobs.leave_out("were cancelled before they started", line_name(number));
    if (fields[swf_submit] < 0)
      return jobs.leave_out("have no time of submission", line_name(number));
    TraceJob one;
    one.id = fmt::format("{:.0f}", fields[swf_job]);
    one.queue = fields[swf_queue] < 0 ? "default" : fmt::format("queue {:.0f}", fields[swf_queue]);
    one.account = fields[swf_group] < 0 ? "" : fmt::format("group {:.0f}", fields[swf_group]);
    one.gpus = whole_of(fields[swf_asked] > 0 ? fields[swf_asked] : fields[swf_used]);
    one.submit_s = fields[swf_submit];
    one.run_s = fields[swf_run];
    if (fields[swf_limit] > 0)
      one.limit_s = fields[swf_limit];
    if (one.limit_s && *one.limit_s < one.run_s) {
      jobs.note("ran longer than their limit: the limit is their run time", line_name(number));
      one.limit_s = one.run_s;
    }
    jobs.add(std::move(one), line_name(number));
  });
}

} // namespace foretrain::experiments
