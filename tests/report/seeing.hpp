#pragma once

#include "tests/folder.hpp"
#include "vitruvian/report/confusion.hpp"
#include "vitruvian/train/report.hpp"

// What the tests of what a run shows share.

// Three classes, six images: 0 right, 0 as 2, 1 right, 1 right, 2 as 0 (narrowly), 2 as 1.
inline vitruvian::Predictions six() {
  return {3,
          {0, 0, 1, 1, 2, 2},
          {0.8, 0.1, 0.1, 0.2, 0.2, 0.6, 0.1, 0.9, 0.0, 0.3, 0.4, 0.3, 0.45, 0.15, 0.4, 0.1, 0.85,
           0.05}};
}

inline const std::string metrics_of_two_epochs =
    R"({"kind":"step","step":1,"epoch":1,"loss":2.5,"lr":0.0001,"grad_norm":3.25}
{"kind":"step","step":2,"epoch":1,"loss":null,"lr":0.0002,"grad_norm":3.5}
{"kind":"epoch","epoch":1,"step":2,"train_loss":2.4000000000000004,"train_accuracy":0.1,"test_loss":1.9,"test_accuracy":0.30000000000000004,"lr":0.0002,"grad_norm":3.375}
{"kind":"step","step":3,"epoch":2,"loss":1.5,"lr":0.0003,"grad_norm":1.25}
{"kind":"epoch","epoch":2,"step":4,"train_loss":1.3,"train_accuracy":0.52,"test_loss":1.1,"test_accuracy":0.6123456789,"lr":1e-05,"grad_norm":1.125}
)";

// A run directory in `folder`; its name is attacked too.
inline std::string run_in(
    const vitruvian::Folder& folder, const char* name, const std::string& metrics,
    const std::string& config = R"({"dataset":"digits","epochs":3,)"
                                R"("model":{"D":64,"note":"</dd><script>"}})") {
  const std::string path = folder.file(name);
  std::filesystem::create_directories(path);
  vitruvian::write(path + "/config.json", config);
  vitruvian::write(path + "/metrics.jsonl", metrics);
  vitruvian::write(path + "/timing.jsonl",
                   "{\"epoch\":1,\"seconds\":60,\"images_per_second\":100}\n"
                   "{\"epoch\":2,\"seconds\":90,\"images_per_second\":300}\n"
                   "{\"epoch\":3,\"seconds\":33,\"images_per_second\":200}\n");  // resumed
  return path;
}
