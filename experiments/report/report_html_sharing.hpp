// Jobs that share a machine: what each loses, and all of them together.
#pragma once

#include "experiments/report/report_html_rows.hpp"

namespace foretrain::experiments {

/// For points with several jobs: the mean slowdown weighted by GPUs, GPU hours lost in an hour, and
/// each job's loss. Empty where nothing is shared.
std::string sharing_section(const Report& report);

/// The joint score of the jobs of a point in a sentence.
std::string joint_words(const JointScore& joint);

} // namespace foretrain::experiments
