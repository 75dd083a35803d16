// In which settings two points differ, and what each of them does alone.
#pragma once

#include "experiments/answers/compare_sides.hpp"

namespace foretrain::experiments {

/// A setting in which the two sides differ; null where one says nothing.
struct SettingDifference {
  std::string pointer;
  Json a, b;
};

/// Throughput of A with this setting alone as in B, over that of A.
struct SettingAlone {
  SettingDifference setting;
  double ratio = 1;
};

/// What experiments are called and expect does not count.
std::vector<SettingDifference> differing_settings(const ComparedPoint& a, const ComparedPoint& b);

/// Of job `job`, the largest effect first. Left out: settings that do not work without the others.
std::vector<SettingAlone> settings_alone(const ComparedPoint& a,
                                         const std::vector<SettingDifference>& differing,
                                         std::size_t job);

template <class V>
void describe(V& v, SettingDifference& s)
{
  v.required("pointer", s.pointer, "of the file");
  v.required("a", s.a, "of A; null where its file says nothing");
  v.required("b", s.b, "of B; null where its file says nothing");
}

template <class V>
void describe(V& v, SettingAlone& s)
{
  describe(v, s.setting);
  v.required("ratio", s.ratio, "throughput of A with it as in B, over that of A");
}

} // namespace foretrain::experiments
