// Run directories as they are read, report.html, comparisons.

#include "tests/json.hpp"
#include "tests/report/seeing.hpp"
#include "vitruvian/media/image.hpp"
#include "vitruvian/report/compare.hpp"
#include "vitruvian/report/page.hpp"

#include <regex>

using namespace vitruvian;

namespace {

Dataset pictures(std::size_t n, std::size_t channels, std::size_t height, std::size_t width) {
  const std::vector<double> half(channels, 0.5);
  Dataset data{"drawn", channels,
               height,  width,
               3,       {},
               {},      {"<script>alert(1)</script>", "\"' onload=x & co", "caf\xC3\xA9 \xFF\x01"},
               half,    half};
  data.pixels.resize(n * data.image_size());
  for (std::size_t i = 0; i < data.pixels.size(); ++i)
    data.pixels[i] = static_cast<std::uint8_t>(i * 37);
  for (std::size_t i = 0; i < n; ++i) data.labels.push_back(static_cast<std::uint32_t>(i % 3));
  return data;
}

// A run that kept images to validate on, where the third epoch is as good as the first.
const std::string validated_metrics =
    R"({"kind":"epoch","epoch":1,"step":5,"train_loss":2,"val_loss":1.2,"val_accuracy":0.9}
{"kind":"epoch","epoch":2,"step":10,"train_loss":1,"val_loss":1.1,"val_accuracy":0.8}
{"kind":"epoch","epoch":3,"step":15,"train_loss":0.5,"val_loss":1.3,"val_accuracy":0.9}
{"kind":"test","epoch":1,"test_loss":0.5,"test_accuracy":0.85}
)";

// Of a run that was never trained, and of one that has done a step: the page's path.
const char* const young[] = {"", "{\"kind\":\"step\",\"step\":1,\"loss\":2.5,\"lr\":0.1}\n"};
std::string young_report_in(const Folder& folder, const char* metrics) {
  const std::string run = run_in(folder, "young", metrics);
  write_report(run, nullptr);
  return run + "/report.html";
}

// What Python's parsers of HTML and XML say of a page; "" when they find no fault.
std::string faults_of(const std::string& page, const std::string& metrics = "") {
  const std::string log = page + ".log";
  const std::string command = fmt::format("python3 '{}/report/html_check.py' '{}' {} 2>'{}'",
                                          VITRUVIAN_TEST_DATA, page, metrics, log);
  return std::system(command.c_str()) == 0 ? "" : content(log);
}

// A report with everything in it, and hostile names.
std::string reported_run_in(const Folder& folder) {
  const std::string run = run_in(folder, "<b>&", metrics_of_two_epochs);
  const Predictions predictions = six();
  const Loader images(pictures(6, 3, 8, 5));
  const ReportExamples examples{predictions, images};
  ImageGrid grid{"<script>"};
  grid.images = {Image{1, 1, 1, {7}}};
  write_report(
      run, &examples,
      {{"maps", "<i>attention</i>", "\"of\" & on", {{{grid}}}, {{"maps.npy", ""}}},
       {"norms", "norms", "", {{{Chart{"norms", "layer", "", {{"<a>", {0, 1}, {2, 3}}}}}}}},
       {"text", "text alone", "it has", {}, {}, {}, "<words>"}});
  return run;
}

}  // namespace

TEST_CASE("a run directory is read as it was written, cut short or old") {
  const Folder folder;
  const RunRecord run = read_run(run_in(folder, "run", metrics_of_two_epochs));
  CHECK(run.name == "run");
  REQUIRE(run.steps.size() == 3);
  CHECK(std::isnan(run.steps[1].loss));
  CHECK(run.steps[2].grad_norm == 1.25);
  REQUIRE(run.epochs.size() == 2);
  CHECK(run.epochs[0].train_loss == 2.4000000000000004);
  CHECK(run.test_accuracy == 0.6123456789);
  CHECK(run.best()->epoch == 2);
  CHECK(run.steps_an_epoch() == 2);
  CHECK(run.count("epochs") == 3);
  CHECK(run.seconds == 123);
  CHECK(run.images_per_second == 200);
  // Who went on may have taken longer to its first line than all before.
  write(run_in(folder, "slower", metrics_of_two_epochs) + "/timing.jsonl",
        "{\"epoch\":1,\"after_step\":0,\"seconds\":10,\"images_per_second\":1}\n"
        "{\"epoch\":2,\"after_step\":2,\"seconds\":10.5,\"images_per_second\":1}\n"
        "{\"epoch\":3,\"after_step\":2,\"seconds\":20,\"images_per_second\":1}\n");
  CHECK(read_run(folder.file("slower")).seconds == 30);
  CHECK(run.setting("model.D") == "64");

  // Killed while it wrote a line; then one with a validation split and a final test.
  CHECK(read_run(run_in(folder, "cut", metrics_of_two_epochs + "{\"kind\":\"ep")).epochs.size() ==
        2);
  const RunRecord validated =
      read_run(run_in(folder, "validated", validated_metrics + "{\"kind\":\"tomorrow's\"}\n"));
  CHECK(validated.validated());
  CHECK(validated.best()->epoch == 1);
  CHECK(validated.test_accuracy == 0.85);

  const auto refused = [&](const std::string& path, const char* part) {
    check_error(Exit::data, {part}, [&] { read_run(path); });
  };
  refused(folder.file("nowhere"), "no such folder");
  refused(folder.path.string(), "no config.json");
  refused(run_in(folder, "bad", "{}\n{\"kind\":\"epoch\"}\n"),
          "metrics.jsonl: line 2 has no 'epoch'");
  refused(run_in(folder, "worse", "{\"epoch\":1}\nnonsense\n"), "line 2 is no JSON object");
  refused(run_in(folder, "list", "", "[1]"), "config.json: is no JSON object");
  refused(run_in(folder, "deep", "", "{\"a\":" + std::string(100000, '[')), "nested too deeply");
}

TEST_CASE("the line of a chart is the quantity of its name, over the epochs") {
  using V = std::vector<double>;
  const Folder folder;
  const RunRecord run = read_run(run_in(folder, "run", metrics_of_two_epochs));
  const RunRecord validated = read_run(run_in(folder, "validated", validated_metrics));
  // What a chart of this title says of a name, without the gaps.
  const auto drawn = [](const std::vector<Chart>& charts, const std::string& title,
                        const std::string& name) {
    std::pair<V, V> points;
    for (const Chart& chart : charts) {
      for (const Series& line : chart.series) {
        if (chart.title != title || line.name != name) continue;
        for (std::size_t i = 0; i < line.x.size(); ++i) {
          if (std::isnan(line.y[i])) continue;
          points.first.push_back(line.x[i]);
          points.second.push_back(line.y[i]);
        }
      }
    }
    return points;
  };
  const std::string norm = "Norm of the gradient, before clipping";
  const V lr{1e-4, 2e-4, 3e-4}, norms{3.25, 3.5, 1.25}, shares{0.9, 0.8, 0.9};
  const V test{0.30000000000000004, 0.6123456789};
  const auto one = charts_of(run);
  CHECK(drawn(one, "Loss", "a training step") == std::pair{V{0.5, 1.5}, V{2.5, 1.5}});
  CHECK(drawn(one, "Loss", "training") == std::pair{V{1, 2}, V{2.4000000000000004, 1.3}});
  CHECK(drawn(one, "Loss", "validation") == std::pair{V{}, V{}});
  CHECK(drawn(one, "Loss", "test") == std::pair{V{1, 2}, V{1.9, 1.1}});
  CHECK(drawn(one, "Accuracy", "training") == std::pair{V{1, 2}, V{0.1, 0.52}});
  CHECK(drawn(one, "Accuracy", "test") == std::pair{V{1, 2}, test});
  CHECK(drawn(one, "Learning rate", "learning rate") == std::pair{V{0.5, 1, 1.5}, lr});
  CHECK(drawn(one, norm, "norm") == std::pair{V{0.5, 1, 1.5}, norms});
  for (const Chart& chart : one) {
    CHECK(chart.whole_x == (chart.title == "Accuracy"));
    CHECK(chart.percent == (chart.title == "Accuracy"));
  }
  for (const Chart& chart : charts_of(grouped({run, validated}))) {
    CHECK(chart.percent == chart.title.ends_with("accuracy"));
  }
  CHECK(drawn(charts_of(validated), "Loss", "validation").second == V{1.2, 1.1, 1.3});
  CHECK(drawn(charts_of(validated), "Accuracy", "validation").second == shares);

  for (const auto& [title, name, y] : std::vector<std::tuple<std::string, const char*, V>>{
           {"Training loss", "validated", {2, 1, 0.5}},
           {"Validation loss", "validated", {1.2, 1.1, 1.3}},
           {"Validation accuracy", "validated", shares},
           {"Validation accuracy", "run", {}},
           {"Training accuracy", "run", {0.1, 0.52}},
           {"Test loss", "run", {1.9, 1.1}},
           {"Test accuracy", "run", test},
           {"Learning rate", "run", lr},
           {norm, "run", norms}}) {
    const std::string what = title;
    CHECK_MESSAGE(drawn(charts_of(grouped({run, validated})), what, name).second == y, what);
  }
}

TEST_CASE("a tile or a column of the page is the quantity of its name") {
  const Folder folder;
  const auto page = [&](const char* name, const std::string& metrics) {
    return html_report(read_run(run_in(folder, name, metrics)), nullptr);
  };
  // One row of the table of epochs, without the exact numbers behind those that are shown.
  const auto row = [](const std::string& html, int epoch) {
    const std::size_t begin = html.find(fmt::format("<tr><th scope=\"row\">{}</th>", epoch));
    return std::regex_replace(html.substr(begin, html.find("</tr>", begin) - begin),
                              std::regex("</?[a-z]+[^>]*>"), "|");
  };
  const std::string tested = page("tested", metrics_of_two_epochs);
  for (const char* const tile :
       {"<b><data value=\"1.1\">1.1000</data></b><span>test loss</span>",
        "<b>2:03</b><span>of training</span>", "<b>200</b><span>images a second</span>"}) {
    CHECK_MESSAGE(says(tested, tile), tile);
  }
  CHECK(row(tested, 2) == "||2|||1.3000||||52.00 %||||1.1000||||61.23 %||||0.000010||||1.125||");
  const std::string validated = page(
      "validated",
      R"({"kind":"epoch","epoch":1,"train_loss":4,"train_accuracy":0.1,"val_loss":3,"val_accuracy":0.2})"
      "\n");
  CHECK(says(row(validated, 1), "||4.0000||||10.00 %||||3.0000||||20.00 %||"));
}

TEST_CASE("the best epoch of a run that validated is by validation, the first of equals") {
  const Folder folder;
  const RunRecord run = read_run(run_in(folder, "validated", validated_metrics));
  CHECK(run.best()->epoch == 1);
  const std::string html = html_report(run, nullptr);
  CHECK(says(html,
             "<b><data value=\"0.9\">90.00 %</data></b><span>best validation accuracy, "
             "epoch 1</span>"));
  CHECK_FALSE(says(html, "best test accuracy"));
  CHECK_FALSE(says(html, "Stopped early"));
  const std::size_t third = validated_metrics.find("{\"kind\":\"epoch\",\"epoch\":3");
  const std::size_t tested = validated_metrics.find("{\"kind\":\"test\"");
  const std::string two = validated_metrics.substr(0, third);
  CHECK(says(html_report(read_run(run_in(folder, "young", two)), nullptr),
             "This run has recorded 2 of 3 epochs."));
  const std::string ended = two + validated_metrics.substr(tested);
  CHECK(says(html_report(read_run(run_in(folder, "early", ended)), nullptr),
             "Stopped early, after 2 of 3 epochs: no better validation accuracy since epoch 1."));
  const std::string text = to_text(comparison_of({run}));
  for (const char* const line :
       {"best validation (epoch)  90.00 % (1)\n", "validation loss               1.3000\n",
        "validation accuracy          90.00 %\n", "training loss                 0.5000\n"}) {
    CHECK_MESSAGE(says(text, line), text);
  }
  CHECK_FALSE(says(text, "best test"));
}

TEST_CASE("runs that differ in nothing but the seed are averaged") {
  const Folder folder;
  const auto run = [&](const std::string& name, const std::string& seed, const std::string& rest,
                       double accuracy, int epochs = 2) {
    std::string metrics;
    for (int e = 1; e <= epochs; ++e) {
      metrics += fmt::format(
          R"({{"kind":"epoch","epoch":{},"step":{},"train_loss":{},"train_accuracy":0.5,)"
          R"("test_loss":0.25,"test_accuracy":{},"lr":0.1,"grad_norm":1}})"
          "\n",
          e, 2 * e, 4.0 / e, accuracy * e / 2);
    }
    return read_run(
        run_in(folder, name.c_str(), metrics, fmt::format(R"({{"seed":{},{}}})", seed, rest)));
  };
  const std::string same = R"("lr":0.1,"data":"a","made_by":{"data_checksum":"1","version":"1"})";
  const std::string moved = R"("lr":0.1,"data":"b","made_by":{"data_checksum":"1","version":"2"})";
  const std::string other = R"("lr":0.1,"data":"a","made_by":{"data_checksum":"2","version":"1"})";
  const std::string faster = R"("lr":0.2,"data":"a","made_by":{"data_checksum":"1","version":"1"})";
  const std::vector<RunRecord> runs{
      run("set/seed-1", "1", same, 0.9),    run("fast", "1", faster, 0.5),
      run("set/seed-10", "10", same, 0.93), run("set/seed-2", "2", moved, 0.96, 3),
      run("again", "2", same, 0.7),  // of a seed that is there
      run("elsewhere", "3", other, 0.8)};
  const std::vector<RunGroup> groups = grouped(runs);
  REQUIRE(groups.size() == 4);
  CHECK(groups[0].name == "set (3 seeds)");
  CHECK(groups[0].runs.size() == 3);
  CHECK(grouped({runs[0], runs[2], run("set/seed-4", "4", same, 0, 0)})[0].name ==
        "set (2 of 3 seeds)");
  CHECK(groups[1].name == "fast");
  CHECK(groups[2].name == "again");
  CHECK(groups[3].name == "elsewhere");

  // Python: statistics.mean and .stdev of 0.9, 1.44 and 0.93 (seed 2 goes on to an epoch 3), ...
  const std::string text = to_text(comparison_of({runs[0], runs[1], runs[2], runs[3]}), 200);
  const auto row = [](const char* name, const char* mean, const char* one) {
    return fmt::format("\n{:<17}  {:>17}  {:>11}\n", name, mean, one);
  };
  CHECK(says("\n" + text, row("", "set (3 seeds)", "fast")));
  CHECK(says(text, row("lr", "0.1", "0.2")));
  CHECK(says(text, row("seeds", "1 10 2", "1")));
  CHECK(says(text, row("epochs done", "2 to 3", "2")));
  CHECK(says(text, row("training loss", "1.7778 +- 0.3849", "2.0000")));
  CHECK(says(text, row("test accuracy", "109.00 % +- 30.35", "50.00 %")));
  CHECK(says(text, row("test loss", "0.2500 +- 0.0000", "0.2500")));
  CHECK_FALSE(says(text, "\nseed "));
  CHECK_FALSE(says(text, "made_by"));

  // ... and of 0.45, 0.48 and 0.465 after the first epoch, then 0.9, 0.96 and 0.93.
  std::string titles;
  for (const Chart& chart : charts_of(groups)) {
    titles += chart.title + "; ";
    if (chart.title == "Learning rate") CHECK(chart.series[0].y[0] == doctest::Approx(0.1));
    if (chart.title.starts_with("Norm")) CHECK(chart.series[0].y[0] == 1);
    if (chart.title != "Test accuracy") continue;
    const Series& line = chart.series[0];
    CHECK(line.x == std::vector<double>{1, 2});
    CHECK(line.y[0] == doctest::Approx(0.465));
    CHECK(line.low[0] == doctest::Approx(0.45));
    CHECK(line.high[1] == doctest::Approx(0.96));
    CHECK(chart.series[1].low.empty());
  }
  for (const char* title : {"Learning rate; ", "Norm", "Test accuracy; "})
    CHECK(says(titles, title));
  const std::string page = html_comparison(runs);
  CHECK(says(page, "<td>0.2500 \xC2\xB1 0.0000</td>"));
  CHECK(says(page, "<h2>Each run</h2>"));
  CHECK(says(page, "class=\"band"));
  CHECK_FALSE(says(html_comparison({runs[0], runs[1]}), "<h2>Each run</h2>"));

  std::filesystem::create_directories(folder.file("set/seed-3"));  // no run yet
  std::vector<std::string> names;
  for (const RunRecord& one : read_runs(folder.file("set"))) names.push_back(one.name);
  CHECK(names == std::vector<std::string>{"seed-1", "seed-2", "seed-4", "seed-10"});
  CHECK(read_runs(folder.file("fast")).size() == 1);
}

TEST_CASE("a long line with a band of its own keeps it when it is thinned") {
  Series line{"mean"};
  for (int i = 0; i < 400; ++i) {
    line.x.push_back(i);
    line.y.push_back(5);
    line.low.push_back(i % 2 == 0 ? 1 : 2);
    line.high.push_back(9);
  }
  const Series thin = thinned(line, 200);
  CHECK(thin.x.size() == 200);
  CHECK(thin.low == std::vector<double>(200, 1.5));
  CHECK(thin.high == std::vector<double>(200, 9));
}

TEST_CASE("metrics as a table: a row a line, a column a name, and nothing that is computed") {
  const Folder folder;
  CHECK(metrics_csv(run_in(folder, "run", metrics_of_two_epochs)) ==
        "kind,step,epoch,loss,lr,grad_norm,train_loss,train_accuracy,test_loss,test_accuracy\r\n"
        "step,1,1,2.5,0.0001,3.25,,,,\r\n"
        "step,2,1,,0.0002,3.5,,,,\r\n"
        "epoch,2,1,,0.0002,3.375,2.4000000000000004,0.1,1.9,0.30000000000000004\r\n"
        "step,3,2,1.5,0.0003,1.25,,,,\r\n"
        "epoch,4,2,,1e-05,1.125,1.3,0.52,1.1,0.6123456789\r\n");
  CHECK(metrics_csv(run_in(folder, "young", "")).empty());
  CHECK(metrics_csv(run_in(folder, "odd",
                           R"({"kind":"=1+1","a,b":"say \"x\"","c":[-1],"d":-2.5})"
                           "\n")) == "kind,\"a,b\",c,d\r\n'=1+1,\"say \"\"x\"\"\",[-1],-2.5\r\n");
  check_error(Exit::data, {}, [&] { metrics_csv(run_in(folder, "bad", "x\n{}\n")); });
}

// Well-formed, self-contained, and with the numbers of metrics.jsonl.
TEST_CASE("Python reads a report and a comparison") {
  if (std::system("python3 -c ''") != 0) return skip("there is no python3");
  const Folder folder;
  const std::string run = reported_run_in(folder);
  CHECK(faults_of(run + "/report.html", "'" + run + "/metrics.jsonl'") == "");
  for (const char* const metrics : young) {
    CHECK(faults_of(young_report_in(folder, metrics)) == "");
  }
  const std::vector<RunRecord> runs{read_run(run_in(folder, "one", metrics_of_two_epochs)),
                                    read_run(run_in(folder, "two", ""))};
  write(folder.file("compare.html"), html_comparison({runs[0], runs[0], runs[1]}));
  CHECK(faults_of(folder.file("compare.html")) == "");
}

TEST_CASE("a report escapes what it shows and holds every figure") {
  const Folder folder;
  const std::string run = reported_run_in(folder);
  const std::string html = content(run + "/report.html");
  CHECK_FALSE(says(html, "<script"));
  CHECK(says(html, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  CHECK(says(html, data_uri("image/png", encode_png({1, 1, 1, {7}}))));
  CHECK(says(html, "<figcaption><b>&lt;i&gt;attention&lt;/i&gt;</b> &quot;of&quot; &amp; on</fig"));
  CHECK_FALSE(says(html, "<a "));  // the files lie nowhere
  CHECK(count_of(html, "<svg class=\"chart\"") == 4 + 2);
  CHECK(says(html, "<pre>&lt;words&gt;</pre>"));
  CHECK(says(html, "2 of 3"));
  CHECK(count_of(html, "<article>") == 3 + 6);  // mistakes, samples
  CHECK(says(html, "<data value=\"0.6123456789\">61.23 %</data>"));

  // Without examples, and before anything was recorded.
  for (const char* const metrics : young) {
    CHECK(says(content(young_report_in(folder, metrics)), "Nothing was recorded yet") ==
          (*metrics == '\0'));
  }
}

TEST_CASE("a report's size is bounded, whatever the run") {
  std::string metrics;
  for (int step = 1; step <= 60000; ++step) {
    metrics += fmt::format(
        "{{\"kind\":\"step\",\"step\":{},\"epoch\":1,\"loss\":{},\"lr\":0.1,\"grad_norm\":{}}}\n",
        step, 2 + std::sin(step), 1e3 * std::cos(step));
    if (step % 20 == 0) {
      metrics += fmt::format(
          "{{\"kind\":\"epoch\",\"epoch\":{},\"step\":{},\"train_loss\":1,\"test_accuracy\":0.{}}}"
          "\n",
          step / 20, step, step);
    }
  }
  const Folder folder;
  const std::string run = run_in(folder, "long", metrics);
  constexpr std::size_t K = 300;
  Dataset images = pictures(500, 3, 200, 300);
  images.classes = K;
  Predictions predictions{K, {}, std::vector<double>(500 * K, 1.0 / K)};
  for (std::size_t i = 0; i < 500; ++i) predictions.labels.push_back(i % K);
  const Loader loader(std::move(images));
  const ReportExamples examples{predictions, loader};
  const std::string html = html_report(read_run(run), &examples);
  CHECK(html.size() < 4'000'000);
  CHECK(count_of(html, "<article>") == 48);
  CHECK(says(
      html,
      "<tr><th scope=\"row\">3000</th>"));  // of the epochs the last is there, whatever is left out
  // Each with its true class, however unlikely; and of many classes the pairs that are confused.
  CHECK(count_of(html, "<p class=\"truth\">") == 48);
  CHECK(says(html, "<tr><th>7</th><td>&lt;script&gt;alert(1)&lt;/script&gt;</td><td>2</td>"));
  // The samples are spread over the images.
  const std::string samples = html.substr(html.find("<h2>Samples</h2>"));
  for (std::size_t i = 0; i < 24; ++i) {
    CHECK(says(samples, fmt::format("alt=\"test image {}\"", i * 500 / 24)));
  }
}
