// See expression.h.
#include "tools/compare/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "proto/error.h"

namespace slurmscope {
namespace {

constexpr const char *kKeys[] = {"app", "exe", "input", "nodes", "ranks", "ppn", "threads", "partition", "virt", "hypervisor",
                                 "image", "date", "host", "job"};

bool is_known_key(const std::string &key) {
  return key.rfind("tag.", 0) == 0 || std::find(std::begin(kKeys), std::end(kKeys), key) != std::end(kKeys);
}

std::string key_list() {
  std::string list;
  for (const char *key : kKeys) list += std::string(key) + " ";
  return list + "tag.NAME";
}

/// Splits at spaces, except within "..." and /.../ that start a value.
std::vector<std::string> words_of(const std::string &text) {
  std::vector<std::string> words;
  size_t i = 0;
  while (i < text.size()) {
    if (text[i] == ' ' || text[i] == '\t') {
      ++i;
      continue;
    }
    std::string word;
    char closing = 0;
    for (; i < text.size(); ++i) {
      char c = text[i];
      if (closing == 0 && (c == ' ' || c == '\t')) break;
      if (closing == 0 && (c == '"' || c == '/') && !word.empty() && word.back() == ':') closing = c;
      else if (closing != 0 && c == '\\' && i + 1 < text.size()) word += text[i++];
      else if (c == closing) closing = 0;
      word += text[i];
    }
    if (closing != 0) throw Error(fmt::format("expression '{}': '{}' has no end", text, word));
    words.push_back(word);
  }
  return words;
}

}  // namespace

Expression::Expression(const std::string &text) : text_(text), alternatives_(1) {
  for (const std::string &word : words_of(text)) {
    if (word == "OR") {
      if (alternatives_.back().empty()) throw Error(fmt::format("expression '{}': nothing before OR", text));
      alternatives_.emplace_back();
      continue;
    }
    if (word == "AND") continue;
    Term term;
    std::string rest = word;
    if (rest[0] == '-') {
      term.is_negated = true;
      rest.erase(0, 1);
    }
    if (rest == "*") {
      term.is_any = true;
    } else {
      size_t colon = rest.find(':');
      if (colon == std::string::npos || !is_known_key(rest.substr(0, colon)))
        throw Error(fmt::format("expression '{}': '{}' is not KEY:VALUE with a key of: {}", text, word, key_list()));
      term.key = rest.substr(0, colon);
      term.value = rest.substr(colon + 1);
      size_t size = term.value.size();
      if (size >= 2 && term.value[0] == '/' && term.value[size - 1] == '/') {
        term.is_pattern = true;
        try {
          term.pattern = std::regex(term.value.substr(1, size - 2));
        } catch (const std::regex_error &error) {
          throw Error(fmt::format("expression '{}': bad regular expression {}: {}", text, term.value, error.what()));
        }
      } else if (size >= 2 && term.value[0] == '"' && term.value[size - 1] == '"') {
        term.value = term.value.substr(1, size - 2);
      }
    }
    alternatives_.back().push_back(std::move(term));
  }
  if (alternatives_.back().empty()) throw Error(fmt::format("expression '{}': nothing to match", text));
}

bool Expression::holds(const Term &term, const RunKeys &keys) const {
  if (term.is_any) return true;
  auto found = keys.find(term.key);
  if (found == keys.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const std::string &value) {
    if (term.is_pattern) return std::regex_search(value, term.pattern);
    // A date may be given by its first part: date:2026-11.
    if (term.key == "date") return value.rfind(term.value, 0) == 0;
    return value == term.value;
  });
}

bool Expression::matches(const RunKeys &keys) const {
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const std::vector<Term> &terms) {
    return std::all_of(terms.begin(), terms.end(), [&](const Term &term) { return holds(term, keys) != term.is_negated; });
  });
}

}  // namespace slurmscope
