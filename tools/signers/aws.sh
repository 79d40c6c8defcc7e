#!/usr/bin/env bash
# Checks signers of type aws_kms with a real account. It costs a few cents; CI does not run it, but tests an emulator.
#
# Needs: the aws command line with a login that may create keys and aliases; a running service (npm start) whose environment has
# a login to AWS with kms:GetPublicKey and kms:Sign, and the package @aws-sdk/client-kms; API_KEY of that service; Node 24.
# Run:   REGION=eu-west-1 API_KEY=… tools/signers/aws.sh
# Leaves: the keys, which are scheduled for deletion in seven days, because AWS deletes none at once.
set -euo pipefail
: "${REGION:?the region of the keys}" "${API_KEY:?the API key of the service}"
run=check-$(date +%s)
relayer() { node "$(dirname "$0")/../../src/main.ts" "$@"; }
kms() { aws kms "$@" --region "$REGION"; }
new_key() { kms create-key --key-usage SIGN_VERIFY --key-spec "$1" --query KeyMetadata.KeyId --output text; }

check() { # name, key spec
  local id=$run-$1 alias=alias/$run-$1 key other
  key=$(new_key "$2") other=$(new_key "$2")
  kms create-alias --alias-name "$alias" --target-key-id "$key"
  relayer signers create --id "$id" --type aws_kms --region "$REGION" --key-id "$alias"
  relayer signers verify "$id"
  echo "creating another signer with the same key: it has to fail"
  if relayer signers create --type aws_kms --region "$REGION" --key-id "$key"; then echo "FAILED: two signers" >&2; exit 1; fi
  echo "moving the alias: the next verification has to warn, and to succeed"
  kms update-alias --alias-name "$alias" --target-key-id "$other"
  relayer signers verify "$id" | tee /dev/stderr | grep -q "now points to"
  echo "disabling the key: the next verification has to fail"
  kms disable-key --key-id "$key"
  if relayer signers verify "$id"; then echo "FAILED: a disabled key still signs" >&2; exit 1; fi
  relayer signers delete "$id" --yes
  kms delete-alias --alias-name "$alias"
  for each in "$key" "$other"; do kms schedule-key-deletion --key-id "$each" --pending-window-in-days 7 >/dev/null; done
}
check evm ECC_SECG_P256K1
check ed25519 ECC_NIST_EDWARDS25519
echo "passed"
