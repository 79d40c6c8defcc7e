#!/usr/bin/env bash
# Checks signers of type turnkey with a real organization. Signatures count towards its plan; CI does not run it.
#
# Needs: a private key in Turnkey (secp256k1 or ed25519), and an API key of a user whose policy allows
# ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2 with it; a running service (npm start); API_KEY of that service.
# Run:   ORGANIZATION_ID=… PRIVATE_KEY_ID=… PUBLIC_KEY=… API_PUBLIC_KEY=… API_PRIVATE_KEY_FILE=key.txt API_KEY=… tools/signers/turnkey.sh
# With NEEDS_APPROVAL=1 the policy demands a second approval: the creation has to be refused as pending.
# Leaves: nothing.
set -euo pipefail
: "${ORGANIZATION_ID:?}" "${PRIVATE_KEY_ID:?}" "${PUBLIC_KEY:?}" "${API_PUBLIC_KEY:?}" "${API_PRIVATE_KEY_FILE:?}" "${API_KEY:?}"
id=check-$(date +%s)
relayer() { node "$(dirname "$0")/../../src/main.ts" "$@"; }
create() { # public key
  relayer signers create --id "$id" --type turnkey --organization-id "$ORGANIZATION_ID" --private-key-id "$PRIVATE_KEY_ID" \
    --public-key "$1" --api-public-key "$API_PUBLIC_KEY" --api-private-key-file "$API_PRIVATE_KEY_FILE"
}

if [ -n "${NEEDS_APPROVAL:-}" ]; then
  if text=$(create "$PUBLIC_KEY" 2>&1); then echo "FAILED: signed without the approval" >&2; exit 1; fi
  grep -q "waits for the approval" <<<"$text" && echo "passed" && exit
  echo "FAILED: $text" >&2; exit 1
fi

other=04c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee51ae168fea63dc339a3c58419466ceaeef7f632653266d0e1236431a950cfe52a
echo "naming another public key: the creation has to fail"
if create "$other"; then echo "FAILED: another public key was taken" >&2; exit 1; fi
create "$PUBLIC_KEY"
relayer signers verify "$id"
relayer signers delete "$id" --yes
echo "passed"
