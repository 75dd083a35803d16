// The looks of the HTML report, and its small script.
#pragma once

namespace foretrain::experiments {

/// CSS: light and dark, wide and narrow, screen and paper. Curves c0-c7 and parts of a step t0-t6
/// take Okabe and Ito's colours, which colour-blind people can tell apart.
extern const char* const kReportStyle;

/// Sorting of tables and quick tooltips, as enliven(root); the page says everything without it.
extern const char* const kReportScript;

} // namespace foretrain::experiments
