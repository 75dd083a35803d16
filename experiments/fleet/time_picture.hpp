// Pictures over a fleet's time: an axis from its start to its end, in columns that are told apart.
#pragma once

#include "models/fleet/fleet_result.hpp"

#include <string>
#include <vector>

namespace foretrain::experiments {

class TimePicture {
public:
  static constexpr int kColumns = 450;

  explicit TimePicture(const models::fleet::FleetResult& result);

  /// The first and the one behind the last column that some time touches.
  int first_column(Seconds from) const;
  int end_column(Seconds until) const;
  double column_s() const { return length_ / kColumns; }

  /// Adds `amount` for as much of each column as a time takes.
  void add(std::vector<double>& columns, Seconds from, Seconds until, double amount) const;
  /// The mean of a part of the moments in each column.
  std::vector<double> mean_of(const std::vector<models::fleet::Moment>& moments,
                              int models::fleet::Moment::*member) const;

  static std::string begin(double height, const char* description);
  /// Columns as high as their values, of `most` that is `height`.
  static std::string area(const std::vector<double>& values, double most, double top, double height,
                          int look);
  /// Pieces of one look (-1: none) that follow each other are one.
  static std::string row(const std::vector<int>& looks, double y, double height);
  /// Times below a picture.
  std::string axis(double y) const;

private:
  double begin_, length_;
};

} // namespace foretrain::experiments
