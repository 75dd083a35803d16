#include "experiments/run/keep/fingerprint.hpp"

#include "calibration/spreads.hpp"
#include "experiments/run/keep/result_json.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/version.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace foretrain::experiments {

namespace {

// The same for every point of a process.
const std::string& of_program()
{
  static const std::string id = build_id();
  return id;
}

const Json& of_spreads()
{
  static const Json table = load_document(calibration::spreads_file())->root;
  return table;
}

} // namespace

std::string checksum(const std::string& text)
{
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(boost::uuids::ns::url())(text));
}

std::string fingerprint(const Point& point, const RunOptions& options)
{
  Json document = point.document->root;
  for (const char* told : {"name", "description", "expect", "seed"})
    document.erase(told);
  Json all = {{"version", version()},
              {"build", of_program()},
              {"spreads", of_spreads()},
              {"seed", options.seed},
              {"fidelity", word_of(options.fidelity)},
              {"uncertainty",
               {static_cast<int>(options.uncertainty.method), options.uncertainty.samples,
                options.uncertainty.interval}},
              {"point", std::move(document)},
              {"presets", Json::array()}};
  if (point.anchored)
    for (const char* measured : {"cluster", "stack", "jobs"})
      all["anchored"].push_back(point.anchored->root.value(measured, Json()));
  if (point.profiles) // whole: spreads, correlations and what a fit left over shape intervals
    for (const auto& profile : point.profiles->list)
      all["profiles"].push_back({profile.name, profile.origin.json()});
  for (const PresetUse& use : resolve(point).presets)
    all["presets"].push_back({use.kind, use.told(), use.value.json()});
  return checksum(all.dump());
}

} // namespace foretrain::experiments
