#include "experiments/answers/compare_settings.hpp"

#include "experiments/run/scenario.hpp"
#include "experiments/spec/resolve.hpp"
#include "sim/base/error.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace foretrain::experiments {

namespace {

// Adds where two values differ, as deep as both have the same shape.
void add_differences(const Json& a, const Json& b, const std::string& pointer,
                     std::vector<SettingDifference>& list)
{
  static const std::set<std::string> kTold{"name",   "description", "source", "format",
                                           "expect", "sweep",       "seed"};
  static const Json kNone;
  const auto member = [](const Json& of, const std::string& key) -> const Json& {
    return of.contains(key) ? of.at(key) : kNone;
  };
  if (a.is_object() && b.is_object()) {
    for (const auto& item : a.items())
      if (!pointer.empty() || kTold.count(item.key()) == 0)
        add_differences(item.value(), member(b, item.key()),
                        pointer + "/" + pointer_token(item.key()), list);
    for (const auto& item : b.items())
      if (!a.contains(item.key()) && (!pointer.empty() || kTold.count(item.key()) == 0))
        add_differences(kNone, item.value(), pointer + "/" + pointer_token(item.key()), list);
  } else if (a.is_array() && b.is_array() && a.size() == b.size()) {
    for (std::size_t i = 0; i < a.size(); ++i)
      add_differences(a[i], b[i], pointer + "/" + std::to_string(i), list);
  } else if (a != b) {
    list.push_back({pointer, a, b});
  }
}

// A with one setting as in B; null takes it out.
Point with_setting(const Point& point, const std::string& pointer, const Json& value)
{
  auto document = std::make_shared<Document>(*point.document);
  if (!value.is_null()) {
    set_in_experiment(*document, pointer, value, "compare");
  } else {
    const std::size_t slash = pointer.rfind('/');
    Json& parent = document->root[Json::json_pointer(pointer.substr(0, slash))];
    if (parent.is_object())
      parent.erase(pointer_steps(pointer).back());
  }
  return {point.settings, std::move(document), point.profiles, point.anchored};
}

// In tokens, where samples are made of them, per second.
double quick_rate(const Point& point, std::size_t job)
{
  const double samples = quick_throughputs(point, {}).at(job);
  const ResolvedJob resolved = resolve(point).jobs.at(job);
  return resolved.transformer
             ? samples * resolved.transformer->step.memory.batch.tokens_per_sample()
             : samples;
}

} // namespace

std::vector<SettingDifference> differing_settings(const ComparedPoint& a, const ComparedPoint& b)
{
  std::vector<SettingDifference> list;
  if (a.input.is_object() && b.input.is_object()) {
    add_differences(a.input, b.input, "", list);
    return list;
  }
  std::set<std::string> pointers;
  for (const Json* settings : {&a.settings, &b.settings, &a.chosen, &b.chosen})
    for (const auto& setting : settings->items())
      pointers.insert(setting.key());
  for (const std::string& pointer : pointers)
    if (value_at_point(a, pointer) != value_at_point(b, pointer))
      list.push_back({pointer, value_at_point(a, pointer), value_at_point(b, pointer)});
  return list;
}

std::vector<SettingAlone> settings_alone(const ComparedPoint& a,
                                         const std::vector<SettingDifference>& differing,
                                         std::size_t job)
{
  std::vector<SettingAlone> list;
  const double base = quick_rate(*a.point, job);
  for (const SettingDifference& it : differing)
    try {
      const Point changed = with_setting(*a.point, it.pointer, it.b);
      list.push_back({it, quick_rate(changed, job) / base});
    } catch (const ConfigError&) { // it goes with another one only
      continue;
    }
  std::stable_sort(list.begin(), list.end(), [](const SettingAlone& x, const SettingAlone& y) {
    return std::abs(std::log(x.ratio)) > std::abs(std::log(y.ratio));
  });
  return list;
}

} // namespace foretrain::experiments
