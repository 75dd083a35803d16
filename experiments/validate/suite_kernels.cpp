#include "experiments/validate/suite_kernels.hpp"

#include "experiments/spec/kernel_curves.hpp"

#include <fmt/format.h>

namespace foretrain::experiments {

namespace {

void check(const std::vector<std::vector<double>>& rows, std::size_t length, const Value& at)
{
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != length)
      at.at(i).fail(fmt::format("must hold {} numbers", length));
    for (const double number : rows[i])
      if (!(number > 0))
        at.at(i).fail("must hold numbers above 0");
  }
}

} // namespace

std::string shape_of(const std::vector<double>& row)
{
  std::string text;
  for (std::size_t i = 0; i + 1 < row.size(); ++i)
    text += fmt::format("{}{:.0f}", i > 0 ? "x" : "", row[i]);
  return text;
}

std::function<Json()> kernels_run(const SuiteKernels& kernels, const Value& at)
{
  const bool product = kernels.kernel == "product";
  for (const char* list : {"rows", "held_out"})
    if (at.json().contains(list))
      check(list == std::string("rows") ? kernels.rows : kernels.held_out, product ? 4 : 6,
            at.at(list));
  const auto gpu = read_as<platforms::Gpu>(resolve_preset(kernels.gpu, platforms::kGpuKind));
  static constexpr sim::Precision kOfTables[] = {sim::Precision::fp16, sim::Precision::bf16,
                                                 sim::Precision::fp8};
  checked_rate(gpu, kernels.precision, kOfTables, at);
  auto rows = kernels.rows;
  rows.insert(rows.end(), kernels.held_out.begin(), kernels.held_out.end());
  return [=] {
    Json json = Json::array();
    const sim::ProductCurve products = product_curve(gpu, kernels.precision, true);
    const sim::AttentionCurve attention = attention_curve(gpu, kernels.precision, true);
    const double bytes = bytes_of(kernels.precision);
    for (const auto& row : rows)
      json.push_back(product ? products({row[0], row[1], row[2], bytes, 2})
                             : attention.forward({row[0], row[1], row[1], row[2], row[3], row[4]}));
    return json;
  };
}

} // namespace foretrain::experiments
