#include "models/plans/sequence_lengths.hpp"

#include "sim/base/document.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace foretrain::models {

void check_lengths(const SequenceLengths& lengths, int longest, const Value& at)
{
  if (lengths.mean > longest)
    at.fail_at("mean", fmt::format("is {:g}, more than the {} tokens of a sequence", lengths.mean,
                                   longest));
  // As far apart as they can be: empty ones and the longest.
  const double most = std::sqrt(lengths.mean * (longest - lengths.mean));
  if (lengths.deviation > most)
    at.fail_at(
        "deviation",
        fmt::format("is {:g}, but sequences of 0 to {} tokens and {:g} in the mean differ by "
                    "{:g} at most",
                    lengths.deviation, longest, lengths.mean, most));
}

double attended_length(const SequenceLengths& lengths)
{
  return lengths.mean + lengths.deviation * lengths.deviation / lengths.mean;
}

double token_variation(const SequenceLengths& lengths, double samples)
{
  return lengths.deviation / lengths.mean / std::sqrt(samples);
}

double most_tokens(const SequenceLengths& lengths, double samples, int longest, double batches)
{
  const double alike = lengths.balanced ? batches : 1;
  return std::min(samples * longest,
                  samples * lengths.mean + 3 * lengths.deviation * std::sqrt(samples / alike));
}

} // namespace foretrain::models
