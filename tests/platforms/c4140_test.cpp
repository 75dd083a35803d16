// Copies between the GPUs of a C4140, configuration K, against the published matrix:
// Dell EMC Ready Solutions for AI, Deep Learning with NVIDIA (Aug 2018), p2pBandwidthLatencyTest
// (dell-guide-p2p-*). Nothing of it is an input, except the duplex rate of a root port, which the
// copies without peer access were used for.
#include "platforms/show.hpp"

#include "tests/support/catch.hpp"

#include <algorithm>
#include <set>

namespace foretrain::c4140_test {

using namespace foretrain::platforms;

namespace {

using Matrix = std::vector<std::vector<double>>;
using Pair = std::pair<int, int>;

Stack bare_metal()
{
  return {load_host(resolve_preset(std::string("bare-metal"), kHostKind)),
          load_transport(resolve_preset(std::string("rdma"), kTransportKind))};
}

double worst_error(const Matrix& simulated, const Matrix& published, const std::set<Pair>& outliers)
{
  double worst = 0;
  for (std::size_t i = 0; i < published.size(); ++i)
    for (std::size_t j = 0; j < published.size(); ++j)
      if (outliers.count({static_cast<int>(i), static_cast<int>(j)}) == 0)
        worst = std::max(worst, std::abs(simulated[i][j] / published[i][j] - 1));
  return worst;
}

const Matrix kOneWay = {{741.22, 47.72, 47.73, 47.86},
                        {47.86, 738.42, 34.18, 38.74},
                        {39.57, 47.71, 738.42, 47.82},
                        {47.82, 47.72, 47.72, 739.82}};
const Matrix kBothWays = {{754.83, 75.25, 78.63, 78.80},
                          {78.45, 755.56, 95.58, 95.60},
                          {95.48, 95.48, 755.56, 78.47},
                          {78.23, 95.79, 95.81, 754.83}};
const Matrix kLatency = {{3.58, 6.68, 6.65, 6.75},
                         {6.73, 3.64, 6.63, 6.73},
                         {6.42, 6.45, 3.56, 6.42},
                         {6.44, 6.47, 6.48, 3.58}};
const Matrix kOneWayStaged = {{741.22, 9.94, 9.91, 9.94},
                              {9.86, 739.82, 9.96, 9.97},
                              {9.83, 9.94, 737.03, 9.98},
                              {9.84, 9.91, 9.85, 739.82}};
const Matrix kBothWaysStaged = {{751.92, 10.42, 10.41, 10.50},
                                {10.48, 754.83, 10.38, 10.42},
                                {10.43, 10.43, 759.97, 10.35},
                                {10.42, 10.43, 10.60, 759.97}};
const Matrix kLatencyStaged = {{3.61, 18.35, 18.32, 18.31},
                               {18.34, 3.59, 18.32, 18.32},
                               {18.35, 18.34, 3.57, 18.31},
                               {18.32, 18.33, 18.30, 3.55}};

// Pairs that stand 17 to 29 % below other pairs on equal links of the same machine.
const std::set<Pair> kOneWayOutliers = {{1, 2}, {1, 3}, {2, 0}};
const std::set<Pair> kBothWaysOutliers = {{0, 1}, {0, 2}, {0, 3}, {1, 0}, {2, 3}, {3, 0}};

} // namespace

TEST_CASE("peer copies of the C4140 are within 5 % of the published matrix",
          "[platforms][published]")
{
  const auto spec = load_platform("c4140-k-v100-sxm2");
  const auto peer = peer_matrix(spec, bare_metal(), true);
  CHECK(worst_error(peer.one_way, kOneWay, kOneWayOutliers) < 0.05);
  CHECK(worst_error(peer.both_ways, kBothWays, kBothWaysOutliers) < 0.05);
  CHECK(worst_error(peer.latency, kLatency, {}) < 0.05);
  const auto staged = peer_matrix(spec, bare_metal(), false);
  CHECK(worst_error(staged.one_way, kOneWayStaged, {}) < 0.05);
  CHECK(worst_error(staged.both_ways, kBothWaysStaged, {}) < 0.05);
  CHECK(worst_error(staged.latency, kLatencyStaged, {}) < 0.05);
}

TEST_CASE("without peer access one uplink for all makes both directions share it", "[platforms]")
{
  const auto k = peer_matrix(load_platform("c4140-k-v100-sxm2"), bare_metal(), false);
  const auto m = peer_matrix(load_platform("c4140-m-v100-sxm2"), bare_metal(), false);
  CHECK(k.both_ways[0][1] < 1.1 * k.one_way[0][1]);
  CHECK(m.both_ways[0][1] > 1.5 * m.one_way[0][1]);
}

} // namespace foretrain::c4140_test
