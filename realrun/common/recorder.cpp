#include "realrun/common/recorder.hpp"

#include <algorithm>

namespace foretrain::realrun {

void Recorder::add(const std::string& name, const std::string& unit, double sample,
                   const Json& labels)
{
  const auto [place, is_new] = index_.try_emplace(name + labels.dump(), series_.size());
  if (is_new)
    series_.push_back({name, unit, labels, {}});
  auto& repetitions = series_[place->second].repetitions;
  if (repetitions.size() < std::max<std::size_t>(repetition_, 1))
    repetitions.resize(std::max<std::size_t>(repetition_, 1));
  repetitions.back().push_back(sample);
}

void Recorder::append(const std::vector<Series>& others)
{
  series_.insert(series_.end(), others.begin(), others.end());
}

Series thinned(const Series& series, std::size_t limit)
{
  Series result = series;
  if (limit == 0)
    return result;
  for (auto& samples : result.repetitions) {
    if (samples.size() <= limit)
      continue;
    std::vector<double> kept;
    for (std::size_t i = 0; i < limit; ++i)
      kept.push_back(samples[i * samples.size() / limit]);
    samples = std::move(kept);
  }
  return result;
}

std::string pack(const std::vector<Series>& series)
{
  Json list = Json::array();
  for (const Series& s : series)
    list.push_back(
        {{"name", s.name}, {"unit", s.unit}, {"labels", s.labels}, {"repetitions", s.repetitions}});
  return list.dump();
}

std::vector<Series> unpack(const std::string& text)
{
  std::vector<Series> result;
  for (const Json& item : Json::parse(text))
    result.push_back({item.at("name").get<std::string>(), item.at("unit").get<std::string>(),
                      item.at("labels"),
                      item.at("repetitions").get<std::vector<std::vector<double>>>()});
  return result;
}

} // namespace foretrain::realrun
