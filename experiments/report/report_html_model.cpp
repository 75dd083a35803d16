#include "experiments/report/report_html_model.hpp"

#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"
#include "experiments/report/svg_bars.hpp"
#include "experiments/report/svg_text.hpp"
#include "models/plans/pipeline.hpp"
#include "sim/base/text.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

constexpr std::size_t kPipelines = 3;     // drawn
constexpr std::size_t kMostPasses = 4000; // drawn of one
constexpr std::size_t kMostPieces = 4096;
constexpr std::size_t kMostSimulated = 2'000'000; // passes forward, and as many backward
constexpr double kModelWidth = 1000;              // of the drawing, in its own units
constexpr double kModelRow = 22;
constexpr double kModelGap = 4;
constexpr double kGigabyte = 1e9;

struct MemoryPart {
  const char* key;
  const char* title;
  const char* style;
};

constexpr MemoryPart kMemoryParts[] = {{"weights", "weights", "t0"},
                                       {"gradients", "gradients", "t1"},
                                       {"optimizer", "optimizer", "t2"},
                                       {"activations", "activations", "t3"},
                                       {"other", "other", "t5"}};

double part_bytes(const ReportRow& row, const MemoryPart& part)
{
  double bytes = 0;
  if (row.job)
    for (const models::MemoryPart& it : row.job->memory.parts)
      bytes += it.name == part.key ? it.size.value() : 0;
  return bytes;
}

std::string memory_bar(const Report& report, const ReportRow& row, double full)
{
  std::vector<BarPart> parts;
  std::vector<std::string> words;
  for (const MemoryPart& part : kMemoryParts) {
    const double bytes = part_bytes(row, part);
    if (!(bytes > 0))
      continue;
    words.push_back(fmt::format("{} {} GB", part.title, number_text(bytes / kGigabyte)));
    parts.push_back({bytes / full, part.style, number_text(bytes / kGigabyte) + " GB",
                     report.label(row) + ": " + words.back()});
  }
  return stacked_bar(parts, joined(words));
}

// None if there is none, or it takes too long to draw.
const models::PipelineSetting* pipeline_of(const ReportRow& row)
{
  if (!row.job || !row.job->pipeline)
    return nullptr;
  const models::PipelineSetting& s = *row.job->pipeline;
  const auto pieces =
      static_cast<std::size_t>(s.stages) * static_cast<std::size_t>(s.virtual_stages);
  const bool whole = s.stages > 1 && s.pieces.size() == pieces && pieces <= kMostPieces &&
                     pieces * static_cast<std::size_t>(s.micro_batches) <= kMostSimulated &&
                     std::all_of(s.pieces.begin(), s.pieces.end(), [](const auto& piece) {
                       return piece.forward.value() > 0 && piece.backward.value() > 0;
                     });
  return whole ? &s : nullptr;
}

// The dates up to which at most kMostPasses are drawn.
Seconds drawn_until(const models::PipelineRun& run)
{
  const std::size_t of_stage = kMostPasses / run.slices.size();
  Seconds until = run.end;
  for (const auto& stage : run.slices)
    if (stage.size() > of_stage)
      until = std::min(until, stage[of_stage].start);
  return until;
}

std::string pipeline_svg(const models::PipelineSetting& setting, const models::PipelineRun& run,
                         Seconds until)
{
  const double height = (kModelRow + kModelGap) * setting.stages;
  std::string svg = fmt::format(
      R"(<svg class="pipeline" viewBox="0 0 {} {}" width="100%" height="{}" )"
      R"(preserveAspectRatio="none" role="img" aria-label="{} stages, {} micro-batches, {}">)",
      kModelWidth, coordinate(height), coordinate(height), setting.stages, setting.micro_batches,
      word_of(setting.schedule));
  for (std::size_t stage = 0; stage < run.slices.size(); ++stage) {
    const double y = (kModelRow + kModelGap) * static_cast<double>(stage);
    svg += fmt::format(R"(<rect class="wait" x="0" y="{}" width="{}" height="{}"/>)", coordinate(y),
                       kModelWidth, kModelRow);
    for (const models::PipelineSlice& slice : run.slices[stage]) {
      if (slice.start >= until)
        break;
      const Seconds end = std::min(slice.end, until);
      svg += fmt::format(
          R"(<g class="{}{}"><rect x="{}" y="{}" width="{}" height="{}"/><title>{}</title></g>)",
          slice.backward ? "t1" : "t0", slice.micro_batch % 2 == 0 ? "" : " odd",
          coordinate(kModelWidth * (slice.start / until)), coordinate(y),
          coordinate(kModelWidth * ((end - slice.start) / until)), kModelRow,
          fmt::format("stage {}, micro-batch {}, {}{}: {} to {} ms", stage, slice.micro_batch,
                      slice.backward ? "backward" : "forward",
                      setting.virtual_stages > 1 ? fmt::format(" of piece {}", slice.piece) : "",
                      number_text(1e3 * slice.start.value(), true),
                      number_text(1e3 * slice.end.value(), true)));
    }
  }
  return svg + "</svg>";
}

std::string pipeline_html(const Report& report, const ReportRow& row,
                          const models::PipelineSetting& setting)
{
  const models::PipelineRun run = models::run_pipeline(setting);
  const Seconds until = drawn_until(run);
  const double all = run.end.value() * setting.stages;
  double busy = 0;
  for (const Seconds& stage : run.busy)
    busy += stage.value();
  return fmt::format(
      "<h3>{}</h3><p class=\"note\">{} stages from top to bottom, {} micro-batches, {}; "
      "stages work {} of the time. {} {} ms.</p>{}",
      escaped(report.label(row)), setting.stages, setting.micro_batches, word_of(setting.schedule),
      percent_text(busy / all), until < run.end ? "Drawn are the first" : "From left to right",
      number_text(1e3 * until.value(), true), pipeline_svg(setting, run, until));
}

} // namespace

std::string memory_section(const Report& report)
{
  std::vector<std::string> items;
  for (const ReportRow& row : report.rows()) {
    double needed = 0;
    for (const MemoryPart& part : kMemoryParts)
      needed += part_bytes(row, part);
    if (!(needed > 0))
      continue;
    const double available = row.job->memory.available.value();
    const double told = row.job->memory.needed.value();
    items.push_back(bar_row(report.label(row) + (told > available ? ": does not fit" : ""),
                            memory_bar(report, row, std::max({needed, told, available})),
                            fmt::format("{} of {} GB", number_text(told / kGigabyte),
                                        number_text(available / kGigabyte))));
  }
  if (items.empty())
    return "";
  std::string html =
      "<p class=\"note\">Of the GPU that needs most; the full width is what it has, or "
      "needs.</p><ul class=\"legend\">";
  for (const MemoryPart& part : kMemoryParts)
    html += legend_entry(part.style, part.title);
  return section("memory", "Memory of a GPU",
                 html + "</ul>" + folded(items, 12, "<div class=\"rows\">", "</div>"));
}

std::string pipeline_section(const Report& report)
{
  std::string html;
  std::size_t drawn = 0;
  for (const ReportRow& row : report.rows())
    if (const auto* setting = pipeline_of(row); setting && drawn < kPipelines) {
      html += pipeline_html(report, row, *setting);
      ++drawn;
    }
  if (html.empty())
    return "";
  return section("pipeline", "The pipeline",
                 "<ul class=\"legend\">" + legend_entry("t0", "forward") +
                     legend_entry("t1", "backward, with what is repeated") + "</ul>" + html);
}

} // namespace foretrain::experiments
