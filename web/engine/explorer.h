#pragma once

#include <stddef.h>

// The library as a page in a browser sees it: one model, one picture of 28 x 28 bytes, and what
// flows through. Every call answers with JSON that is valid until the next call: what it is asked
// for, or {"error": "a sentence"}. Numbers are not copied: a tensor is {"name", "symbols", "shape",
// "at"}, where "at" is the address of its float32 numbers, row-major, and "gradient" that of the
// derivatives by them; both hold until the same function is called again. One thread.

#ifdef __EMSCRIPTEN__
#include <emscripten.h>
#define EXPLORER EMSCRIPTEN_KEEPALIVE
#else
#define EXPLORER
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// A trained model from a safetensors file of this project, in memory.
/// {"config", "mean", "std", "count", "step", "parameters": [tensor], "similarity": tensor}:
/// similarity (gh, gw, gh, gw) are the cosines of the position embeddings (Figure 7).
EXPLORER const char* explorer_open(const unsigned char* safetensors, size_t bytes);
/// A model to train, its parameters drawn by the seed; answers the same. `settings`:
/// {"P", "D", "L", "h", "M", "dropout", "seed", "images", "batch", "optimizer": "adamw", "adam" or
/// "sgd", "learning_rate", "weight_decay", "warmup"}; what is left out has a default.
EXPLORER const char* explorer_create(const char* settings);
/// The same of the model as it is now.
EXPLORER const char* explorer_weights(void);

/// The address of the 28 x 28 bytes that are read next: 0 paper, 255 ink.
EXPLORER unsigned char* explorer_pixels(void);
/// Inks strokes: {"strokes": [[[x, y], ...], ...], "pen": radius, "centred": true}, in parts of the
/// pad's side, y down. Centred means sized to 20 x 20 and moved to the centre of mass, as MNIST's
/// digits are. {"pixels", "uncentred": addresses of 28 x 28 bytes, "empty", "scale", "shift":
/// [right, down]}.
EXPLORER const char* explorer_draw(const char* request);
/// A sample: {"kind": "digit", "thick", "thin", "shifted", "letter" or "noise", "seed", "index"}.
/// {"pixels", "label": the digit, or null}.
EXPLORER const char* explorer_sample(const char* request);

/// Reads the picture, in the textbook form, which has every intermediate. {"tensors": [tensor],
/// "probabilities": tensor (K), "guess", "lens": tensor (L + 1, K), "rollout": tensor (gh, gw)}.
EXPLORER const char* explorer_forward(void);
/// The derivatives of the loss, with `label` for the right answer, by everything. {"loss",
/// "tensors", "parameters": [tensor with "gradient"], "walk": [{"name", "op", "norm"}] in the order
/// in which cotangents are complete, "saliency": tensor (H, W), "gradient_rollout": tensor (gh,
/// gw)}.
EXPLORER const char* explorer_backward(size_t label);
/// From now on a rule is wrong: {"op", "kind": "flip_sign", "drop_cotangent", "skip_accumulation"
/// or "forget_unbroadcast", "input"}; {} mends it. {"ops": [{"op", "inputs"}] that can be broken}.
EXPLORER const char* explorer_fault(const char* request);
/// The gradient of one parameter against numerical differences, both in float64, on the picture
/// that is there: {"parameter": its name, "label", "entries", "seed"}. {"name", "passed",
/// "relative_error", "tolerance", "index", "analytic", "numeric", "checked"}.
EXPLORER const char* explorer_check(const char* request);

/// Trains so many steps, each on the next batch of the digits. {"step", "images", "losses",
/// "correct": [of each step], "learning_rate", "grad_norm", "batch", "effect": {"before", "after",
/// "promised"}, "changes": [{"name", "value", "gradient", "update"}]}. Of the last step: how many
/// images it looked at; the loss of these very images before it and after it, dropout silencing the
/// same units; what the gradient promised of the difference, the sum of update * gradient over all
/// numbers that learn (of SGD without momentum, -lr |gradient|^2); and root mean squares. Where
/// explorer_fault broke a rule, that rule is what it learns by.
EXPLORER const char* explorer_train(size_t steps);
/// Trains one step on the picture that is there, with `label` for the right answer: a batch of one.
/// Answers as explorer_train(1) does. The step counts as one, for the warm-up and the optimizer's
/// moments, and the picture as one more image; but it takes no turn in the epochs: the batches that
/// explorer_train takes, and what their dropout draws, are those it would have taken without it.
EXPLORER const char* explorer_learn(size_t label);
/// How well the model reads so many of the held-out digits: {"loss", "accuracy", "images"}.
EXPLORER const char* explorer_score(size_t images);

#ifdef __cplusplus
}
#endif
