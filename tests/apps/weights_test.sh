#!/usr/bin/env bash
# `vitruvian weights` against a server on loopback that has made-up models under the published names.
# Usage: weights_test.sh PATH/TO/vitruvian
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"

# What needs no network.
works "^torchvision_b16 " weights list
check "at least eight models" test "$(grep -c ' MB ' out)" -ge 8
check "80 columns" test "$(wc -L <out)" -le 80
works "SHA-256 +begins with c867db91" weights info torchvision_b16
has out "^source .*github.com/pytorch/vision" "^licence +BSD-3" "mean 0.485" "parameters     86567656" \
  "predict --weights weights/torchvision_b16/vit_b_16-c867db91.pth --labels weights/torchvision_b16/imagenet-1k.txt IMAGE"
works "is not published" weights info dino_s8
has out "P 8, D 384, L 12, h 6, features" "inspect --weights .*--mean 0.485,0.456,0.406 --std .*bicubic"
expect 2 "no published model 'dino_s7'; did you mean dino_s" weights info dino_s7
expect 2 "which weights. .vitruvian weights list. names them" weights fetch
expect 2 "no http" weights fetch dino_s16 --mirror ftp://h/

ti=Ti_16-i21k-300ep-lr_0.001-aug_none-wd_0.03-do_0.0-sd_0.0--imagenet2012-steps_20k-lr_0.03-res_224.npz
serve_made_up_models

"$vitruvian" weights fetch vit_ti16 --mirror "$server/good" >out 2>err
grep -qE "made without (libcurl|OpenSSL)|without libzip" err && skip "$(cat err)"
check "a model comes, and is looked at" cmp weights/vit_ti16/$ti served/$ti
has out "its SHA-256 is $(sha256sum served/$ti | cut -d' ' -f1)$" \
  "^vitruvian predict --weights weights/vit_ti16/$ti --labels weights/vit_ti16/imagenet-1k.txt IMAGE"
check "the names of 1000 classes" test "$(wc -l <weights/vit_ti16/imagenet-1k.txt)" = 1000
works "is there; no sum" weights fetch vit_ti16 --mirror "$server/missing"

# The commands that it prints.
ppm picture.ppm 60 200 40 20
works "^  +[0-9.]+ % +[0-9]+  [a-z]" predict --weights weights/vit_ti16 --labels weights/vit_ti16/imagenet-1k.txt picture.ppm

# A file whose sum is published, and wrong: DeiT's name says so.
expect 3 "expected SHA-256 a1311bcf, found" weights fetch deit_ti16 --mirror "$server/good"
check "nothing of it is left" test ! -e weights/deit_ti16/deit_tiny_patch16_224-a1311bcf.pth
expect 3 "expected SHA-256 a1311bcf, found" weights fetch deit_ti16 --from-file served

# Cut and damaged on the way, from a file, and another model under the name.
expect 0 "" weights fetch dino_s16 --mirror "$server/cut" --into there
check "what is cut is continued" cmp there/dino_s16/dino_deitsmall16_pretrain.pth served/dino_deitsmall16_pretrain.pth
check "no names where there are no classes" test ! -e there/dino_s16/imagenet-1k.txt
expect 0 "" weights fetch dino_s16 --from-file served/dino_deitsmall16_pretrain.pth --into usb
check "from a file" cmp usb/dino_s16/dino_deitsmall16_pretrain.pth served/dino_deitsmall16_pretrain.pth
expect 4 "holds a ViT of .* D 192, .* but dino_s16 is one of .* D 384" \
  weights fetch dino_s16 --from-file served/deit_tiny_patch16_224-a1311bcf.pth --into other
check "nothing is copied" test ! -e other
cp served/deit_tiny_patch16_224-a1311bcf.pth served/dino_vitbase16_pretrain.pth
expect 4 "but dino_b16 is one of .* D 768" weights fetch dino_b16 --mirror "$server/good" --into other
check "what is another model is taken away" test ! -e other/dino_b16/dino_vitbase16_pretrain.pth
expect 3 "put dino_deitsmall8_pretrain.pth into other/dino_s8" \
  weights fetch dino_s8 --mirror "$server/missing" --into other
exec 9>&-
finish
