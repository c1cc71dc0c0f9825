#pragma once

#include <optional>

#include "data/labels.h"
#include "model/evaluation/interval.h"
#include "server/cli/score_file.h"

namespace telltale::server {

// Whether the channel with the largest share of the score is the faulty one.
struct ContributionReport {
  int labels = 0;       // that tell the channel on which they show
  int right = 0;        // of them: it has the largest share
  int found = 0;        // of the labels: with an alarmed instant
  int found_right = 0;  // of those found: it has the largest share
};

// The row of a label at which it is judged: the alarmed one of highest score,
// or the one of highest score if none is alarmed; the first of equal ones.
// REQUIRES: rows within the table, at least one.
int StrongestRow(const ScoreFile& scores, const model::Interval& label);

// Adds a label, which covers `rows`, to the report. Labels that do not tell
// their channel are passed over, and so are all where the table has no column
// for it.
void AddContribution(const ScoreFile& scores, const data::LabelledEvent& label,
                     const model::Interval& rows, ContributionReport& report);

// The share of labels with the right channel; none where there is no label.
std::optional<double> RightShare(const ContributionReport& report);
std::optional<double> FoundRightShare(const ContributionReport& report);

}  // namespace telltale::server
