// Random choices for experiments of properties, the same for a seed.
#pragma once

#include <cmath>
#include <random>
#include <vector>

namespace foretrain::test {

class Draw {
public:
  explicit Draw(unsigned seed) : random_(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  double log(double low, double high)
  {
    return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random_));
  }
  template <class T>
  T of(const std::vector<T>& choices)
  {
    return choices[static_cast<std::size_t>(whole(0, static_cast<int>(choices.size()) - 1))];
  }

private:
  std::mt19937 random_;
};

} // namespace foretrain::test
