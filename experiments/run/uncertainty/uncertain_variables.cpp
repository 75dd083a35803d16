#include "experiments/run/uncertainty/uncertain_variables.hpp"

#include "calibration/spreads.hpp"
#include "experiments/run/uncertainty/parameter_teller.hpp"
#include "experiments/spec/anchor.hpp"
#include "experiments/spec/kernel_curves.hpp"
#include "experiments/spec/preset_kinds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

// What a preset's schema says of a value.
struct Format {
  Json standard; // what is taken where a file is silent; null: nothing
  double smallest = 0;
  double largest = std::numeric_limits<double>::infinity();
};

Format format_of(const std::string& kind, const std::string& pointer)
{
  Format format;
  const Json* at = schema_at(kind, pointer);
  if (at == nullptr)
    return format;
  if (at->contains("default"))
    format.standard = at->at("default");
  for (const char* key : {"minimum", "x-minimum"}) // of a number, of a text with a unit
    if (at->contains(key))
      format.smallest = at->at(key).get<double>();
  for (const char* key : {"maximum", "x-maximum"})
    if (at->contains(key))
      format.largest = at->at(key).get<double>();
  return format;
}

std::optional<Measure> measure_in(const Json& json)
{
  if (json.is_number())
    return Measure{json.get<double>(), "", 1};
  if (json.is_string())
    return parse_measure(json.get<std::string>());
  return {};
}

class Collector {
public:
  Collector(const ResolvedExperiment& experiment, const Point& point)
      : experiment_(experiment), point_(point), table_(calibration::load_spreads())
  {
    for (const ResolvedJob& job : experiment.jobs)
      for (const auto precision :
           {job.spec.precision, arithmetic_of(experiment.platform.gpu, job.spec.precision,
                                              job.spec.mode != JobMode::inference)})
        precisions_.insert(precision);
  }

  std::vector<Variable> collect()
  {
    for (const PresetUse& use : experiment_.presets) {
      taken_.clear();
      from_profiles(use);
      from_preset(use);
      from_table(use);
    }
    anchors();
    kernels();
    return std::move(variables_);
  }

private:
  // "/fp16/..." of a GPU matters when a job computes in it.
  bool of_use(const std::string& pointer) const
  {
    using sim::Precision;
    for (const Precision precision :
         {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
      if (pointer.starts_with("/" + word_of(precision) + "/"))
        return precisions_.count(precision) > 0;
    return true;
  }

  // Adds `pointer` to the variable if the preset has a value there that can be varied.
  void put(Variable& variable, const PresetUse& use, const std::string& pointer)
  {
    if (!of_use(pointer) || !taken_.insert(pointer).second)
      return;
    const Json::json_pointer at(pointer);
    const bool held = use.value.json().contains(at.parent_pointer());
    const auto format = format_of(use.kind, pointer);
    const auto value =
        measure_in(use.value.json().contains(at) ? use.value.json().at(at) : format.standard);
    // A value at the edge of its format is meant exactly: nothing lost, nothing added.
    if (value && value->si() > format.smallest && value->si() < format.largest)
      variable.at.push_back({pointer, *value, format.smallest, format.largest,
                             held ? "" : at.parent_pointer().to_string(), use.id});
  }

  void keep(Variable variable)
  {
    if (!variable.at.empty() && variable.spread > 0)
      variables_.push_back(std::move(variable));
  }

  // Of a preset: with that of another one that has it from the same file, or says the same, if
  // there is any. `what`: of all that vary there.
  void keep_of(const PresetUse& use, const std::string& what, Variable variable)
  {
    if (variable.at.empty() || variable.spread <= 0)
      return;
    std::vector<std::string> pointers;
    for (const Variable::At& at : variable.at)
      pointers.push_back(at.pointer);
    variable.name = use.kind + " " + teller_of(use, pointers) + what;
    const std::array<std::string, 3> text = {use.kind, what, use.value.json().dump()};
    auto same = same_.find({use.kind, variable.name, ""});
    if (same == same_.end())
      same = same_.find(text);
    if (same != same_.end() && variables_[same->second].spread == variable.spread) {
      for (Variable::At& at : variable.at)
        variables_[same->second].at.push_back(std::move(at));
      return;
    }
    same_[{use.kind, variable.name, ""}] = same_[text] = variables_.size();
    variables_.push_back(std::move(variable));
  }

  void from_profiles(const PresetUse& use)
  {
    if (!point_.profiles)
      return;
    const Document& document = *use.value.document();
    std::size_t entry = 0;
    for (std::size_t p = 0; p < point_.profiles->list.size(); ++p) {
      const auto& parameters = point_.profiles->list[p].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i, ++entry) {
        const OverlayEntry& laid = point_.profiles->overlay->entries[entry];
        if (laid.kind != use.kind || origin_of(document, laid.pointer) != laid.origin)
          continue;
        Variable variable{use.kind + " " + use.told() + " " + laid.pointer,
                          use.kind,
                          {},
                          calibration::relative_spread(parameters[i]),
                          false,
                          static_cast<int>(p),
                          static_cast<int>(i)};
        if (parameters[i].spread) { // one that is not given is that of the kind
          put(variable, use, laid.pointer);
          keep(std::move(variable));
        }
      }
    }
  }

  void from_preset(const PresetUse& use)
  {
    if (!use.value.json().contains("spread"))
      return;
    const Value spreads = use.value.at("spread");
    if (!spreads.json().is_object())
      spreads.fail("must be an object of JSON pointers and relative standard deviations, got " +
                   spreads.shown());
    for (const auto& item : spreads.json().items()) {
      const bool at_most =
          item.value().is_object() && item.value().size() == 1 && item.value().contains("below");
      const Json& spread = at_most ? item.value().at("below") : item.value();
      if (!spread.is_number() || !(spread.get<double>() >= 0))
        spreads.fail_at(item.key(),
                        "must be a number that is not negative, or { \"below\": a number } of a "
                        "value that is the most that there is, got " +
                            spreads.at(item.key()).shown());
      if (item.key().empty() || item.key().front() != '/')
        spreads.fail_at(item.key(), "must be a JSON pointer, like /latency");
      if (taken_.count(item.key()) > 0)
        continue;
      Variable variable{"", use.kind, {}, spread.get<double>(), at_most};
      put(variable, use, item.key());
      if (at_most)
        for (Variable::At& at : variable.at)
          at.largest = at.value.si();
      if (variable.at.empty() && of_use(item.key()))
        spreads.fail_at(item.key(), "is about no positive number of this file");
      keep_of(use, " " + item.key(), std::move(variable));
    }
  }

  void from_table(const PresetUse& use)
  {
    for (const calibration::SpreadLine& line : table_.spreads) {
      if (line.kind != use.kind)
        continue;
      Variable variable{"", use.kind, {}, line.spread};
      for (const std::string& pointer : calibration::pointers_in(use.value.json(), line))
        put(variable, use, pointer);
      const bool as_below = use.value.json().contains("over"); // a layer has what it stands on has
      for (const std::string& pointer : line.pointers) // what the file leaves to its default
        if (!as_below && (line.defaults || pointer.rfind('/') == 0) &&
            !use.value.json().contains(Json::json_pointer(pointer)))
          put(variable, use, pointer);
      keep_of(use, ": " + line.name, std::move(variable));
    }
  }

  // What a rate of fewer GPUs does not tell of several: ranks with unequal work wait for each
  // other, hosts have more to do. Steps of transformers have a spread of their own.
  double beside_anchor(const ResolvedJob& job) const
  {
    const bool more = static_cast<int>(job.ranks.size()) > anchor_gpus(job.spec);
    const bool on_cores = experiment_.platform.gpu.on_host();
    return more && !job.transformer && !on_cores ? spread_of("anchored-ranks") : 0;
  }

  void anchors()
  {
    for (std::size_t i = 0; i < experiment_.jobs.size(); ++i) {
      const ResolvedJob& job = experiment_.jobs[i];
      const auto& anchor = job.spec.anchor;
      if (!anchor)
        continue;
      const double known = anchor->spread.value_or(spread_of("anchor"));
      const double of_several = beside_anchor(job);
      Variable variable{job.spec.name + ": anchor", "anchor", {}, std::hypot(known, of_several)};
      variable.of_several = of_several;
      variable.at.push_back({fmt::format("/jobs/{}/anchor/samples_per_s", i),
                             {anchor->samples_per_s, "", 1},
                             0,
                             std::numeric_limits<double>::infinity()});
      keep(std::move(variable));
    }
  }

  // Times of kernels come from curves and passes over memory, whose error is one of all kernels of
  // a job. An anchor removes it, and so does a profile that has learnt from training runs how fast
  // the GPU's kernels are (not one that knows its links alone).
  void kernels()
  {
    const bool learnt = std::any_of(variables_.begin(), variables_.end(), [](const Variable& it) {
      return it.profile >= 0 && it.kind == "gpu" &&
             std::any_of(it.at.begin(), it.at.end(), [](const Variable::At& at) {
               return at.pointer.ends_with("/dense_efficiency");
             });
    });
    for (std::size_t i = 0; i < experiment_.jobs.size(); ++i) {
      const ResolvedJob& job = experiment_.jobs[i];
      const bool of_layers = !job.transformer && !job.spec.program && !job.network.measured &&
                             !learnt && !experiment_.platform.gpu.on_host();
      if (job.spec.anchor || !(job.transformer || of_layers))
        continue;
      Variable variable{job.spec.name + ": time of kernels",
                        "job",
                        {},
                        job.transformer ? kernel_spread(*job.transformer) : spread_of("layers")};
      variable.at.push_back({fmt::format("/jobs/{}/kernel_time", i),
                             {job.spec.kernel_time, "", 1},
                             kLeastKernelTime,
                             kMostKernelTime});
      keep(std::move(variable));
    }
  }

  // Of the table's line of this kind; 0 without one.
  double spread_of(const std::string& kind) const
  {
    for (const calibration::SpreadLine& line : table_.spreads)
      if (line.kind == kind)
        return line.spread;
    return 0;
  }

  const ResolvedExperiment& experiment_;
  const Point& point_;
  calibration::Spreads table_;
  std::set<sim::Precision> precisions_;
  std::set<std::string> taken_; // pointers of the preset at hand
  std::vector<Variable> variables_;
  std::map<std::array<std::string, 3>, std::size_t> same_; // kind, name or what varies, text
};

} // namespace

std::vector<Variable> variables_of(const ResolvedExperiment& experiment, const Point& point)
{
  return Collector(experiment, point).collect();
}

Point shifted(const Point& point, const std::vector<Variable>& variables,
              const std::vector<double>& shift)
{
  auto overlay =
      std::make_shared<Overlay>(point.document->overlay ? *point.document->overlay : Overlay{});
  auto document = std::make_shared<Document>(*point.document);
  std::set<std::pair<std::string, std::string>> made; // preset, object
  for (std::size_t i = 0; i < variables.size(); ++i) {
    if (shift[i] == 0)
      continue;
    for (const Variable::At& at : variables[i].at) {
      if (!at.missing.empty() && made.insert({at.preset, at.missing}).second)
        overlay->entries.push_back(
            {variables[i].kind, at.preset, at.missing, Json::object(), kVaried});
      Measure value = at.value;
      value.value =
          std::clamp(value.si() * std::exp(shift[i]), at.smallest, at.largest) / value.unit_si;
      const Json json = value.unit.empty() ? Json(value.value) : Json(to_text(value));
      if (variables[i].kind == "anchor" || variables[i].kind == "job") {
        const std::string given = origin_of(*document, at.pointer); // by whom, if not by the file
        set_value(*document, at.pointer, json, given.empty() ? kVaried : given);
      } else {
        overlay->entries.push_back({variables[i].kind, at.preset, at.pointer, json, kVaried});
      }
    }
  }
  document->overlay = std::move(overlay);
  return {point.settings, std::move(document), point.profiles, point.anchored};
}

double correlation(const Point& point, const Variable& a, const Variable& b)
{
  if (a.profile < 0 || a.profile != b.profile)
    return 0;
  if (a.parameter == b.parameter)
    return 1;
  const auto& profile = point.profiles->list[static_cast<std::size_t>(a.profile)];
  for (const auto& it : profile.correlations)
    if ((it.a == a.parameter && it.b == b.parameter) ||
        (it.a == b.parameter && it.b == a.parameter))
      return it.value;
  return 0;
}

} // namespace foretrain::experiments
