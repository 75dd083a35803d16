// Kueue's Workloads, as `kubectl get workloads -A -o json` writes them.
#include "experiments/fleet/job_trace.hpp"
#include "experiments/fleet/trace_text.hpp"
#include "sim/base/document.hpp"

#include <cmath>

namespace foretrain::experiments {

namespace {

const Json& below(const Json& json, const char* pointer)
{
  static const Json nothing;
  const nlohmann::json_pointer<std::string> at{pointer};
  return json.contains(at) ? json.at(at) : nothing;
}

std::string text_below(const Json& json, const char* pointer)
{
  const Json& found = below(json, pointer);
  return found.is_string() ? found.get<std::string>() : "";
}

std::optional<double> condition(const Json& workload, const std::string& type)
{
  for (const Json& one : below(workload, "/status/conditions"))
    if (text_below(one, "/type") == type && text_below(one, "/status") == "True")
      return time_of(text_below(one, "/lastTransitionTime"));
  return {};
}

// Of "nvidia.com/gpu", "amd.com/gpu".
double gpus_among(const Json& resources)
{
  double gpus = 0;
  for (const auto& [name, amount] : resources.items())
    if (name.ends_with("/gpu"))
      gpus += amount.is_number()   ? amount.get<double>()
              : amount.is_string() ? number_of(amount.get_ref<const std::string&>()).value_or(0)
                                   : 0;
  return gpus;
}

// What a container does not request is what its limits are: as written, that is nowhere else.
double gpus_of_pod(const Json& pod_set)
{
  double gpus = 0;
  for (const Json& container : below(pod_set, "/template/spec/containers")) {
    const double requested = gpus_among(below(container, "/resources/requests"));
    gpus += requested > 0 ? requested : gpus_among(below(container, "/resources/limits"));
  }
  return gpus;
}

void add_workload(const Json& workload, const std::string& where, JobCollector& jobs)
{
  const auto created = time_of(text_below(workload, "/metadata/creationTimestamp"));
  if (!created)
    return jobs.leave_out("cannot be read: no creationTimestamp", where);
  const auto admitted = condition(workload, "Admitted"), finished = condition(workload, "Finished");
  if (!finished)
    return jobs.leave_out("had not ended", where);
  if (!admitted)
    return jobs.leave_out("were finished without being admitted", where);
  double gpus = 0, pods = 0;
  for (const Json& pod_set : below(workload, "/spec/podSets")) {
    const Json& count = below(pod_set, "/count");
    const double number = count.is_number() ? count.get<double>() : 1;
    const double each = gpus_of_pod(pod_set);
    gpus += number * each;
    pods += each > 0 ? number : 0;
  }
  if (!below(workload, "/status/requeueState").is_null())
    jobs.note("were requeued by Kueue: their last run is replayed", where);
  TraceJob one;
  one.id =
      text_below(workload, "/metadata/namespace") + "/" + text_below(workload, "/metadata/name");
  one.queue = text_below(workload, "/status/admission/clusterQueue");
  if (one.queue.empty())
    one.queue = text_below(workload, "/spec/queueName");
  one.account = text_below(workload, "/metadata/namespace");
  one.gpus = whole_of(gpus);
  one.nodes = whole_of(pods);
  one.submit_s = *created;
  one.run_s = *finished - *admitted;
  if (const Json& priority = below(workload, "/spec/priority"); priority.is_number())
    one.priority = priority.get<double>();
  if (const Json& limit = below(workload, "/spec/maximumExecutionTimeSeconds"); limit.is_number())
    one.limit_s = limit.get<double>();
  jobs.add(std::move(one), where);
}

} // namespace

void read_kueue(const std::filesystem::path& path, JobCollector& jobs)
{
  std::string text;
  each_line(path, [&](std::string_view line, std::size_t) { text.append(line).append("\n"); });
  const auto document = parse_document(std::move(text), path.string());
  const Value root{DocumentPtr(document)};
  const Json& items = root.json().is_array() ? root.json() : below(root.json(), "/items");
  if (!items.is_array())
    root.fail("is no list of Workloads: it has no \"items\"");
  std::size_t number = 0;
  for (const Json& workload : items)
    add_workload(workload, "item " + std::to_string(number++), jobs);
}

} // namespace foretrain::experiments
