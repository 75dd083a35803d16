#include "experiments/report/report_html_parts.hpp"

#include "experiments/report/report_html_style.hpp"
#include "experiments/report/svg.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {
constexpr std::size_t kDrawn = 200; // items drawn at all
} // namespace

std::string page(const std::string& title, const std::string& header, const std::string& body,
                 const std::string& footer)
{
  std::string html = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n";
  html += "<title>" + escaped(title) + " - foretrain</title>\n<style>" + kReportStyle +
          "</style></head>\n<body><header><h1>" + escaped(title) + "</h1>" + header +
          "</header>\n<main>" + body + "</main>\n<footer>" + footer + "</footer>\n<script>" +
          kReportScript + "enliven(document);\n</script></body></html>\n";
  return html;
}

std::string section(const std::string& anchor, const std::string& title, const std::string& body)
{
  return body.empty() ? ""
                      : fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 "
                                    "id=\"{0}-title\">{1}</h2>\n{2}</section>\n",
                                    anchor, escaped(title), body);
}

std::string folded(const std::vector<std::string>& items, std::size_t shown,
                   const std::string& opening, const std::string& closing)
{
  const std::size_t drawn = std::min(items.size(), kDrawn);
  if (drawn <= shown + 8) // too few to hide
    shown = drawn;
  const auto from = [&](std::size_t first, std::size_t last) {
    std::string html = opening;
    for (std::size_t i = first; i < last; ++i)
      html += items[i] + "\n";
    return html + closing;
  };
  std::string html = from(0, shown);
  if (drawn > shown)
    html += fmt::format("<details><summary>{} more</summary>", drawn - shown) + from(shown, drawn) +
            "</details>";
  if (items.size() > drawn)
    html +=
        fmt::format("<p class=\"note\">{} more are not shown here; all numbers are in the table "
                    "below.</p>",
                    items.size() - drawn);
  return html;
}

std::string legend_entry(const std::string& style, const std::string& title)
{
  return fmt::format("<li><svg class=\"swatch {}\" width=\"14\" height=\"14\" "
                     "aria-hidden=\"true\"><rect width=\"14\" height=\"14\"/></svg>{}</li>",
                     style, escaped(title));
}

std::string bar_row(const std::string& label, const std::string& bar, const std::string& value)
{
  return "<div class=\"row\"><span class=\"name\">" + prose(label) + "</span>" + bar +
         "<span class=\"value\">" + escaped(value) + "</span></div>";
}

std::string prose(const std::string& text)
{
  std::string html = escaped(text);
  for (const char* unit : {" %", " GPU", " ms"})
    for (std::size_t at = html.find(unit); at != std::string::npos; at = html.find(unit, at))
      html.replace(at, 1, "&nbsp;");
  return html;
}

std::string code(const std::string& name)
{
  std::string html;
  for (const char c : escaped(name))
    html += c == '/' ? std::string("/<wbr>") : std::string(1, c);
  return "<code>" + html + "</code>";
}

std::string cell(const std::string& label, const std::string& html)
{
  return fmt::format("<td data-label=\"{}\">{}</td>", escaped(label), html);
}

std::string number_cell(const std::string& label)
{
  return fmt::format("<td class=\"number\" data-label=\"{}\">-</td>", escaped(label));
}

std::string number_cell(const std::string& label, const std::string& text, double sort_by)
{
  return fmt::format("<td class=\"number\" data-label=\"{}\" data-sort=\"{:.6g}\">{}</td>",
                     escaped(label), sort_by, escaped(text));
}

} // namespace foretrain::experiments
