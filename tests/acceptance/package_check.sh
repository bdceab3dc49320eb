#!/bin/sh
# In a bare Debian with old.deb and new.deb beside this file: installs, uses, upgrades and purges
# the package. tests/bare_package runs it. What needs a running systemd is left out without one.
set -eu
cd "$(dirname "$0")"

say() { echo "-- $*"; }
fail() {
  echo "FAIL: $*" >&2
  exit 1
}
booted() { [ -d /run/systemd/system ]; }
install() {
  apt-get -qq install -y --no-install-recommends --reinstall --allow-downgrades \
    -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-confold "./$1" >apt-log 2>&1 ||
    fail "$(cat apt-log)"
}
# Until `$@` succeeds, for 30 s.
eventually() {
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || fail "never true: $*"
    sleep 0.1
  done
}
files() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp \
    -o -path /root -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/systemd \
    -o -path /var/cache -o -path /var/log -o -path /var/tmp \) -prune -o -print | sort
}
main_process() { systemctl show -p MainPID --value "$1"; }

# Packages that it depends on stay after a purge; they are not what is looked for.
install old.deb
dpkg --purge starling >/dev/null
files >before
getent passwd >users-before

say "install"
install old.deb
starling --version
starling up -n 2 --stop.rounds=20 --cluster.preset=local --output /tmp/model >/tmp/up
tail -n 1 /tmp/up
for page in starling starling-run starling.ini; do
  man -w "$page" >/dev/null || fail "man $page"
done
man starling.ini | grep -q topology || fail "starling.ini says nothing of topology"
python3 -c 'import starling; print("python", starling.__version__, starling.__file__)'
completed=$(bash -c '. /usr/share/bash-completion/bash_completion; _completion_loader starling
  COMP_WORDS=(starling run --topology.kind = rand) COMP_CWORD=4; _starling; echo "${COMPREPLY[*]}"')
[ "$completed" = "random random-regular" ] || fail "completed: $completed"

if booted; then
  say "nothing runs unasked"
  [ "$(systemctl is-active starling)" = inactive ] || fail "it runs after the installation"
  [ "$(systemctl is-enabled starling)" = disabled ] || fail "it is enabled after the installation"

  say "a service"
  systemctl enable --now starling
  eventually sh -c 'systemctl show -p StatusText starling | grep -q round'
  systemctl show -p ActiveState,StatusText,User starling
  starling status | head -n 2
  [ "$(stat -c %u "/proc/$(main_process starling)")" -ge 61184 ] || fail "it has no dynamic account"
  [ -d /var/lib/private/starling ] || fail "there is no state folder"

  say "a second node of this machine"
  printf '[listen]\ncontrol = 127.0.0.1:7610\nhttp = 127.0.0.1:7690\n[cluster]\njoin = %s\n' \
    127.0.0.1:7600 >/etc/starling/b.ini
  systemctl start starling@b
  eventually sh -c 'test "$(starling members | grep -c 127.0.0.1)" = 2'
  systemctl stop starling@b
  rm /etc/starling/b.ini

  say "a loop that stands still is ended by the watchdog"
  mkdir -p /run/systemd/system/starling.service.d
  printf '[Service]\nWatchdogSec=2s\nRestartSec=100ms\nWatchdogSignal=SIGKILL\n' \
    >/run/systemd/system/starling.service.d/watchdog.conf
  systemctl daemon-reload
  systemctl restart starling
  kill -STOP "$(main_process starling)"
  eventually sh -c 'test "$(systemctl show -p NRestarts --value starling)" -ge 1'
  eventually systemctl -q is-active starling
  rm -r /run/systemd/system/starling.service.d
  systemctl daemon-reload
  before_upgrade=$(main_process starling)
fi

say "upgrade over an edited configuration"
echo '# An edit of the user.' >>/etc/starling/node.ini
install new.deb
dpkg-query -W -f '${Package} ${Version}\n' starling
grep -q 'An edit of the user' /etc/starling/node.ini || fail "the edit is lost"
grep -q 'A line of the newer version' /etc/starling/node.ini.dpkg-dist || fail "no newer one beside"
if booted; then
  eventually systemctl -q is-active starling
  [ "$(main_process starling)" != "$before_upgrade" ] || fail "the old program still runs"
fi

say "remove"
dpkg --remove starling >/dev/null
[ ! -e /usr/bin/starling ] || fail "the program is still there"
[ -e /etc/starling/node.ini ] || fail "a removal took the configuration"
if booted; then
  [ -z "$(pgrep -x starling || true)" ] || fail "it still runs"
  [ -d /var/lib/private/starling ] || fail "a removal took the state"
fi

say "purge"
dpkg --purge starling >/dev/null
files >after
getent passwd >users-after
diff before after || fail "files are left"
diff users-before users-after || fail "users are left"
say "nothing is left"
