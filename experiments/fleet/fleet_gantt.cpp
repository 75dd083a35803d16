#include "experiments/fleet/fleet_gantt.hpp"

#include "experiments/fleet/time_picture.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using namespace models::fleet;

constexpr int kMostRows = 256;       // nodes beyond share rows
constexpr double kRow = 12;          // height of a node, where there are few
constexpr double kMostHeight = 1200; // of all
constexpr int kGap = 4; // columns from one write to the next, from which on both are seen

// Looks of the page's style: t0-t4 are jobs.
constexpr int kJobs = 5, kLost = 5, kDown = 6, kRestart = 7, kWaiting = 8, kNothing = -1;

class Gantt {
public:
  explicit Gantt(const FleetRun& run) : result_(run.result), picture_(run.result)
  {
    for (const auto* spans : {&result_.spans, &result_.held_waiting})
      for (const HeldSpan& span : *spans)
        nodes_ = std::max(nodes_, span.slice.node + 1);
    for (const DownSpan& down : result_.down)
      nodes_ = std::max(nodes_, down.node + 1);
    cells_.assign(static_cast<std::size_t>(std::min(nodes_, kMostRows)),
                  std::vector<int>(TimePicture::kColumns, kNothing));
  }

  std::string svg()
  {
    for (const HeldSpan& span : result_.held_waiting)
      paint(span.slice.node, span.from, span.until, kWaiting);
    for (const HeldSpan& span : result_.spans) {
      paint(span.slice.node, span.from, span.until, static_cast<int>(span.job % kJobs));
      held_[span.job].push_back(&span);
    }
    paint_overheads();
    for (const DownSpan& down : result_.down)
      paint(down.node, down.from, down.until, kDown);
    const auto rows = static_cast<double>(cells_.size());
    const double height = std::min(kRow, kMostHeight / rows), whole = rows * height + 24;
    std::string svg = TimePicture::begin(whole, "jobs on nodes over time");
    for (std::size_t row = 0; row < cells_.size(); ++row)
      svg += TimePicture::row(cells_[row], static_cast<double>(row) * height, height);
    svg += fmt::format("<text x=\"0\" y=\"10\">node 0</text><text x=\"0\" y=\"{}\">{}</text>",
                       coordinate(rows * height), nodes_ - 1);
    return svg + picture_.axis(whole - 6) + "</svg>";
  }

  bool writes_seen() const { return writes_seen_; }

private:
  void paint(int node, Seconds from, Seconds until, int look)
  {
    const auto rows = static_cast<long long>(cells_.size());
    auto& row = cells_[static_cast<std::size_t>(node * rows / nodes_)];
    for (int i = picture_.first_column(from); i < picture_.end_column(until); ++i)
      row[static_cast<std::size_t>(i)] = look;
  }

  void paint_overheads()
  {
    std::map<JobId, Seconds> written; // when each job's last write began
    for (const OverheadSpan& span : result_.overheads) {
      const bool write = span.what == Overhead::checkpoint;
      const Seconds last = write ? std::exchange(written[span.job], span.from) : Seconds(0);
      for (const HeldSpan* held : held_[span.job]) {
        if (held->from >= span.until || span.from >= held->until)
          continue;
        if (!write)
          paint(held->slice.node, std::max(span.from, held->from),
                std::min(span.until, held->until), span.what == Overhead::lost ? kLost : kRestart);
        else if ((span.from - std::max(last, held->from)).value() >= kGap * picture_.column_s())
          paint_write(held->slice.node, span.from);
      }
    }
  }

  // A moment, one column wide; closer to each other gaps would be all that is seen.
  void paint_write(int node, Seconds from)
  {
    paint(node, from, from + Seconds(1e-6 * picture_.column_s()), kNothing);
    writes_seen_ = true;
  }

  const FleetResult& result_;
  TimePicture picture_;
  int nodes_ = 0;
  std::vector<std::vector<int>> cells_; // looks, by row and column
  std::map<JobId, std::vector<const HeldSpan*>> held_;
  bool writes_seen_ = false;
};

} // namespace

std::string fleet_gantt(const FleetRun& run)
{
  if (run.result.spans.empty() && run.result.held_waiting.empty())
    return "";
  Gantt gantt(run);
  const std::string svg = gantt.svg();
  std::string legend;
  const auto is = [&](Overhead what) {
    return std::any_of(run.result.overheads.begin(), run.result.overheads.end(),
                       [&](const OverheadSpan& span) { return span.what == what; });
  };
  if (!run.result.down.empty())
    legend += legend_entry(fmt::format("t{}", kDown), "down");
  if (is(Overhead::lost))
    legend += legend_entry(fmt::format("t{}", kLost), "work that was lost");
  if (is(Overhead::restart))
    legend += legend_entry(fmt::format("t{}", kRestart), "failure noticed, restart");
  if (!run.result.held_waiting.empty())
    legend += legend_entry(fmt::format("t{}", kWaiting), "held by jobs that wait for the rest");
  const std::string colours =
      legend.empty() ? "<p>Colours" : "<ul class=\"legend\">" + legend + "</ul><p>Other colours";
  return svg + colours + " are jobs; where several share a piece the last one is shown." +
         (gantt.writes_seen() ? " Gaps in them are checkpoints." : "") + "</p>";
}

std::string overheads_over_time(const FleetRun& run)
{
  const FleetResult& result = run.result;
  const TimePicture picture(result);
  struct Band {
    const char* name;
    int look;
    std::vector<double> gpus;
  };
  const auto taken_by = [&](Overhead what) {
    std::vector<double> gpus(TimePicture::kColumns, 0);
    for (const OverheadSpan& span : result.overheads)
      if (span.what == what)
        picture.add(gpus, span.from, span.until, run.workload.jobs[span.job].gpus);
    return gpus;
  };
  std::vector<Band> bands{{"write", 0, taken_by(Overhead::checkpoint)},
                          {"restart", kRestart, taken_by(Overhead::restart)},
                          {"lost", kLost, taken_by(Overhead::lost)},
                          {"down", kDown, picture.mean_of(result.moments, &Moment::down)}};
  std::erase_if(bands, [](const Band& band) {
    return std::all_of(band.gpus.begin(), band.gpus.end(), [](double gpus) { return gpus <= 0; });
  });
  if (bands.empty())
    return "";
  constexpr double kHigh = 36, kBand = kHigh + 10;
  const double whole = static_cast<double>(bands.size()) * kBand + 24;
  std::string svg = TimePicture::begin(whole, "GPUs that failures and checkpoints take, over time");
  for (std::size_t i = 0; i < bands.size(); ++i) {
    const double top = static_cast<double>(i) * kBand;
    const double most = *std::max_element(bands[i].gpus.begin(), bands[i].gpus.end());
    svg += TimePicture::area(bands[i].gpus, most, top, kHigh, bands[i].look) +
           fmt::format("<text x=\"0\" y=\"{}\">{}</text><text x=\"0\" y=\"{}\">{} GPUs</text>",
                       coordinate(top + 12), bands[i].name, coordinate(top + 26),
                       number_text(most, true));
  }
  return svg + picture.axis(whole - 6) + "</svg>";
}

} // namespace foretrain::experiments
