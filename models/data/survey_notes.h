// survey_notes: what differs between the tables of founders, for the people who wrote them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/data/survey.h"

namespace starling::models {

// A sentence for each: words that differ in case and blanks alone, words of a founder that no other
// has, numbers and dates that one founder alone writes in another form. Each names the column, the
// nodes and what they have.
std::vector<std::string> differences(std::span<const Survey> of_founders);

}  // namespace starling::models
