#include "models/traces/nvtx_names.hpp"

#include "sim/base/text.hpp"

#include <algorithm>

namespace foretrain::models {

namespace {

// "iteration_12" -> "iteration"; what people call a step.
bool names_step(const std::string& range)
{
  std::string word = lower_case(range);
  while (!word.empty() && std::string("0123456789 _#:=-/.").find(word.back()) != std::string::npos)
    word.pop_back();
  for (const char* known :
       {"step", "iter", "iteration", "train_step", "training_step", "batch", "train step"})
    if (word == known)
      return true;
  return word.starts_with("profilerstep");
}

} // namespace

std::string meaning_of_range(const std::string& range)
{
  const std::string word = lower_case(range);
  if (names_step(range))
    return "ProfilerStep " + range;
  if (word == "forward" || word == "fwd")
    return "## forward";
  if (word == "backward" || word == "bwd")
    return "## backward";
  if (word == "optimizer" || word == "opt.step()" || word == "optimizer.step" || word == "opt")
    return "## optimizer";
  for (const char* part : {"autograd::engine::evaluate_function", "AccumulateGrad", "Optimizer.",
                           "nccl:", "DataLoader", "Backward", "aten::conv2d", "aten::linear",
                           "aten::embedding", "aten::convolution"})
    if (range.find(part) != std::string::npos)
      return range.substr(0, range.find(", seq"));
  return "";
}

std::pair<double, double> sizes_in_range(const std::string& range)
{
  const std::size_t begin = range.find("sizes = [[");
  if (begin == std::string::npos)
    return {0, 0};
  double elements = 1;
  double leading = 0;
  double number = -1;
  for (std::size_t i = begin + 10; i < range.size(); ++i) {
    const char c = range[i];
    if (c >= '0' && c <= '9') {
      number = std::min(1e12, std::max(0.0, number) * 10 + (c - '0'));
      continue;
    }
    if (number >= 0) {
      leading = leading > 0 ? leading : number;
      elements = std::min(1e15, elements * number);
      number = -1;
    }
    if (c == ']')
      break;
  }
  return leading > 0 ? std::pair{elements, leading} : std::pair{0.0, 0.0};
}

} // namespace foretrain::models
