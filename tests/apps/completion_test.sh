#!/usr/bin/env bash
# `vitruvian completion` in the shells that are here, and `vitruvian man`: every flag that --help tells is in both.
# Usage: completion_test.sh PATH/TO/vitruvian
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"

for shell in bash zsh fish; do
  works "made by 'vitruvian completion $shell'" completion $shell
  cp out vitruvian.$shell
done
works "^.TH VITRUVIAN 1" man
cp out vitruvian.1
has vitruvian.1 '\\-\\-val\\-fraction' # "-" alone is a hyphen to groff, which nobody finds or copies
expect 2 "there is no shell 'csh'; did you mean zsh?" completion csh
expect 2 "SHELL" completion

# What bash offers for the last word of a line.
offered() { # offered WORD...
  (
    # shellcheck disable=SC1091
    source ./vitruvian.bash
    # shellcheck disable=SC2034
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _vitruvian
    printf '%s\n' "${COMPREPLY[@]}"
  )
}
is() { # is "WORDS" WORD...: offers just these
  local expected=$1
  shift
  check "$* completes to: $expected" test "$(offered vitruvian "$@" | paste -sd ' ')" = "$expected"
}
is "train trace" tr
is "fetch" data fe
is "preview" data p
is "mnist" data info mni
is "cifar10 cifar100 cifar100-coarse" train --dataset cifar
is "cifar10 cifar100 cifar100-coarse" train --dataset = cifar
is "muon" train --seed 3 --optimizer m
is "learned learned_2d" train --positions le
is "float" predict --precision fl
is "hf" convert --from x --scheme h
is "dino_s8" weights fetch dino_s8
is "mini_vit" trace --model mi
is "bash" completion ba
is "--val-fraction" train --val
is "--teacher" train --teach
is "--version" --v
is "" train --epochs ""
is "" train --data ""
is "" predict --dataset
is "" no-such --x
is "--teacher" train --profile --teach
check "recipes" test "$(offered vitruvian train --recipe "" | wc -l)" -gt 5
same_words() { diff <(sort -u "$1") <(sort -u "$2"); }

# The flags of each command, as --help has them.
count=0
while read -r path; do
  # shellcheck disable=SC2086 # several words
  "$vitruvian" $path --help >help
  sed -nE 's/^  (-[-a-z0-9,]+).*/\1/p' help | tr , '\n' >flags
  check "there are flags of '$path'" test -s flags
  check "the help of '$path' is 80 columns wide: $(awk 'length > 80' help)" test "$(wc -L <help)" -le 80
  check "it says what a reader knows, not what CLI11 does" not grep -E '\{false\}|\(1x\)|UINT|NONNEGATIVE' help
  count=$((count + $(wc -l <flags)))
  # shellcheck disable=SC2086
  offered vitruvian $path - >offered.flags
  check "bash offers the flags of '$path'" same_words flags offered.flags
  name="vitruvian${path:+ $path}"
  begin="^[.]SS $name\$"
  [ -n "$path" ] || begin='^[.]SH OPTIONS$'
  awk -v begin="$begin" '/^\.S[SH] / {on = $0 ~ begin} on' vitruvian.1 | sed 's/\\-/-/g' |
    grep -oE '\\fB-[-a-z0-9]+\\fR' | sed -E 's/\\f[BR]//g' >manual.flags
  check "the manual has the flags of '$path'" same_words flags manual.flags
  sed -E 's/^--?//' flags | while read -r flag; do
    grep -qE -- "'-?-$flag(=|\[)" vitruvian.zsh || echo "zsh $flag"
    grep -qE -- "-[ls] $flag( |\$)" vitruvian.fish || echo "fish $flag"
  done >missing
  check "zsh and fish know the flags of '$path'" test ! -s missing
done < <(
  echo
  "$vitruvian" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p' | grep -v '^$' | while read -r command; do
    echo "$command"
    "$vitruvian" "$command" --help | sed -n '/^Subcommands:/,$s/^  \([a-z]*\) .*/\1/p' | sed "/^\$/d; s/^/$command /"
  done
)
check "there are many flags: $count" test $count -gt 150

# As a person types it, in a terminal, in a folder with a name that would do harm if it were evaluated.
if python3 -c 'import pty' 2>/dev/null; then
  mkdir typed && touch 'typed/$(touch owned)x.png' "typed/plain file.png"
  cat >type.py <<'PY'
import os, pty, select, sys, time

def typed(text):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ.update(PS1="> ", TERM="dumb", INPUTRC="/dev/null")
        os.chdir("typed")
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    os.write(terminal, b"source ../vitruvian.bash; echo rea''dy\r")
    seen, end, sent = b"", time.time() + 20, False
    while time.time() < end:
        if not select.select([terminal], [], [], 1 if sent else 20)[0]:
            break
        seen += os.read(terminal, 4096)
        if not sent and b"ready" in seen and seen.endswith(b"> "):
            os.write(terminal, text.encode())
            sent, seen = True, b""
    os.close(terminal)
    os.waitpid(pid, 0)
    return seen.decode(errors="replace")

for text in sys.argv[1:]:
    print(typed(text.replace("TAB", "\t")))
PY
  python3 type.py "vitruvian traiTAB" "vitruvian convert --scheme torTAB" "vitruvian predict --labels plaTAB" \
    'vitruvian predict \$TAB' >typed.out 2>err
  has typed.out "vitruvian train " "--scheme torchvision " "plain\\\\ file.png " 'touch.*owned.*x.png'
  check "no name was evaluated" test ! -e typed/owned -a ! -e owned
fi

# What else reads them.
if command -v zsh >/dev/null; then check "zsh reads it" zsh -n vitruvian.zsh; fi
if command -v fish >/dev/null; then
  fish_offers() { fish --no-config -c "source vitruvian.fish; complete -C '$2'" 2>err | cut -f1 | grep -qx -- "$1"; }
  check "fish offers a command" fish_offers train "vitruvian tr"
  check "fish offers a flag" fish_offers --dataset "vitruvian train --datas"
  check "fish offers a value" fish_offers cifar100 "vitruvian train --dataset cif"
  check "fish offers a command's command" fish_offers fetch "vitruvian data f"
fi
if command -v groff >/dev/null; then
  groff -ww -man -Tascii -P-c -P-b -P-o -P-u vitruvian.1 >manual 2>err
  check "roff has no complaint" test ! -s err
  has manual "^NAME" "a Vision Transformer drawn from first principles" "^EXIT STATUS" "learned_2d"
fi
if command -v mandoc >/dev/null; then check "mandoc reads it" mandoc -T lint -W error vitruvian.1; fi
finish
