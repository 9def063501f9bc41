#include "apps/command_tree.hpp"
#include "vitruvian/core/base/error.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace vitruvian {
namespace {

// Text as roff prints it: a backslash and what begins a line would be requests, and '-' a hyphen
// that a search for a flag does not find.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool begins = result.empty() || result.back() == '\n';
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if (!(begins && c == ' ')) {
      result += c;
    }
  }
  return result;
}

// A sentence: what --help breaks into lines is filled anew.
std::string paragraph(const std::string& text) { return text.empty() ? "" : escaped(text) + "\n"; }

std::string entry(const Flag& flag) {
  std::string head;
  for (const std::string& name : flag.names) {
    head += fmt::format("{}\\fB{}\\fR", head.empty() ? "" : ", ", escaped(name));
  }
  if (!flag.type.empty() && flag.type != flag.names.front()) {
    head += fmt::format(" \\fI{}\\fR", escaped(flag.type));
  }
  std::string text = flag.about;
  if (!flag.values.empty()) {
    text += fmt::format("{}One of: {}.", text.empty() ? "" : ".\n", joined(flag.values));
  }
  const char* const end = text.empty() || text.ends_with('.') ? "\n" : ".\n";
  if (!flag.usual.empty()) text += fmt::format("{}Without: {}.", end, flag.usual);
  if (flag.required) text += std::string(end) + "It must be given.";
  return fmt::format(".TP\n{}\n{}", head, text.empty() ? "\\&\n" : paragraph(text));
}

void describe(std::string& page, const Command& command, const std::string& path) {
  const bool root = path.empty();
  const std::string whole = root ? command.name : path + " " + command.name;
  if (!root) {
    page += fmt::format(".SS {0}\n.B {0}\n[\\fIFLAG\\fR]...", escaped(whole));
    if (!command.commands.empty()) page += " \\fICOMMAND\\fR";
    for (const Flag& a : command.arguments) {
      page += fmt::format(" {}\\fI{}\\fR{}{}", a.required ? "" : "[", escaped(a.names.front()),
                          a.several ? "..." : "", a.required ? "" : "]");
    }
    page += "\n.PP\n" + paragraph(command.about + ".");
  }
  for (const Flag& argument : command.arguments) page += entry(argument);
  std::vector<std::string> groups{"Options"};  // those of no other group, which need no heading
  for (const Flag& flag : command.flags) {
    if (std::ranges::find(groups, flag.group) == groups.end()) groups.push_back(flag.group);
  }
  for (const std::string& group : groups) {
    if (group != groups.front()) page += fmt::format(".PP\n{}:\n", escaped(group));
    for (const Flag& flag : command.flags) {
      if (flag.group == group) page += entry(flag);
    }
  }
  for (const Command& sub : command.commands) {
    if (root && &sub == &command.commands.front()) page += ".SH COMMANDS\n";
    describe(page, sub, whole);
  }
}

}  // namespace

std::string manual_page(const Command& program, std::string_view version) {
  std::string page = fmt::format(
      ".\\\" made by '{0} man'\n"
      ".TH VITRUVIAN 1 \"\" \"vitruvian {1}\" \"User Commands\"\n"
      ".SH NAME\n{0} \\- a Vision Transformer drawn from first principles\n"
      ".SH SYNOPSIS\n.B {0}\n\\fICOMMAND\\fR [\\fIFLAG\\fR]... [\\fIARGUMENT\\fR]...\n"
      ".SH DESCRIPTION\n"
      "Trains, evaluates, looks into and converts Vision Transformers, as in \\(lqAn Image is "
      "Worth\n"
      "16x16 Words\\(rq (arXiv 2010.11929).\n"
      "A flag that is given twice means its last value.\n"
      ".SH OPTIONS\n",
      program.name, escaped(version));
  describe(page, program, "");
  page +=
      ".SH EXIT STATUS\n"
      ".TP\n0\nall is well.\n"
      ".TP\n1\nsomething failed, as the sentence on standard error says.\n"
      ".TP\n2\nthe command line cannot be.\n"
      ".TP\n3\npictures, data or a download are missing or damaged.\n"
      ".TP\n4\nweights or a checkpoint are.\n"
      ".TP\n129, 130, 143\nit was stopped by SIGHUP, SIGINT or SIGTERM.\n"
      ".TP\n141\nwhoever read what it printed has left, as head does.\n"
      ".SH FILES\n"
      ".TP\nruns/\nwhere\n.B vitruvian train\nmakes a folder for each run.\n";
  return page;
}

}  // namespace vitruvian
