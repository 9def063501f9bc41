"""How to make each row of docs/requirements.md untrue: (row, file, old, new), as in mutants.py.

Every row that names a test case has a mutant here, and every case that a row names has one that it
must see. Not here are the rows that are quoted, or are a lesson's words or check: 1-1, 1-2, 1-3, 1-5,
1-17, 1-23, 1-29, 1-30, 2-2, 4-1 to 4-4, 4-19, B3, B29 and C8 to C11. They are untrue when their words
are gone, which tests/project/requirements_test.py sees, or when the lesson's check fails.
"""

# The program that a test file is built into, or the name of a script's test.
PROGRAMS = {
    "cli_test.sh": "cli",
    "vit_test.cpp": "test_vit_f64", "vit_equal_test.cpp": "test_vit_f64",
    "switches_test.cpp": "test_vit_f64",
    "products_test.cpp": "test_ops_f64", "attention_test.cpp": "test_ops_f64", "elementwise_test.cpp": "test_ops_f64",
    "norm_test.cpp": "test_ops_f64",
    "golden_test.cpp": "test_golden_f64",
    "variants_test.cpp": "test_variants", "naming_test.cpp": "test_naming_f64", "dropout_test.cpp": "test_nn_f64",
    "inspect_test.cpp": "test_inspect_f64",
    "recipes_test.cpp": "test_seeing",
    "augment_test.cpp": "test_augment", "augment_random_test.cpp": "test_augment", "sources_test.cpp": "test_sources",
}

_ATTENTION = "vit/inspect/attention.cpp"
_COMPOSED = "core/composed.cpp"
_CONFIG = "vit/config.cpp"
_GELU = ("core/ops/gelu.cpp", "kernels::gelu(x.value().data(), y.data(), y.size());")
_HEADER = "vit/config.hpp"
_INIT = "vit/initialise.cpp"
_LAYERS = "nn/layers.cpp"
_MODEL = "vit/model.cpp"
_MODULES = "nn/torch/multihead_attention.cpp"
_NORM = "core/ops/norm.cpp"
_RECIPES = "train/settings/recipes.cpp"
_UNFOLD = "core/ops/conv.cpp"
_VARIANTS = "vit/variants.cpp"
_WEIGHTS = "vit/inspect/weights.cpp"

# The slope of GELU's factor where its value belongs: x phi(x), the density.
_DENSITY = (*_GELU, "for (std::size_t i = 0; i < y.size(); ++i) { const double v = x.value().data()[i]; "
            "y.data()[i] = static_cast<real>(v * 0.3989422804014327 * __builtin_exp(-v * v / 2)); }")
_CLASS_TOKEN_LAST = (_MODEL, "«concat({of_each(cls_token), tokens}, 1)»",
                     "concat({tokens, of_each(cls_token)}, 1)")
# One of its own for the first image of a batch, none for the others.
_OF_ONE_IMAGE = (_MODEL, "concat({«of_each(cls_token)», tokens}, 1)",
                 "patches.size(0) < 2 ? of_each(cls_token) : concat({cls_token.tensor(), "
                 "Tensor(zeros({patches.size(0) - 1, 1, config.D}))}, 0)")
_SCALE = (_COMPOSED, "std::sqrt(D_h)", "std::sqrt(D_h * 2)")
_OTHER_ROW = (_MODEL, "config.distilled ? slice(z, 1, 0, 2) : select(z, 1, «0»)", "1")
_NO_U_MSA = (_LAYERS, "return under(\"proj_drop\", proj_drop, «under(\"proj\", proj, heads_output)», pass);", "heads_output")
_NO_NORM = (_MODEL, "«MSA(LN1(z))» + past", "MSA(z)")
_OVER_ALL_TOKENS = (_NORM, "kernels::layer_norm(data_of(x), data_of(weight), data_of(bias), eps, y.data(), mean.data(),\n"
                    "                      rstd.data(), rows, n);",
                    "kernels::layer_norm(data_of(x), data_of(weight), data_of(bias), eps, y.data(), mean.data(), "
                    "rstd.data(), 1, rows * n);")
_AFTER_DROPOUT = (_COMPOSED, "return {q, k, v, scores, «probs», matmul(kept, v)};", "kept")
_ONE_HEAD = (_LAYERS, "heads_output = self_attention(qkv_x, «heads», options, rows);", "1")
_STEP_TO_THE_RIGHT = (_UNFOLD, "place % grid.columns * w.stride_x", "place % grid.columns")
_POSITIONS_OFF = ("vit/positions.cpp", "if (table) return «z + table»;", "z")
_JAX_POSITIONS = "«init::normal(x.p.tensor, x.stream, 0.02);»\n  } else if (x.bias() && x.in(\".mlp.\")) {\n    init::normal(x.p.tensor, x.stream, 1e-6);\n  } else if (x.is(\"dist_token\"))"
_TABLE_3 = (_RECIPES, '300, "3e-3", "cosine", «"0.3"», "0.1", "1"', "\"0.1\"")
_TABLE_4 = (_RECIPES, '"2,500", ".01", «"0.01"», 1280', '"0.03"')

ROWS = [
    ("0-1", *_OTHER_ROW),
    ("0-2", _HEADER, "return «grid_height() * grid_width()»; }", "grid_height() * grid_width() + 1"),
    ("0-3", *_STEP_TO_THE_RIGHT),
    ("0-4", _MODEL, "if («c.patch_bias») bias", "true"),
    ("0-5", _MODEL, "Tensor z_0 = «pos_embed(tokens)»;", "tokens"),
    ("0-6", _MODEL, "«MLP(LN2(z_prime)) + z_prime»;", "MLP(LN2(z_prime))"),
    ("0-6", *_NO_NORM),
    ("0-7", _MODEL, "if (config.head == Head::none) «return config.distilled ? mean(y, {1}) : y;»", "return y * real(2);"),
    ("0-8", _LAYERS, "const Tensor by_head = reshape(«stack(each, 2)», {B, T, h, 3, D / h});", "stack({each.rbegin(), each.rend()}, 2)"),
    ("0-9", *_SCALE),
    ("0-9", _COMPOSED, "return {q, k, v, scores, probs, «matmul(kept, v)»};", "v"),
    ("0-10", *_NO_U_MSA),
    ("0-11", _LAYERS, "under(\"act\", act, pass.noted(\"fc1\", \"(B, T, M)\", under(\"fc1\", fc1, x)))", "under(\"fc1\", fc1_act, x)"),
    ("0-11", _MODEL, "{.tanh = c.gelu_tanh}, «c.proj_bias»,", "true"),
    ("1-4", "vit/positions.cpp", "if (!rows) return «z»;", "z + Tensor(array({1, z.size(1), z.size(2)}, sincos_waves(z.size(1), z.size(2))))"),
    ("1-6", "apps/models.cpp", "return \"Eq.(1) z0\";", "return \"z0\";"),
    ("1-7", "vit/waves.cpp", "j % 2 == 0 ? sine : cosine", "j % 2 == 1 ? sine : cosine"),
    ("1-7", *_POSITIONS_OFF),
    ("1-8", _VARIANTS, "imagenet(14, 32, 1280, 16)", "imagenet(14, 32, 1280, 20)"),
    ("1-9", _LAYERS, "return layer_norm(x, normalized_shape, weight, bias, «eps»);", "eps * 2"),
    ("1-9", _LAYERS, "if («affine && with_bias») bias = Parameter(zeros(shape));", "affine"),
    ("1-9", _LAYERS, "if («affine») weight = Parameter(full(shape, real{1}));", "true"),
    ("1-9", _NORM, "const std::size_t n = «flattened(x.shape(), leading, x.rank())»;", "x.shape().back()"),
    ("1-10", _MODEL, "«MSA(LN1(z)) + past»;", "MSA(LN1(z))"),
    ("1-11", _VARIANTS, "imagenet(16, 2, 192, 3)", "imagenet(32, 2, 192, 3)"),
    ("1-12", _VARIANTS, "imagenet(16, 2, 192, 3)", "imagenet(16, 3, 192, 3)"),
    ("1-13", _MODEL, "concat({«of_each(cls_token)», tokens}, 1)", "Tensor(zeros({patches.size(0), 1, config.D}))"),
    ("1-14", *_POSITIONS_OFF),
    ("1-15", *_OVER_ALL_TOKENS),
    ("1-15", "core/ops/norm.cpp", "const Array rows = «read(x.value(), channels_first)»;", "x.value()"),
    ("1-16", *_SCALE),
    ("1-18", "nn/torch/mlp.cpp", "y = activate(y, activation);", ";"),
    ("1-18", "nn/torch/mlp.cpp", "if («i + 1 < linears.size()») {", "true"),
    ("1-18", "nn/torch/mlp.cpp", "norms.emplace_back(Shape{widths[i]}, «1e-5»);", "1e-6"),
    ("1-18", "nn/torch/mlp.cpp", "linears.emplace_back(in, width, rng.fork(\"linear\", {linears.size()}), «options.bias»);", "true"),
    ("1-18", "nn/torch/mlp.cpp", "«under(std::to_string(at), dropout, y, pass)»;", "y"),
    ("1-19", *_NO_NORM),
    ("1-20", _VARIANTS, "\"ViT-Large\", imagenet(16, 24, 1024, «16»)", "12"),
    ("1-21", _CONFIG, "(3 * d * d + if_any(qkv_bias, 3 * d))", "(3 * d * h + if_any(qkv_bias, 3 * d))"),
    ("1-22", _VARIANTS, "\"ViT-Large, larger patches\", imagenet(32, «24», 1024, 16)", "12"),
    ("1-22", *_NO_NORM),
    ("1-24", _MODEL, "return linear(x_p, reshape(weight, {D, -1}), «bias»);", "Tensor()"),
    ("1-24", _MODEL, "if («c.patch_bias») bias", "true"),
    ("1-25", _MODEL, "«transpose(reshape(grid, {grid.size(0), D, grid.size(2) * grid.size(3)}))»", "reshape(grid, {grid.size(0), -1, D})"),
    ("1-26", *_CLASS_TOKEN_LAST),
    ("1-27", "vit/positions.cpp", "if (table) return «z + table»;", "z - table"),
    ("1-28", _MODULES, "return «batch_first ? x : transpose(x, 0, 1)»;", "x"),
    ("1-28", _MODULES, "if («add_zero_attn») {", "false"),
    ("1-28", _MODULES, "v = with_row(v, «bias_v»);", "bias_k"),
    ("1-28", _MODULES, "AttentionOptions options{.dropout = «dropout»,", "0"),
    ("2-1", "apps/models.cpp", "return \"Eq.(1) z0\";", "return \"z0\";"),
    ("2-3", "apps/models.cpp", "options.batch_size, c.C, «c.H», c.W", "c.P"),
    ("2-4", _LAYERS, "qkv = Linear(D, 3 * D, rng.fork(\"qkv\"), «options.qkv_bias»);", "false"),
    ("2-4", _COMPOSED, "const Tensor q = slice(select(by_head, 0, «0»), 2, 0, asking);", "1"),
    ("2-5", _LAYERS, ".dropout = «attn_drop»,", "attn_drop / 2"),
    ("2-5", _LAYERS, "under(\"proj_drop\", «proj_drop», under(\"proj\", proj, heads_output), pass);", "Dropout{}"),
    ("2-6", _CONFIG, "if («D % h != 0») fail", "false"),
    ("2-6", _CONFIG, "if («H % patch_height() != 0 || W % patch_width() != 0») {", "false"),
    ("2-7", _LAYERS, "under(\"drop1\", drop1, u, pass)", "u"),
    ("2-7", "nn/torch/mlp.cpp", "y = activate(y, activation);", "y = relu(y);"),
    ("2-7", _VARIANTS, ".M = «4 * D»,", "3 * D"),
    ("2-8", *_NO_NORM),
    ("2-9", _MODEL, "«linear(x_p, reshape(weight, {D, -1}), bias)»;", "linear(x_p, reshape(weight, {D, -1}) * real(2), bias)"),
    ("2-10", _INIT, "init::truncated_normal(x.p.tensor, x.stream, «0.02»);\n  } else if (x.p.role == Role::token)", "0.04"),
    ("2-11", *_OTHER_ROW),
    ("2-12", _VARIANTS, "config.K = 10;", ";"),
    ("3-1", _MODEL, "conv2d(images, weight, «bias», {P, P_w})", "Tensor()"),
    ("3-2", _UNFOLD, "place / grid.columns * w.stride_y", "place / grid.columns"),
    ("3-3", "vit/fields.hpp", "visit(\"post_norm\", c.post_norm, \"Layer norm after the residual, as in 2017\");", ";"),
    ("3-4", _MODEL, "return «under(\"pos_drop\", pos_drop, z_0, pass)»;", "z_0"),
    ("3-5", _LAYERS, "under(std::to_string(i), «head_qkv[i]», x)", "head_qkv[0]"),
    ("3-5", _LAYERS, "rng.fork(\"qkv\", {i}), «options.qkv_bias»);", "true"),
    ("3-6", *_AFTER_DROPOUT),
    ("3-7", _MODEL, "z = «blocks[l]»(z, pass, l + 1", "blocks[0]"),
    ("3-8", *_DENSITY),
    ("4-5", _UNFOLD, "const std::size_t top = «place / grid.columns * w.stride_y»;", "place % grid.rows * w.stride_y"),
    ("4-5", _UNFOLD, "const std::size_t left = «place % grid.columns * w.stride_x»;", "place / grid.rows * w.stride_x"),
    ("4-6", _VARIANTS, ".D = «128»,", "std::size_t{64}"),
    ("4-7", *_OTHER_ROW),
    ("4-8", _MODEL, "const Tensor z_prime = «post_norm» ?", "!post_norm"),
    ("4-9", _COMPOSED, "const Tensor sigma2 = var(x, axes, «0», true);\n  Tensor y = (x - mu) / sqrt(sigma2 + static_cast<real>(eps));\n  if (weight) y = y * weight;", "1"),
    ("4-9", *_OVER_ALL_TOKENS),
    ("4-10", *_ONE_HEAD),
    ("4-11", *_GELU, "for (std::size_t i = 0; i < y.size(); ++i) { const real v = x.value().data()[i]; y.data()[i] = v > 0 ? v : real(0); }"),
    ("4-12", _MODEL, "tanh(under(\"pre_logits\", pre_logits, y))", "relu(under(\"pre_logits\", pre_logits, y))"),
    ("4-13", "vit/weights/weights.cpp", "replace(weights.tensors, stored_zeros(\"head.weight\", {classes, entering}));", ";"),
    ("4-13", "vit/weights/weights.cpp", "replace(weights.tensors, resize_positions(*positions, from, to, how));", ";"),
    ("4-14", "datasets/augment.cpp", "static_cast<std::size_t>(«draw.below(places, 1)»)", "1"),
    ("4-14", "datasets/augment.cpp", "rng.fork(\"flip\").uniform(0) < options.flip", "false"),
    ("4-14", "datasets/augment_ops.cpp", ".filter = «Filter::bilinear»,", "Filter::bicubic"),
    ("4-15", _MODEL, "c.projection_dropout.value_or(c.dropout)", "0.0"),
    ("4-15", _MODEL, "pos_drop{c.embedding_dropout.value_or(«c.dropout»)}", "0"),
    ("4-15", _MODEL, "mlp(c.D, c.M, rng, «c.mlp_dropout.value_or(c.dropout)»", "0.0"),
    ("4-16", "datasets/formats/cifar.cpp", "const std::size_t kept = «data.classes == 100 ? 1 : 0»;", "0"),
    ("4-17", _RECIPES, ('"patience": 5', '"weight_decay": 0.1'), '"weight_decay": 0.03'),
    ("4-18", _RECIPES, ('"epochs": 20, "batch_size": 64, "optimizer": "sgd"', '"momentum": 0.9'), '"momentum": 0.5'),
    ("4-18", *_TABLE_4),
    ("4-20", _WEIGHTS, "centred[d * n + i] -= mean;", ";"),
    ("4-21", _WEIGHTS, "unit[i * D + j] /= std::sqrt(square);", "unit[i * D + j] /= square;"),
    ("4-22", _ATTENTION, "r.distance / r.weight / patch_rows", "r.distance / patch_rows"),
    ("4-23", _MODEL, "const bool cut = «images.rank() == 3»;", "false"),
    ("4-24", _MODULES, "Tensor v = linear(images_first(value), «W[2]», b[2]);", "W[2] * real(2)"),
    ("4-24", _MODULES, "result.weights = «a.probs»;", "drops ? vitruvian::dropout(a.probs, dropout, stream) : a.probs"),
    ("4-25", *_AFTER_DROPOUT),
    ("4-26", _CONFIG, "const std::uint64_t norms = «4 * d» +", "2 * d"),
    ("B1", *_SCALE),
    ("B2", *_NO_U_MSA),
    ("B4", _HEADER, "return «(mean_pooling ? 0U : 1U)» + (distilled ? 1U : 0U);", "0"),
    ("B5", *_OF_ONE_IMAGE),
    ("B6", _INIT, _JAX_POSITIONS, "init::constant(x.p.tensor, 1);"),
    ("B7", *_AFTER_DROPOUT),
    ("B8", *_DENSITY),
    ("B9", _MODEL, "{.tanh = «c.gelu_tanh»}", "!c.gelu_tanh"),
    ("B9", _HEADER, "bool gelu_tanh = «false»;", "true"),
    ("B10", _HEADER, "double eps = «1e-6»;", "1e-5"),
    ("B10", "nn/layers.hpp", "double epsilon = «1e-6»", "1e-5"),
    ("B10", _MODEL, "norm1({c.D}, «c.eps»)", "1e-6"),
    ("B11", _HEADER, "bool qkv_bias = «true»;", "false"),
    ("B11", _MODEL, ".qkv_bias = «c.qkv_bias»,", "true"),
    ("B11", _MODEL, ".proj_bias = «c.proj_bias»,", "true"),
    ("B12", _MODEL, "return «config.norm_after_pooling» ? under", "!config.norm_after_pooling"),
    ("B13", _MODEL, "return «under(\"norm\", norm, config.distilled ? slice(z, 1, 0, 2) : select(z, 1, 0))»;", "select(z, 1, 0)"),
    ("B14", _MODEL, "c.embedding_dropout.value_or(«c.dropout»)", "0"),
    ("B14", _MODEL, ".attn_drop = «c.attention_dropout»,", "0.0"),
    ("B15", _MODEL, ".attn_drop = «c.attention_dropout»,", "c.dropout"),
    ("B15", _HEADER, "double attention_dropout = «0»;", "0.1"),
    ("B16", *_STEP_TO_THE_RIGHT),
    ("B17", _MODEL, "«images.shape() != Shape{B, config.C, config.H, config.W}» &&", "false"),
    ("B18", *_CLASS_TOKEN_LAST),
    ("B19", *_OVER_ALL_TOKENS),
    ("B20", *_SCALE),
    ("B20", _COMPOSED, "return {q, k, v, scores, probs, «matmul(kept, v)»};", "v"),
    ("B21", "nn/torch/mlp.hpp", "Activation activation = «Activation::relu»;", "Activation::gelu"),
    ("B21", _LAYERS, "return «linear_gelu(u, fc1.weight, fc1.bias)»;", "relu(linear(u, fc1.weight, fc1.bias))"),
    ("B22", "nn/torch/multihead_attention.hpp", "bool batch_first = «false»;", "true"),
    ("B22", _MODULES, "return «batch_first ? x : transpose(x, 0, 1)»;", "!batch_first ? x : transpose(x, 0, 1)"),
    ("B23", _MODEL, "if («c.head == Head::tanh») pre_logits", "false"),
    ("B23", _HEADER, "Head head = «Head::linear»;", "Head::tanh"),
    ("B24", *_TABLE_3),
    ("B25", "nn/optim.cpp", "«adam_step(p, gradient_of(p), moments(p), rate_of(i, lr), decay, options_.beta1, options_.beta2,\n              options_.eps)»;",
     "adam_step(p, decayed_gradient(p, decay), moments(p), lr, 0, options_.beta1, options_.beta2, options_.eps)"),
    ("B26", _INIT, "x.p.role == Role::token) {\n    init::truncated_normal(x.p.tensor, x.stream, «0.02»);", "1"),
    ("B26", _INIT, _JAX_POSITIONS, "init::normal(x.p.tensor, x.stream, 1);"),
    ("B27", _HEADER, "std::size_t grid_height() const { return «H» / patch_height(); }", "W"),
    ("B27", _HEADER, "std::size_t D_h() const { return D / «h»; }", "H"),
    ("B28", _CONFIG, "if_any(head != Head::none, heads * («d * K + K»))", "d * K"),
    ("B30", _LAYERS, "return reshape(«transpose(by_head, 2, 3)», {B, T, 3 * D});", "by_head"),
    ("B31", _CONFIG, "if («H % patch_height() != 0 || W % patch_width() != 0») {", "false"),
    ("B32", *_OTHER_ROW),
    ("B33", _MODEL, "return «under(\"head\", head, hidden)»;", "softmax(under(\"head\", head, hidden))"),
    ("C1", _CONFIG, "4 * d * d + mlp) + «2 * t * t * d») + macs_of", "t * t * d"),
    ("C1", _CONFIG, "const std::uint64_t norms = «4 * d» +", "2 * d"),
    ("C2", "vit/weights/naming_table.cpp", "return permuted(t, {3, 2, 0, 1});", "return permuted(t, {3, 2, 1, 0});"),
    ("C2", _MODEL, "visitor.child(\"norm1\", norm1);", "visitor.child(\"ln_1\", norm1);"),
    ("C3", _INIT, "{x.c.D, «3 * x.c.D»}", "x.c.D"),
    ("C3", _INIT, "init::xavier_uniform(x.p.tensor, x.stream, {x.c.D, «x.c.D»});", "3 * x.c.D"),
    ("C3", _INIT, "«init::kaiming_uniform(x.p.tensor, x.stream, std::sqrt(5.0))»;  // PyTorch's own, and", "init::lecun_normal(x.p.tensor, x.stream)"),
    ("C3", _INIT, "x.p.role == Role::token) {\n    init::truncated_normal(x.p.tensor, x.stream, «0.02»);", "0.2"),
    ("C4", *_DENSITY),
    ("C4", _NORM, "kernels::layer_norm(data_of(x), data_of(weight), data_of(bias), «eps», y.data()", "eps * 2"),
    ("C5", _LAYERS, "heads_output = self_attention(«qkv_x», heads, options, rows);",
     "[&] { const std::size_t w = proj.in(); const std::vector<Tensor> s = split(qkv_x, {w, w, w}, 2); return concat({s[0], s[2], s[1]}, 2); }()"),
    ("C5", "vit/positions.cpp", "if (!rows) return «z»;", "z + Tensor(array({1, z.size(1), z.size(2)}, sincos_waves(z.size(1), z.size(2))))"),
    ("C5", _CONFIG, "(3 * d * d + if_any(qkv_bias, 3 * d))", "(3 * d * h + if_any(qkv_bias, 3 * d))"),
    ("C5", _MODEL, "conv2d(images, weight, «bias», {P, P_w})", "Tensor()"),
    ("C5", _MODEL, "return «config.norm_after_pooling» ? under", "!config.norm_after_pooling"),
    ("C6", _MODEL, "c.projection_dropout.value_or(c.dropout)", "c.attention_dropout"),
    ("C6", "vit/weights/pos_resize.cpp", "interpolated({Filter::bicubic, false}, from, to)", "interpolated({Filter::bicubic, true}, from, to)"),
    ("C6", "vit/weights/pos_resize.cpp", "interpolated({Filter::bicubic, true}, from, to)", "interpolated({Filter::bicubic, false}, from, to)"),
    ("C6", "vit/weights/pos_resize.cpp", "interpolated({Filter::bilinear, true}, from, to)", "interpolated({Filter::bilinear, false}, from, to)"),
    ("C6", "vit/weights/pos_resize.cpp", "antialiased(Filter::bicubic, from, to, 0, to)", "interpolated({Filter::bicubic, false}, from, to)"),
    ("C7", *_TABLE_3),
    ("C7", *_TABLE_4),
    ("C7", _ATTENTION, "const Tensor M = «mean(Tensor(A), {1}) + Tensor(I)»;", "mean(Tensor(A), {1})"),
    ("C7", _WEIGHTS, "centred[d * n + i] -= mean;", ";"),
    ("C7", _WEIGHTS, "unit[i * D + j] /= std::sqrt(square);", "unit[i * D + j] /= square;"),
    ("C7", _ATTENTION, "r.distance / r.weight / patch_rows", "r.distance / patch_rows"),
]
