# shellcheck shell=sh
# Sourced: a fresh Debian 12 in a folder below TMPDIR, for tests that must take no package for
# granted. Needs root and debootstrap.
#   make_bare_root PACKAGES     sets `root`; PACKAGES with commas, beside the least of a Debian
#   mount_bare_root             for what runs by in_bare_root
#   in_bare_root COMMAND        a command of a shell, in a clean environment
# The folder goes when the script ends.

[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 2; }
command -v debootstrap >/dev/null || { echo "$0: needs the package debootstrap" >&2; exit 2; }

remove_bare_root() {
  for mount in dev/shm dev/pts dev proc sys; do umount -l "$root/$mount" 2>/dev/null || true; done
  rm -rf --one-file-system "$root"
}

make_bare_root() {
  root=$(mktemp -d "${TMPDIR:-/tmp}/starling-bare-XXXXXX")
  trap remove_bare_root EXIT
  trap 'exit 130' INT TERM
  chmod 755 "$root"
  mirror=$(sed -n 's/^deb [^h]*\(http[^ ]*\).*/\1/p; s/^URIs: *\([^ ]*\).*/\1/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
  debootstrap --variant=minbase --include="$1" bookworm "$root" ${mirror:+"$mirror"}
  # The package sources and proxies of this machine, for they are what reaches Debian here.
  for path in sources.list sources.list.d apt.conf.d auth.conf.d trusted.gpg.d; do
    [ -e "/etc/apt/$path" ] || continue
    rm -rf "$root/etc/apt/$path"
    cp -aL "/etc/apt/$path" "$root/etc/apt/"
  done
  [ ! -d /usr/share/keyrings ] || cp -aL /usr/share/keyrings/. "$root/usr/share/keyrings/"
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
}

mount_bare_root() {
  for mount in proc sys dev; do
    mount --rbind "/$mount" "$root/$mount"
    mount --make-rslave "$root/$mount"
  done
}

in_bare_root() {
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} sh -c "$1"
}
