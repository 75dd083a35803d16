// Tables of speeds of small clusters, for tests.
#pragma once

#include "experiments/fleet/speed_table.hpp"

namespace foretrain::test {

inline const char* const kAlexnet = R"({"model": "alexnet", "framework": "tensorflow-horovod",
                                        "batch_per_gpu": 128})";

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
