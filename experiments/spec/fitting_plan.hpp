// Whether a transformer under its plan fits the memory of a GPU, and which plan would.
#pragma once

#include "experiments/spec/transformer_setting.hpp"

#include <string>

namespace foretrain::experiments {

/// Whether the fullest stage fits into a GPU's memory.
bool plan_fits(const models::MemorySetting& setting, const platforms::PlatformSpec& platform);

/// A warning where it does not fit: what the fullest stage needs, and the plan nearest to the one
/// asked for that fits and the framework has; "" where it does.
std::string why_not_fitting(const TransformerSetting& setting, const std::string& job,
                            const platforms::PlatformSpec& platform,
                            const models::PlanLimits& limits);

} // namespace foretrain::experiments
