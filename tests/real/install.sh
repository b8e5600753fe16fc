#!/usr/bin/env bash
# Installs the servers that the tests of this folder start, where they are missing. Debian, as root; npm for three of them.
# The tests start and stop every server themselves, on free ports of the loopback and in temporary folders.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

missing=()
[ -x /usr/lib/postgresql/15/bin/postgres ] || missing+=(postgresql-15)
[ -x /usr/sbin/slapd ] || missing+=(slapd ldap-utils)
command -v prometheus > /dev/null || missing+=(prometheus)
[ -x /usr/sbin/mariadbd ] || missing+=(mariadb-server)
command -v redis-server > /dev/null || missing+=(redis-server)
command -v etcd > /dev/null || missing+=(etcd-server)
command -v java > /dev/null || missing+=(default-jre-headless)  # WireMock runs on it
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  # No server of a package starts by itself: the tests do that.
  guard=/usr/sbin/policy-rc.d
  if [ ! -e "$guard" ]; then
    printf '#!/bin/sh\nexit 101\n' > "$guard"
    chmod +x "$guard"
    trap 'rm -f "$guard"' EXIT
  fi
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
fi

# Node packages, beside the tests and ignored by git.
if command -v npm > /dev/null && [ -f "$here/package.json" ] && [ ! -d "$here/node_modules" ]; then
  npm install --silent --no-fund --no-audit --prefix "$here"
fi
