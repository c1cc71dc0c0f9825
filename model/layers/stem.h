#pragma once

#include "model/matrix.h"
#include "model/ops/context.h"
#include "model/parameters.h"

namespace telltale::model {

// What StemForward keeps for StemBackward.
struct StemActivations {
  Matrix hidden, active;  // [N, S]
  Matrix dhidden;         // scratch
};

// The stem: from the last `stem_taps` instants, laid side by side in
// taps[N, K * I], to the model's width:
// y = E taps + B gelu(A taps), y[N, D].
void StemForward(Context& context, const StemParameters& parameters,
                 const ConstMatrixView& taps, StemActivations& activations,
                 const MatrixView& y);

// Given dy, adds to the gradients and writes dtaps.
void StemBackward(Context& context, const StemParameters& parameters,
                  const ConstMatrixView& taps, StemActivations& activations,
                  const ConstMatrixView& dy, const StemParameters& gradients,
                  const MatrixView& dtaps);

// Lays rows of x[taps - 1 + N, I] side by side: row t of `taps` is the rows
// t to t + K - 1 of x, so that its last block is instant t.
void GatherTaps(const ConstMatrixView& x, int tap_count,
                const MatrixView& taps);

}  // namespace telltale::model
