#include "vitruvian/report/inspect.hpp"
#include "apps/commands.hpp"
#include "vitruvian/charts/text.hpp"
#include "vitruvian/core/base/console.hpp"
#include "vitruvian/datasets/dataset.hpp"
#include "vitruvian/train/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>

namespace vitruvian {
namespace {

// What fits into a terminal: small pictures, enlarged as far as 16 pixels, and words.
void show(const Figure& figure, const console::Terminal& terminal) {
  if (!figure.small && figure.words.empty()) return;
  if (figure.drawing.rows.empty()) return;  // text alone is for its file
  console::print("{}\n", figure.title);
  if (figure.small) {
    const std::size_t scale = std::max<std::size_t>(16 / figure.small->width, 1);
    console::print("{}", console::raw(text_of(enlarged(*figure.small, scale), terminal)));
  }
  if (!figure.words.empty()) {
    console::print("{}{}", console::lines(figure.words),
                   console::raw(figure.words.ends_with('\n') ? "" : "\n"));
  }
  console::print("\n");
  console::flush();
}

void run_inspect(InspectOptions options) {
  options.images = pictures_of(options.images);
  const console::Terminal terminal = console::terminal_of(stdout);
  // Whoever reads what is shown may leave: the files are made all the same.
  std::exception_ptr unread;
  const auto drawn = [&](const Figure& figure) {
    try {
      if (!unread) show(figure, terminal);
    } catch (...) {
      unread = std::current_exception();
    }
  };
  const std::vector<std::string> files = inspect_model(options, {note, drawn});
  if (unread) std::rethrow_exception(unread);
  console::print("{} in {}: open {}/index.html\n", counted(files.size(), "file"), options.out,
                 options.out);
}

}  // namespace

void add_inspect(const Parser& app, std::function<void()>& chosen) {
  auto [command, options] = add_command<InspectOptions>(
      app, chosen, "inspect", "Draw what is inside a trained model: the paper's figures",
      run_inspect);
  command.add_value("--weights,--checkpoint", "FILE", options.weights,
                    "safetensors, .npz, .pth, or a run directory");
  command.add_value("pictures", "IMAGE", options.images,
                    "PNG, JPEG, PGM or PPM, or a folder of such, at any depth");
  command
      .add_value(
          "--dataset", "NAME", options.dataset,
          fmt::format("Instead of pictures the test images of one of {}; without: those of the run",
                      joined(dataset_names())))
      .offers(dataset_names());
  command.add_value("--data", "DIR", options.data, "The folder with the data set's files");
  command.add_count("--images", options.count,
                    "So many of them, the classes in turn, or as many as there are", most_counted,
                    1);
  command.add_value("--out", "DIR", options.out, "The folder for figures, numbers and index.html")
      .required();
  const std::string whose = "Whose attention is drawn alone (all count from 0)";
  command.add_count("--layer", options.layer, "Without: the last").group(whose);
  command.add_count("--head", options.head, "Without: the mean of all").group(whose);
  command
      .add_count("--query", options.query,
                 "A patch in raster order; without: the class token, or the patch in the middle")
      .group(whose);
  const std::string more = "Many gradients";
  command
      .add_counted_flag("--smoothgrad", options.smooth_grad, 50,
                        "The mean gradient over noisy copies (as --smoothgrad=N: over N)")
      .group(more);
  command
      .add_count("--integrated-gradients", options.integrated_gradients,
                 "Integrated gradients from black, in so many steps")
      .group(more);
  const std::string run_of = "A run";
  const Option strip =
      command
          .add_value("--strip", "DIR", options.strip,
                     "Position similarity, epoch by epoch, of a run made with --save-every")
          .group(run_of);
  command
      .add_count("--every", options.every, "Only one in so many checkpoints, and the last",
                 most_counted, 1)
      .needs(strip)
      .group(run_of);
  add_picture_flags(command, options);
  add_weights_flags(command, options.request);
  add_machine_flags(command);
}

}  // namespace vitruvian
