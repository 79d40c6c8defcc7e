#!/usr/bin/env bash
# npm asks to approve the `prepare` script of a package that is installed from its tarball, and never runs it, approved or not.
#
# Packages   npm 11.19.1 and axios 1.7.9, from npm.
# Guess      A package that asks for nothing when it is installed from the registry asks for nothing when the same file is installed from
#            disk. What a user approves is run, and the approval in package.json is good on every machine.
# Behaviour  The published package.json of axios has `prepare`, as many have. Installed from the registry, npm lists no script. Installed
#            from the same tarball on disk, npm warns that `prepare` is "not yet covered by allowScripts". After `npm install-scripts
#            approve axios`, an installation does not run it either: it would fail, because its program is not in the package. The approval in
#            package.json names the absolute path of the tarball, so that it is none in another folder.
# Instead    Publish a package.json without `prepare` and other scripts of the repository. Users who try a packed file before its release, or
#            get it from a build, are then asked nothing.
# Output
#   > from the registry: no script is listed
#   > from the tarball: axios@1.7.9 (prepare: husky install && npm run prepare:hooks)
#   > approved, installed again: the script did not run
#   > the approval in package.json: an absolute path
#   > the same project in another folder, installed: axios@1.7.9 (prepare: husky install && npm run prepare:hooks)
set -euo pipefail
script=$(realpath "$0")
folder=$(realpath "$(mktemp -d)")
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir tool registry tarball
(cd tool && npm init --yes && npm install --no-audit --no-fund --ignore-scripts npm@11.19.1) >npm.log 2>&1 || { cat npm.log; exit 1; }
npm11="$folder/tool/node_modules/.bin/npm"
options=(--no-audit --no-fund)
# The packages whose scripts npm lists as not approved.
listed() { sed -n 's/^npm warn install-scripts   //p'; }
# What the script would leave: it calls a program that is not installed, so that npm would fail.
program=husky

{
  cd "$folder/registry"
  "$npm11" init --yes >/dev/null 2>&1
  found=$("$npm11" install "${options[@]}" axios@1.7.9 2>&1 | listed)
  grep -q '"prepare"' node_modules/axios/package.json
  echo "from the registry: ${found:-no script is listed}"

  cd "$folder/tarball"
  "$npm11" init --yes >/dev/null 2>&1
  "$npm11" pack --silent axios@1.7.9 >/dev/null 2>&1
  echo "from the tarball: $("$npm11" install "${options[@]}" ./axios-1.7.9.tgz 2>&1 | listed)"

  "$npm11" install-scripts approve axios >/dev/null 2>&1
  rm -r node_modules package-lock.json
  if "$npm11" install "${options[@]}" >/dev/null 2>&1 && [ ! -e "node_modules/.bin/$program" ]; then
    echo "approved, installed again: the script did not run"
  else
    echo "approved, installed again: the script ran"
  fi

  if grep -q "\"file:$PWD/axios-1.7.9.tgz\": true" package.json; then
    echo "the approval in package.json: an absolute path"
  else
    echo "the approval in package.json: something else"
  fi

  mkdir "$folder/elsewhere"
  cp package.json axios-1.7.9.tgz "$folder/elsewhere"
  cd "$folder/elsewhere"
  echo "the same project in another folder, installed: $("$npm11" install "${options[@]}" 2>&1 | listed)"
} >"$folder/seen"

cat "$folder/seen"
diff <(sed -n 's/^#   > //p' "$script") "$folder/seen"
