#include "experiments/fleet/kept_seeds.hpp"

#include "experiments/fleet/fleet_setting.hpp"
#include "experiments/fleet/seed_bytes.hpp"
#include "experiments/run/keep/fingerprint.hpp"
#include "experiments/spec/experiment.hpp"
#include "sim/base/files.hpp"
#include "sim/base/version.hpp"

#include <algorithm>

namespace foretrain::experiments {

namespace {

// Before the bytes stands their checksum, and a line end.
constexpr std::size_t kChecksumSize = 36;

// Jobs whose speeds are simulated, on their presets.
Json of_jobs(const LoadedFleet& fleet)
{
  SpeedTable table(speed_cluster(fleet));
  Json list = Json::array();
  const auto add = [&](const Value& job, int gpus) {
    list.push_back(table.fingerprint(table.kind({job, gpus})));
  };
  if (fleet.spec.jobs && fleet.spec.jobs->job)
    add(fleet.spec.jobs->job, 1);
  if (fleet.spec.arrivals)
    for (const MixSpec& mix : fleet.spec.arrivals->mix)
      if (mix.job)
        add(mix.job, read_as<JobSpec>(mix.job).gpus);
  return list;
}

} // namespace

std::string fingerprint(const LoadedFleet& fleet, bool ties)
{
  Json document = fleet.document->root;
  for (const char* told : {"name", "description", "expect", "seed", "seeds"})
    document.erase(told);
  Json files = Json::array();
  for (const std::filesystem::path& file : fleet.files)
    files.push_back(checksum(read_file(file.string())));
  return checksum(Json{{"version", version()},
                       {"build", build_id()},
                       {"fleet", std::move(document)},
                       {"files", std::move(files)},
                       {"jobs", of_jobs(fleet)},
                       {"order", ties},
                       {"interval", fleet.interval_scale}}
                      .dump());
}

std::string KeptSeeds::path_of(const std::string& name) const
{
  return folder_ + "/" + name + ".seed";
}

std::optional<models::fleet::FleetResult> KeptSeeds::find(const std::string& name,
                                                          SpeedTable& table)
{
  const std::string path = path_of(name);
  if (!std::filesystem::exists(path))
    return {};
  const std::string text = read_file(path);
  const std::string bytes = text.substr(std::min(text.size(), kChecksumSize + 1));
  if (text.substr(0, kChecksumSize) != checksum(bytes)) {
    ++damaged_;
    return {};
  }
  ++found_;
  return unpacked(bytes, table);
}

void KeptSeeds::keep(const std::string& name, const models::fleet::FleetResult& result,
                     const Situations& learnt) const
{
  const std::string bytes = packed(result, learnt);
  write_file(path_of(name), checksum(bytes) + "\n" + bytes);
}

} // namespace foretrain::experiments
