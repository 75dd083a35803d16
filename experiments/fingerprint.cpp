#include "experiments/fingerprint.hpp"

#include "experiments/resolve.hpp"
#include "experiments/result_json.hpp"

#include <boost/uuid/name_generator_sha1.hpp>
#include <boost/uuid/uuid_io.hpp>

namespace foretrain::experiments {

std::string fingerprint(const Point& point, const RunOptions& options)
{
  Json document = point.document->root;
  for (const char* told : {"name", "description", "expect", "seed"})
    document.erase(told);
  Json all = {{"version", FORETRAIN_VERSION},
              {"seed", options.seed},
              {"fidelity", name_of(options.fidelity)},
              {"uncertainty",
               {static_cast<int>(options.uncertainty.method), options.uncertainty.samples,
                options.uncertainty.interval}},
              {"point", std::move(document)},
              {"presets", Json::array()}};
  if (point.profiles) // also what of them has no use here is told
    for (const auto& profile : point.profiles->list)
      all["profiles"].push_back(profile.name);
  for (const PresetUse& use : resolve(point).presets)
    all["presets"].push_back({use.kind, use.id, use.value.json()});
  const auto url = boost::uuids::ns::url();
  return boost::uuids::to_string(boost::uuids::name_generator_sha1(url)(all.dump()));
}

} // namespace foretrain::experiments
