#!/usr/bin/env bash
# The container recipe of docs/cluster.md, without an engine for containers: its lines are run in a
# Debian that debootstrap makes, and two ranks train in it. Usage: container_test.sh SOURCES
# As root, with debootstrap, and Debian's packages within reach. CONTAINER keeps the folder.
sources=$(realpath "$1")
page=$sources/docs/cluster.md
skip() {
  echo "skipped: $*"
  exit 77
}
[ -n "${VITRUVIAN_SLOW-}" ] || skip "VITRUVIAN_SLOW is not set"
[ "$(id -u)" -eq 0 ] || skip "only root may chroot"
command -v debootstrap >/dev/null || skip "there is no debootstrap"
# shellcheck disable=SC2016
recipe=$(sed -n '/^```dockerfile$/,/^```$/p' "$page" | sed '/^```/d' | sed -e ':a' -e '/\\$/N; s/\\\n//; ta')
[ "$(grep -c '^RUN ' <<<"$recipe")" -ge 2 ] || { echo "FAIL docs/cluster.md has no recipe: $recipe" && exit 1; }
root=${CONTAINER-$(mktemp -d)}
leave() {
  umount "$root/proc" 2>/dev/null
  if [ -z "${CONTAINER-}" ]; then rm -rf --one-file-system "$root"; fi
}
trap leave EXIT
if [ ! -e "$root/etc/debian_version" ]; then
  release=$(sed -n 's/^FROM debian://p' <<<"$recipe")
  [ "$release" = 12 ] || { echo "FAIL which Debian is $release?" && exit 1; }
  debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || skip "no Debian: $(tail -n 3 "$root.log")"
fi
cp /etc/resolv.conf "$root/etc/" # as an engine does
mount -t proc proc "$root/proc"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive \
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$1"; }
while read -r word line; do
  case $word in
    FROM) ;;
    COPY)
      mkdir -p "$root/${line#. }"
      git -C "$sources" archive HEAD | tar -x -C "$root/${line#. }" || exit 1
      ;;
    RUN)
      echo "RUN $line"
      inside "$line" >"$root/log" 2>&1 || { echo "FAIL it ended with $?: $(tail -n 20 "$root/log")" && exit 1; }
      ;;
    "") ;;
    *) echo "FAIL what is $word?" && exit 1 ;;
  esac
done <<<"$recipe"
small="--train-size 100 --epochs 2 --overwrite"
for precision in float double; do
  inside "cd /tmp && vitruvian train $small --precision $precision --out alone &&
    mpirun --oversubscribe -n 2 vitruvian train $small --precision $precision --out two &&
    cmp alone/model.safetensors two/model.safetensors" || { echo "FAIL no two ranks in $precision precision" && exit 1; }
done
inside "cd /tmp && mpirun --oversubscribe -n 2 vitruvian train $small --out two" | grep -q '^ranks *2' || {
  echo "FAIL mpirun started no ranks" && exit 1
}
echo "the recipe's $(grep -c '^RUN ' <<<"$recipe") lines, and two ranks: the bytes of one"
