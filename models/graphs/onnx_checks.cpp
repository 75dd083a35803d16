#include "models/graphs/onnx_checks.hpp"

#include "models/graphs/onnx_shapes.hpp"
#include "sim/base/error.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace foretrain::models {

namespace {

std::string written(const OnnxShape& shape)
{
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

class ShapeCheck {
public:
  ShapeCheck(const OnnxFile& file, const std::string& path, const OnnxNode& node)
      : file_(file), path_(path), node_(node)
  {
  }

  // What the file does not tell counts as 1, and so may what follows from it.
  bool fits(double size, double other) const
  {
    return size == other || (!file_.symbols.empty() && (size <= 1 || other <= 1));
  }

  bool attribute(const char* name) const
  {
    const auto found = node_.integers.find(name);
    return found != node_.integers.end() && found->second == 1;
  }

  void holds_something(const OnnxShape& shape) const
  {
    if (std::ranges::count(shape, 0) > 0)
      fail(fmt::format("takes {}", written(shape)), "every dimension must be at least 1");
  }

  [[noreturn]] void fail(const std::string& problem, const std::string& allowed) const
  {
    std::string hint = allowed;
    if (!file_.symbols.empty())
      hint += fmt::format("; dimensions that the file does not tell count as 1, save it with: {}",
                          fmt::join(file_.symbols, ", "));
    throw ConfigError(path_, "",
                      fmt::format("{} '{}' {}", node_.op,
                                  node_.name.empty() ? node_.outputs.front() : node_.name, problem),
                      hint);
  }

private:
  const OnnxFile& file_;
  const std::string& path_;
  const OnnxNode& node_;
};

} // namespace

void check_product(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                   const OnnxShape& left, const OnnxShape& right)
{
  const ShapeCheck check(file, path, node);
  check.holds_something(left);
  check.holds_something(right);
  if (node.op == "Gemm" && (left.size() != 2 || right.size() != 2))
    check.fail(fmt::format("multiplies {} by {}", written(left), written(right)),
               "Gemm takes two matrices; MatMul takes more dimensions");
  const std::int64_t across = check.attribute("transA") ? left[left.size() - 2] : left.back();
  const std::int64_t down = check.attribute("transB") ? right.back() : right[right.size() - 2];
  if (!check.fits(static_cast<double>(across), static_cast<double>(down)))
    check.fail(fmt::format("multiplies {} by {}: {} is not {}", written(left), written(right),
                           across, down),
               "the columns of the first must be the rows of the second");
  for (std::size_t i = 3; i <= std::min(left.size(), right.size()); ++i) {
    const auto a = static_cast<double>(left[left.size() - i]);
    const auto b = static_cast<double>(right[right.size() - i]);
    if (a != 1 && b != 1 && !check.fits(a, b))
      check.fail(fmt::format("multiplies {} by {}", written(left), written(right)),
                 "dimensions before the last two must be equal, or 1");
  }
}

void check_convolution(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                       const OnnxShape& input, const OnnxShape& weight)
{
  const ShapeCheck check(file, path, node);
  check.holds_something(weight);
  for (const char* name : {"strides", "dilations"})
    if (const auto found = node.lists.find(name);
        found != node.lists.end() && std::ranges::min(found->second) < 1)
      check.fail(fmt::format("has {} {}", name, written(found->second)), "1 or more");
  if (input.size() != weight.size())
    check.fail(
        fmt::format("has a weight of {} for an input of {}", written(weight), written(input)),
        "both must have the same number of dimensions");
  const OnnxShape area(weight.begin() + 2, weight.end());
  const auto kernel = node.lists.find("kernel_shape");
  if (kernel != node.lists.end() && kernel->second != area)
    check.fail(fmt::format("has kernel_shape {} and a weight of {}", written(kernel->second),
                           written(weight)),
               fmt::format("kernel_shape must be {}, or be left out", written(area)));
  const auto given = node.integers.find("group");
  const std::int64_t groups = given == node.integers.end() ? 1 : given->second;
  const bool transposed = node.op == "ConvTranspose";
  const double wanted = static_cast<double>(transposed ? 1 : groups) *
                        static_cast<double>(weight[transposed ? 0 : 1]);
  const auto channels = static_cast<double>(input[1]);
  if (groups < 1 || weight[0] % groups != 0)
    check.fail(fmt::format("has group {} and a weight of {}", groups, written(weight)),
               fmt::format("group must divide {}", weight[0]));
  if (!check.fits(channels, wanted))
    check.fail(fmt::format("has {:.0f} channels in, group {} and a weight of {}", channels, groups,
                           written(weight)),
               fmt::format("{:.0f} channels fit that weight", wanted));
}

void check_result(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                  const OnnxShape& result, const OnnxShape& declared)
{
  const ShapeCheck check(file, path, node);
  bool fits = result.size() == declared.size();
  for (std::size_t i = 1; fits && i < result.size(); ++i) // batches are often told for one
    fits = check.fits(static_cast<double>(result[i]), static_cast<double>(declared[i]));
  if (!fits)
    check.fail(fmt::format("gives {}, and '{}' is declared as {}", written(result),
                           node.outputs.front(), written(declared)),
               "pads, strides and shapes must fit each other");
}

void check_letter(const OnnxFile& file, const std::string& path, const OnnxNode& node, char letter,
                  double length, double other)
{
  const ShapeCheck check(file, path, node);
  if (!check.fits(length, other))
    check.fail(fmt::format("has {:.0f} and {:.0f} for '{}'", length, other, letter),
               "a letter of the equation stands for one length");
}

void check_channels(const OnnxFile& file, const std::string& path, const OnnxNode& node,
                    const OnnxShape& input, const OnnxShape& scale)
{
  const ShapeCheck check(file, path, node);
  if (input.size() > 1 && !check.fits(static_cast<double>(input[1]), elements_of(scale)))
    check.fail(fmt::format("has a scale of {} for an input of {}", written(scale), written(input)),
               fmt::format("{} channels have a scale each", input[1]));
}

} // namespace foretrain::models
