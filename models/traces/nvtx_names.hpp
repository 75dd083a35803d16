// What people and PyTorch call NVTX ranges, and what the names tell.
#pragma once

#include <string>
#include <utility>

namespace foretrain::models {

/// A step or a phase, as Kineto traces call them (steps.cpp); "" for ranges that tell nothing.
std::string meaning_of_range(const std::string& range);

/// Elements and first dimension of "..., sizes = [[32, 3, 224, 224], ...": the first tensor.
std::pair<double, double> sizes_in_range(const std::string& range);

} // namespace foretrain::models
