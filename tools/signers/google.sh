#!/usr/bin/env bash
# Checks signers of type google_cloud_kms with a real project. It costs a few cents; CI does not run it.
#
# Needs: gcloud with a login that may create keys; a running service (npm start) whose environment has a login to Google with
# the role roles/cloudkms.signerVerifier on the key ring, and the package google-auth-library; API_KEY of that service.
# Run:   PROJECT=my-project API_KEY=… tools/signers/google.sh
# With SERVICE_ACCOUNT=key.json, the signers log in as that service account instead.
# Leaves: the key ring and the keys, whose versions are scheduled for destruction, because Google deletes neither.
set -euo pipefail
: "${PROJECT:?the project of the keys}" "${API_KEY:?the API key of the service}"
location=${LOCATION:-europe-west3} ring=${RING:-effect-relayer-check} run=check-$(date +%s)
relayer() { node "$(dirname "$0")/../../src/main.ts" "$@"; }
kms() { gcloud kms "$@" --project "$PROJECT" --location "$location"; }
request() { # key
  local account='' project=",\"project_id\":\"$PROJECT\""
  if [ -n "${SERVICE_ACCOUNT:-}" ]; then
    account="\"service_account\":$(jq 'del(.type)' "$SERVICE_ACCOUNT"),"
  fi
  printf '{"config":{%s"key":{"location":"%s","key_ring_id":"%s","key_id":"%s","key_version":1%s}}}' \
    "$account" "$location" "$ring" "$1" "$project"
}

kms keyrings describe "$ring" >/dev/null 2>&1 || kms keyrings create "$ring"
check() { # name, algorithm, protection level
  local key=$run-$1
  kms keys create "$key" --keyring "$ring" --purpose asymmetric-signing --default-algorithm "$2" --protection-level "$3"
  until [ "$(kms keys versions describe 1 --key "$key" --keyring "$ring" --format 'value(state)')" = ENABLED ]; do sleep 5; done
  request "$key" | relayer signers create --id "$run-$1" --type google_cloud_kms --data @-
  relayer signers verify "$run-$1"
  echo "disabling the version: the next verification has to fail"
  kms keys versions disable 1 --key "$key" --keyring "$ring" >/dev/null
  if relayer signers verify "$run-$1"; then echo "FAILED: a disabled version still signs" >&2; exit 1; fi
  relayer signers delete "$run-$1" --yes
  kms keys versions destroy 1 --key "$key" --keyring "$ring" >/dev/null
}
check evm ec-sign-secp256k1-sha256 hsm
check ed25519 ec-sign-ed25519 software
echo "passed"
