// The expression that selects the runs of a group: `virt:none partition:bm -node:vm3 OR tag.x:/^a/`.
//
// Called by cmd_compare. Terms joined by spaces must all hold; OR separates alternatives; a leading '-'
// negates a term; a value between slashes is a regular expression (ECMAScript), one between double
// quotes may hold spaces. `*` holds for every run.
#pragma once

#include <map>
#include <regex>
#include <string>
#include <vector>

namespace slurmscope {

/// What is known about a run, by key. A key with several values (host) matches if one of them does.
using RunKeys = std::map<std::string, std::vector<std::string>>;

class Expression {
 public:
  /// Throws Error naming the term that is wrong and the keys there are.
  explicit Expression(const std::string &text);
  bool matches(const RunKeys &keys) const;
  const std::string &text() const { return text_; }

 private:
  struct Term {
    std::string key, value;
    std::regex pattern;
    bool is_pattern = false, is_negated = false, is_any = false;
  };
  bool holds(const Term &term, const RunKeys &keys) const;
  std::string text_;
  std::vector<std::vector<Term>> alternatives_;
};

}  // namespace slurmscope
