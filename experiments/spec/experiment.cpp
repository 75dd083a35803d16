#include "experiments/spec/experiment.hpp"

#include "sim/base/error.hpp"
#include "sim/base/readable.hpp"
#include "sim/base/text.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kMaxPoints = 100000;

// "/a /b" names two pointers that vary together.
std::vector<std::string> pointers_of(const std::string& key)
{
  std::vector<std::string> pointers;
  std::size_t from = 0;
  for (std::size_t space = key.find(" /"); space != std::string::npos;
       space = key.find(" /", from)) {
    pointers.push_back(key.substr(from, space - from));
    from = space + 1;
  }
  pointers.push_back(key.substr(from));
  return pointers;
}

// The settings that one value of a sweep entry stands for.
Settings settings_of(const std::vector<std::string>& pointers, const Value& value)
{
  if (pointers.size() == 1)
    return {{pointers.front(), value.json()}};
  if (!value.json().is_array() || value.json().size() != pointers.size())
    value.fail(fmt::format("must be a list of {} values, one for each pointer, got {}",
                           pointers.size(), value.shown()));
  Settings settings;
  for (std::size_t i = 0; i < pointers.size(); ++i)
    settings.emplace_back(pointers[i], value.json()[i]);
  return settings;
}

// A setting made by two entries of a sweep would be labelled with what it was not run with.
void refuse_conflicts(const Value& sweep)
{
  std::vector<std::string> seen;
  for (const auto& entry : sweep.json().items())
    for (const std::string& pointer : pointers_of(entry.key())) {
      for (const std::string& other : seen)
        if (overlap(pointer, other))
          sweep.fail_at(entry.key(),
                        pointer == other ? "sets " + excerpt(pointer, 200) + " a second time"
                                         : "sets " + excerpt(pointer, 200) + ", and " +
                                               excerpt(other, 200) + " is set too",
                        "one of the two would undo the other: vary each value in one entry");
      seen.push_back(pointer);
    }
}

// --set above or below what is varied would be undone, or undo it.
void refuse_conflicts(const Json& sweep, const std::string& pointer)
{
  for (const auto& entry : sweep.items())
    for (const std::string& varied : pointers_of(entry.key()))
      if (pointer != varied && overlap(pointer, varied))
        throw UsageError("--set " + excerpt(pointer, 200) + ": the sweep varies " +
                         excerpt(varied, 200) + ", and one would undo the other\n  hint: --set " +
                         excerpt(varied, 200) + "=VALUE holds it at one value");
}

// What --set fixes is no longer varied. Settings that vary together with it keep the values that
// they have beside this one, all of them where the sweep has it nowhere.
void drop_from_sweep(Json& sweep, const std::string& pointer, const Json& value)
{
  Json kept = Json::object();
  for (const auto& entry : sweep.items()) {
    auto pointers = pointers_of(entry.key());
    const auto at = std::find(pointers.begin(), pointers.end(), pointer);
    if (at == pointers.end() || !entry.value().is_array()) {
      kept[entry.key()] = entry.value();
      continue;
    }
    const auto index = static_cast<std::size_t>(at - pointers.begin());
    pointers.erase(at);
    if (pointers.empty())
      continue;
    const auto has_it = [&](const Json& together) {
      return together.is_array() && index < together.size() && together[index] == value;
    };
    const bool known = std::any_of(entry.value().begin(), entry.value().end(), has_it);
    Json values = Json::array();
    for (Json together : entry.value()) {
      if (known && !has_it(together))
        continue;
      if (together.is_array() && index < together.size())
        together.erase(index);
      values.push_back(pointers.size() == 1 && together.is_array() && together.size() == 1
                           ? together[0]
                           : together);
    }
    kept[joined(pointers, " ")] = std::move(values);
  }
  sweep = std::move(kept);
}

// Objects that a file may leave out, or say in one word, are there for --set and sweeps all the
// same.
void make_optional_parents(Document& document, const std::string& pointer)
{
  static const std::set<std::string> kOptional{"stack", "parameter_servers", "anchor", "better",
                                               "parallel"};
  Json* at = &document.root;
  const auto steps = pointer_steps(pointer);
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    if (at->is_object() && !at->contains(steps[i]) && kOptional.count(steps[i]) > 0)
      (*at)[steps[i]] = Json::object();
    if (at->is_object() && at->contains(steps[i])) {
      at = &(*at)[steps[i]];
      if (steps[i] == "input" && at->is_string())
        *at = {{"format", *at}};
    } else if (at->is_array() && !steps[i].empty() &&
               steps[i].find_first_not_of("0123456789") == std::string::npos &&
               steps[i].size() < 9 && std::stoul(steps[i]) < at->size())
      at = &(*at)[std::stoul(steps[i])];
    else
      return; // set_value says what is wrong
  }
}

// All combinations of the sweep's values, first entry slowest.
std::vector<Settings> combinations(const Value& sweep)
{
  std::vector<Settings> all{{}};
  refuse_conflicts(sweep);
  for (const auto& entry : sweep.json().items()) {
    const Value list = sweep.at(entry.key());
    if (!list.json().is_array() || list.json().empty())
      list.fail("must be a list of values, got " + list.shown());
    if (entry.key().empty() || entry.key().front() != '/')
      sweep.fail_at(entry.key(),
                    "must be a JSON pointer, like /jobs/0/gpus, or several of them with "
                    "spaces between, which vary together");
    if (all.size() * list.json().size() > kMaxPoints)
      list.fail(fmt::format("makes more than {} points", kMaxPoints));
    std::set<Json> known;
    for (std::size_t i = 0; i < list.json().size(); ++i)
      if (!known.insert(list.json().at(i)).second)
        list.at(i).fail("is there twice: " + list.at(i).shown(), "each value once makes a point");
    const auto pointers = pointers_of(entry.key());
    std::vector<Settings> longer;
    for (const Settings& settings : all)
      for (std::size_t i = 0; i < list.json().size(); ++i) {
        longer.push_back(settings);
        for (auto& setting : settings_of(pointers, list.at(i)))
          longer.back().push_back(std::move(setting));
      }
    all = std::move(longer);
  }
  return all;
}

// Its keys would be refused one by one.
void refuse_fleet(const DocumentPtr& document)
{
  const Json& root = document->root;
  const bool replays =
      root.contains("jobs") && root.at("jobs").is_object() && root.at("jobs").contains("trace");
  if (replays || root.contains("arrivals"))
    Value(document).fail("is a fleet, not an experiment",
                         "foretrain fleet runs it, with its sweep; compare, check and plan take "
                         "fleets, too");
}

using ProfilesPtr = std::shared_ptr<const Profiles>;

// The profiles of a document and those of the command line.
ProfilesPtr profiles_of(const std::shared_ptr<Document>& document,
                        const std::vector<std::string>& given)
{
  auto profiles = std::make_shared<Profiles>();
  const Value root{DocumentPtr(document)};
  if (document->root.contains("profiles")) {
    const Value list = root.at("profiles");
    if (!list.json().is_array())
      list.fail("must be a list of profiles, got " + list.shown());
    for (std::size_t i = 0; i < list.json().size(); ++i)
      profiles->add(list.at(i));
  }
  for (const std::string& name : given)
    profiles->add(name);
  return profiles;
}

Point make_point(const Document& base, const Settings& settings, ProfilesPtr profiles,
                 const std::vector<std::string>& given)
{
  auto document = std::make_shared<Document>(base);
  document->root.erase("sweep");
  bool other_profiles = false;
  for (const auto& [pointer, value] : settings) {
    set_in_experiment(*document, pointer, value, "sweep " + pointer + "=" + value.dump());
    other_profiles |= pointer.starts_with("/profiles");
  }
  if (other_profiles)
    profiles = profiles_of(document, given);
  document->overlay = profiles->overlay;
  return {settings, document, std::move(profiles)};
}

// Anchors were measured once: with the file's own values, whatever a sweep, --set or one who asks
// what else there is tries.
void tell_anchored(LoadedExperiment& experiment, const Point& plain)
{
  const auto none_has_one = [](const ExperimentSpec& spec) {
    return std::none_of(spec.jobs.begin(), spec.jobs.end(),
                        [](const JobSpec& job) { return job.anchor.has_value(); });
  };
  if (none_has_one(experiment.spec))
    return;
  std::shared_ptr<const Document> anchored = experiment.points.front().document;
  try {
    if (!none_has_one(read_point(plain)))
      anchored = plain.document;
  } catch (const ConfigError&) { // it says too little without the sweep
  }
  for (Point& point : experiment.points)
    point.anchored = anchored;
}

void check_number(const Value& price)
{
  if (!price.json().is_number() || price.json().get<double>() < 0)
    price.fail("must be a price that is not negative, got " + price.shown(),
               "one number, or an object of platform and number: { \"hgx-h100\": 2.5 }");
}

void check(const ExperimentSpec& spec, const Value& root)
{
  for (std::size_t i = 0; i < spec.expect.size(); ++i) {
    const ExpectationSpec& it = spec.expect[i];
    const Value at = root.at("expect").at(i);
    if (it.quantity.empty() || it.quantity.front() != '/')
      at.at("quantity").fail("must be a JSON pointer below a job's results, like /speedup");
    try {
      static_cast<void>(Json::json_pointer(it.quantity));
    } catch (const Json::exception&) {
      at.at("quantity").fail("is not a valid JSON pointer");
    }
    if (!it.at_least && !it.at_most && !it.contains && !it.is)
      at.fail("must have at_least, at_most, contains or is");
    if (it.at_least && it.at_most && *it.at_least > *it.at_most)
      at.fail_at("at_most", fmt::format("is {:g}, below at_least, which is {:g}: no number is both",
                                        *it.at_most, *it.at_least));
    if (it.point && !it.point.json().is_object())
      it.point.fail("must be an object of pointers and values, got " + it.point.shown());
    if (it.point)
      for (const auto& wanted : it.point.json().items())
        if (wanted.key().empty() || wanted.key().front() != '/' ||
            wanted.key().find('~') != std::string::npos)
          it.point.fail("must have JSON pointers as keys, got '" + wanted.key() + "'");
    if (it.than && !it.than.json().is_object())
      it.than.fail("must be an object of pointers and values, got " + it.than.shown());
    if ((it.contains || it.is) && (it.than || !it.than_job.empty()))
      at.fail(std::string("compares no numbers: '") + (it.contains ? "contains" : "is") +
              "' goes without 'than' and 'than_job'");
  }
  check_price(spec.cluster.price_per_gpu_hour);
  if (spec.jobs.empty())
    root.fail_at("jobs", "must hold at least one job");
  for (std::size_t i = 0; i < spec.jobs.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (spec.jobs[i].name == spec.jobs[k].name)
        root.at("jobs").at(i).fail("has the name of another job: '" + spec.jobs[i].name + "'",
                                   "give each job a \"name\" of its own");
}

// Points that are read before anything runs: all of few; of many, each value of each entry once,
// beside the first values of the others. What is wrong in a combination only, its point tells.
std::vector<std::size_t> points_to_read(const LoadedExperiment& experiment)
{
  constexpr std::size_t kFew = 1000;
  std::vector<std::size_t> places;
  if (experiment.points.size() <= kFew) {
    for (std::size_t i = 1; i < experiment.points.size(); ++i)
      places.push_back(i);
    return places;
  }
  std::size_t stride = experiment.points.size();
  for (const auto& entry : experiment.document->root.at("sweep").items()) {
    const std::size_t values = entry.value().size();
    stride /= values;
    for (std::size_t i = 1; i < values; ++i)
      places.push_back(i * stride);
  }
  return places;
}

} // namespace

LoadedExperiment load_experiment(const std::string& name_or_path,
                                 const std::vector<std::string>& overrides,
                                 const std::vector<std::string>& profiles)
{
  const Value loaded = resolve_preset(name_or_path, kExperimentKind);
  return load_experiment(std::make_shared<Document>(*loaded.document()), overrides, profiles);
}

LoadedExperiment load_experiment(const std::shared_ptr<Document>& document,
                                 const std::vector<std::string>& overrides,
                                 const std::vector<std::string>& profiles)
{
  if (!document->root.is_object())
    Value(document).fail("must be a JSON object, got " + Value(document).shown());
  refuse_fleet(document);
  const Document own = *document;
  std::set<std::string> given;
  for (const std::string& text : overrides) {
    if (!given.insert(text.substr(0, text.find('='))).second)
      throw UsageError("--set " + excerpt(text.substr(0, text.find('=')), 200) +
                       " is given twice: one would undo the other");
    apply_override(*document, text, "/jobs/0/gpus=8");
  }
  LoadedExperiment experiment;
  experiment.document = document;
  const Value root{DocumentPtr(document)};
  const ProfilesPtr laid = profiles_of(document, profiles);
  if (document->root.contains("sweep")) {
    const Value sweep = root.at("sweep");
    for (const Settings& settings : sweep_settings(sweep))
      experiment.points.push_back(make_point(*document, settings, laid, profiles));
  } else {
    experiment.points.push_back(make_point(*document, {}, laid, profiles));
  }
  experiment.spec = read_point(experiment.points.front());
  for (const std::size_t i : points_to_read(experiment))
    static_cast<void>(read_point(experiment.points[i]));
  tell_anchored(experiment, make_point(own, {}, laid, profiles));
  if (experiment.spec.name.empty())
    experiment.spec.name = default_name(*document, "experiment");
  return experiment;
}

void check_price(const Value& price)
{
  if (price && price.json().is_object())
    for (const auto& it : price.json().items())
      check_number(price.at(it.key()));
  else if (price)
    check_number(price);
}

std::string default_name(const Document& document, const std::string& otherwise)
{
  const bool named = !document.path.empty() && !is_descriptor(document.name);
  return named ? document.path.stem().string() : otherwise;
}

namespace {

bool has_sweep(const Document& document)
{
  return document.root.contains("sweep") && document.root.at("sweep").is_object();
}

} // namespace

void hold_in_sweep(Document& document, const std::string& pointer)
{
  if (!has_sweep(document))
    return;
  refuse_conflicts(document.root.at("sweep"), pointer);
  drop_from_sweep(document.root.at("sweep"), pointer,
                  document.root.at(Json::json_pointer(pointer)));
}

void apply_override(Document& document, const std::string& text, const char* example)
{
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos)
    throw UsageError(std::string("--set needs POINTER=VALUE, like --set ") + example + "; got '" +
                     excerpt(text, 200) + "'");
  const std::string pointer = text.substr(0, equals);
  if (has_sweep(document))
    refuse_conflicts(document.root.at("sweep"), pointer);
  make_optional_parents(document, pointer);
  set_value(document, pointer, text.substr(equals + 1));
  hold_in_sweep(document, pointer);
}

std::vector<Settings> sweep_settings(const Value& sweep)
{
  if (!sweep.json().is_object())
    sweep.fail("must be an object of JSON pointers and lists, got " + sweep.shown());
  return combinations(sweep);
}

std::size_t job_named(const std::string& name, const ExperimentSpec& experiment, const Value& at)
{
  if (name.empty())
    return 0;
  std::vector<std::string> names;
  for (const JobSpec& job : experiment.jobs) {
    if (job.name == name)
      return names.size();
    names.push_back(job.name);
  }
  at.at("job").fail("is not a job of the experiment: '" + excerpt(name) + "'",
                    suggestion(name, names, "jobs"));
}

std::shared_ptr<Document> own_document(const Value& experiment)
{
  const Document& whole = *experiment.document();
  if (experiment.pointer().empty())
    return std::make_shared<Document>(whole);
  // A suite holds hundreds: the rest of it, and its text with other positions, stays behind.
  auto document = std::make_shared<Document>();
  document->path = whole.path;
  document->name = experiment.where() + " " + experiment.pointer();
  document->root = experiment.json();
  document->base = whole.base;
  document->overridden = whole.overridden;
  document->overlay = whole.overlay;
  return document;
}

void set_in_experiment(Document& document, const std::string& pointer, Json value,
                       const std::string& origin)
{
  make_optional_parents(document, pointer);
  set_value(document, pointer, std::move(value), origin);
}

Point single_point(std::shared_ptr<Document> document, Settings settings,
                   const std::vector<std::string>& profiles)
{
  if (document->root.is_object())
    document->root.erase("sweep");
  auto laid = profiles_of(document, profiles);
  document->overlay = laid->overlay;
  return {std::move(settings), std::move(document), std::move(laid)};
}

ExperimentSpec read_point(const Point& point)
{
  const Value root(point.document);
  auto spec = read_as<ExperimentSpec>(root);
  check(spec, root);
  return spec;
}

} // namespace foretrain::experiments
