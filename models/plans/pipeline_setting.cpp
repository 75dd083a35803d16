#include "models/plans/pipeline_setting.hpp"

namespace foretrain::models {

Seconds transfer_time(const PipelineSetting& s, const PipelineSlice& slice)
{
  const int boundary = slice.backward ? slice.piece - 1 : slice.piece;
  if (s.stages < 2 || boundary < 0 || boundary + 1 >= static_cast<int>(s.pieces.size()))
    return Seconds(0);
  if (returns(s.schedule) && boundary + 1 == s.stages) // both are on the last stage
    return Seconds(0);
  return s.pieces[static_cast<std::size_t>(boundary)].transfer;
}

} // namespace foretrain::models
