#include "experiments/run/uncertainty/unexplained.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace foretrain::experiments {

namespace {
constexpr double kPi = 3.141592653589793;
}

std::vector<Unexplained> unexplained(const Point& point, const std::vector<Variable>& variables)
{
  std::map<std::pair<int, std::string>, std::vector<std::size_t>> fits; // profile, source
  for (std::size_t v = 0; v < variables.size(); ++v)
    if (variables[v].profile >= 0) {
      const auto& profile = point.profiles->list[static_cast<std::size_t>(variables[v].profile)];
      const auto& parameter = profile.parameters[static_cast<std::size_t>(variables[v].parameter)];
      if (parameter.residuals)
        fits[{variables[v].profile, parameter.source}].push_back(v);
    }
  std::vector<Unexplained> result;
  for (const auto& [fit, taught] : fits) {
    const auto& profile = point.profiles->list[static_cast<std::size_t>(fit.first)];
    const auto& first = variables[taught.front()];
    const auto& left = *profile.parameters[static_cast<std::size_t>(first.parameter)].residuals;
    const std::string& source = fit.second;
    const auto parameters =
        std::count_if(profile.parameters.begin(), profile.parameters.end(),
                      [&source](const auto& it) { return it.residuals && it.source == source; });
    const double free = left.measurements - static_cast<double>(parameters);
    if (free < 1 || left.mean <= 0)
      continue;
    result.push_back({"what the fit to " + source + " left unexplained",
                      std::sqrt(kPi / 2) * left.mean * std::sqrt(left.measurements / free),
                      taught});
  }
  return result;
}

double effect_of(const Unexplained& fit, const std::vector<Variable>& variables,
                 const std::vector<double>& effects)
{
  double share = 0;
  for (const std::size_t v : fit.variables)
    share += std::abs(effects[v]) / variables[v].spread;
  return fit.spread * std::min(1.0, share);
}

} // namespace foretrain::experiments
