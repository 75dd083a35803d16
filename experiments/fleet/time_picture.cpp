#include "experiments/fleet/time_picture.hpp"

#include "experiments/fleet/fleet_text.hpp"
#include "experiments/report/report_html_parts.hpp"
#include "experiments/report/svg.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

using models::fleet::Moment;

constexpr double kWidth = 960; // of drawings, in their own units
constexpr double kAxis = 84;   // left of it labels stand, like 16,384 GPUs
constexpr double kColumn = (kWidth - kAxis) / TimePicture::kColumns;

std::string rectangle(double x, double y, double width, double height)
{
  return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", coordinate(x),
                     coordinate(y), coordinate(width), coordinate(height));
}

std::string look_begin(int look)
{
  return fmt::format("<g class=\"t{}\">", look);
}

} // namespace

TimePicture::TimePicture(const models::fleet::FleetResult& result)
    : begin_(result.start.value()), length_(std::max(1.0, (result.end - result.start).value()))
{
}

int TimePicture::first_column(Seconds from) const
{
  return std::clamp(static_cast<int>((from.value() - begin_) / column_s()), 0, kColumns);
}

int TimePicture::end_column(Seconds until) const
{
  return std::clamp(static_cast<int>(std::ceil((until.value() - begin_) / column_s())), 0,
                    kColumns);
}

void TimePicture::add(std::vector<double>& columns, Seconds from, Seconds until,
                      double amount) const
{
  const double begins = from.value() - begin_, ends = until.value() - begin_, step = column_s();
  for (int i = first_column(from); i < end_column(until); ++i) {
    const double inside = std::min(ends, (i + 1) * step) - std::max(begins, i * step);
    columns[static_cast<std::size_t>(i)] += amount * std::max(0.0, inside) / step;
  }
}

std::vector<double> TimePicture::mean_of(const std::vector<Moment>& moments,
                                         int Moment::*member) const
{
  std::vector<double> means(kColumns, 0);
  for (std::size_t i = 0; i < moments.size(); ++i)
    add(means, moments[i].time,
        i + 1 < moments.size() ? moments[i + 1].time : Seconds(begin_ + length_),
        moments[i].*member);
  return means;
}

std::string TimePicture::begin(double height, const char* description)
{
  return fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\" "
                     "class=\"over-time\">",
                     coordinate(kWidth), coordinate(height), description);
}

std::string TimePicture::area(const std::vector<double>& values, double most, double top,
                              double height, int look)
{
  std::string svg = look_begin(look);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const double tall = height * values[i] / most; tall > 0)
      svg +=
          rectangle(kAxis + static_cast<double>(i) * kColumn, top + height - tall, kColumn, tall);
  return svg + "</g>";
}

std::string TimePicture::row(const std::vector<int>& looks, double y, double height)
{
  std::string svg;
  for (std::size_t i = 0; i < looks.size();) {
    std::size_t end = i + 1;
    while (end < looks.size() && looks[end] == looks[i])
      ++end;
    if (looks[i] >= 0)
      svg += look_begin(looks[i]) +
             rectangle(kAxis + static_cast<double>(i) * kColumn, y,
                       static_cast<double>(end - i) * kColumn, std::max(0.5, 0.9 * height)) +
             "</g>";
    i = end;
  }
  return svg;
}

std::string TimePicture::axis(double y) const
{
  std::string text;
  for (int i = 0; i <= 4; ++i)
    text += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
                        coordinate(kAxis + i * (kWidth - kAxis) / 4), coordinate(y),
                        i == 0   ? "start"
                        : i == 4 ? "end"
                                 : "middle",
                        escaped(duration_text(i * length_ / 4)));
  return text;
}

} // namespace foretrain::experiments
