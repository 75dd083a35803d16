// Seeded random streams, one per entity: adding an entity never changes what another one draws.
#pragma once

#include <boost/random/normal_distribution.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace foretrain::sim {

/// Log-normal with mean 1 and this coefficient of variation where the draw is standard normal.
inline double log_normal(double normal, double coefficient_of_variation)
{
  const double variance = std::log1p(coefficient_of_variation * coefficient_of_variation);
  return std::exp(std::sqrt(variance) * normal - 0.5 * variance);
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014) keyed by seed, entity name and index. Draws are the
/// same with every compiler and library.
class RandomStream {
public:
  using result_type = std::uint64_t;

  RandomStream(std::uint64_t seed, std::string_view entity, std::uint64_t index = 0)
  {
    std::uint64_t hash = 14695981039346656037ULL; // FNV-1a
    for (const char c : entity)
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    state_ = keyed(mix(seed) ^ mix(hash), index);
  }

  /// A stream of its own for each index, which goes by what this one has drawn.
  RandomStream child(std::uint64_t index) const
  {
    RandomStream stream = *this;
    stream.state_ = keyed(state_, index);
    return stream;
  }

  static constexpr result_type min() { return 0; }
  static constexpr result_type max() { return std::numeric_limits<result_type>::max(); }
  result_type operator()() { return mix(state_ += 0x9e3779b97f4a7c15ULL); }

  /// Uniform in [0, 1).
  double uniform() { return static_cast<double>((*this)() >> 11U) * 0x1.0p-53; }

  /// Standard normal.
  double normal() { return boost::random::normal_distribution<double>()(*this); }

  /// Log-normal with mean 1 and the given coefficient of variation; exactly 1 when it is 0.
  double spread(double coefficient_of_variation)
  {
    return coefficient_of_variation > 0 ? log_normal(normal(), coefficient_of_variation) : 1.0;
  }

  /// Puts the values in an order in which all are as likely (Fisher and Yates).
  template <class T>
  void shuffle(std::vector<T>& values)
  {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1],
                values[static_cast<std::size_t>(uniform() * static_cast<double>(i))]);
  }

private:
  static std::uint64_t mix(std::uint64_t z)
  {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }

  static std::uint64_t keyed(std::uint64_t state, std::uint64_t index)
  {
    return mix(state ^ mix(index + 0x5851f42d4c957f2dULL));
  }

  std::uint64_t state_;
};

} // namespace foretrain::sim
