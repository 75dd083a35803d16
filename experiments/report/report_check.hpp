// Checks of experiments as text, JUnit XML, TAP and GitHub annotations.
#pragma once

#include "experiments/answers/check.hpp"
#include "experiments/report/report_table.hpp"

namespace foretrain::experiments {

/// What has not passed, then a line for each file and the counts.
std::string check_table(const std::vector<CheckedFile>& files, const TableStyle& style = {});

/// JUnit XML as CI servers read it: a suite for each file. Undecided cases pass, with a note under
/// system-out.
std::string check_junit(const std::vector<CheckedFile>& files);

/// TAP 13.
std::string check_tap(const std::vector<CheckedFile>& files);

/// Workflow commands: ::error and ::warning with file and line.
std::string check_github(const std::vector<CheckedFile>& files);

} // namespace foretrain::experiments
