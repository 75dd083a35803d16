// Orders of work where each stage has a piece on the way down and one on the way back: the first
// and the last piece are on the first stage, the two in the middle on the last one.
#pragma once

#include "models/plans/pipeline_setting.hpp"

namespace foretrain::models {

/// DualPipeV (deepseek-ai/DualPipe, dualpipe/dualpipev.py, step): passes of one micro-batch forward
/// stand beside those of another one backward; gradients of weights are put off at the end alone.
/// Of every stage. Needs twice as many micro-batches as stages.
StageOrders dualpipe_v_orders(int stages, int micro_batches);

/// ZB-V (arXiv:2405.15362, arXiv:2401.10241, section 6): backward passes first, then forward passes
/// as long as no more activations are kept than 1F1B keeps, then gradients of weights. The order is
/// found by running through the times of pieces, with room kept for the way back or without:
/// that of the shorter run.
StageOrders zb_v_orders(const PipelineSetting& setting);

} // namespace foretrain::models
