// Tables of speeds of small clusters, for tests.
#pragma once

#include "experiments/fleet/speed_table.hpp"

namespace foretrain::test {

inline Value job(const char* text)
{
  return Value{DocumentPtr(parse_document(text, "job"))};
}

inline experiments::SpeedTable table_of(const char* platform,
                                        const models::fleet::ClusterShape& shape)
{
  experiments::SpeedCluster cluster;
  cluster.document = parse_document("{}", "fleet");
  cluster.cluster = {{"platform", platform}};
  cluster.shape = shape;
  return experiments::SpeedTable(cluster);
}

} // namespace foretrain::test
