#!/usr/bin/env bash
# Two delegates sign one Stellar authorization: in JavaScript the second one voids the signature of the first without an error, in
# Python it is refused.
#
# Packages   @stellar/stellar-sdk 17.2.0 from npm, and stellar-sdk 16.1.1 from PyPI: delegated signers of protocol 27 (CAP-71).
# Guess      `authorizeEntry` adds a signature. The expiration that a signer names is its own, as each of them signs at another time;
#            both SDKs do the same, because they name their functions and arguments alike.
# Behaviour  An entry has one expiration ledger, which all of its signatures cover. `authorizeEntry` of the JavaScript SDK writes the
#            ledger that it is given over the one that is there, and keeps signatures that were made for the other. The entry looks
#            complete: each delegate has a signature. Python's `authorize_entry` raises ValueError instead. A signer that computes "the
#            latest ledger + 100", as `signAuthEntries` of the JavaScript SDK does by default, names another ledger each time.
# Instead    Choose the expiration once, when the entry is built, and give it to every signer; a signer reads it from the entry and
#            refuses another. Before the entry is sent, verify each signature against `buildAuthorizationEntryPreimage` with the
#            expiration that the entry has.
# Output
#   > JavaScript, both name ledger 1000: the entry has 1000; first: valid, second: valid
#   > JavaScript, the second names ledger 1020: the entry has 1020; first: void, second: valid
#   > Python, both name ledger 1000: signed, with the bytes of JavaScript
#   > Python, the second names ledger 1020: ValueError
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts @stellar/stellar-sdk@17.2.0 >>npm.log 2>&1 || { cat npm.log; exit 1; }
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check stellar-sdk==16.1.1

cat >run.mjs <<'SCRIPT'
import { Address, Keypair, Networks, StrKey, authorizeEntry, buildAuthorizationEntryPreimage, hash, scValToNative, xdr } from "@stellar/stellar-sdk"
import { buildWithDelegatesEntry } from "@stellar/stellar-sdk"
import { writeFileSync } from "node:fs"

const contract = (byte) => new Address(StrKey.encodeContract(new Uint8Array(32).fill(byte))).toScAddress()
const [first, second] = [1, 2].map((byte) => Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(byte)))

const call = new xdr.InvokeContractArgs({ contractAddress: contract(9), functionName: "transfer", args: [] })
const recorded = new xdr.SorobanAuthorizationEntry({
  rootInvocation: new xdr.SorobanAuthorizedInvocation({
    function: xdr.SorobanAuthorizedFunction.sorobanAuthorizedFunctionTypeContractFn(call),
    subInvocations: []
  }),
  credentials: xdr.SorobanCredentials.sorobanCredentialsAddressV2(
    new xdr.SorobanAddressCredentials({
      address: contract(7),
      nonce: xdr.Int64(5),
      signatureExpirationLedger: 0,
      signature: xdr.ScVal.scvVoid()
    })
  )
})
const unsigned = buildWithDelegatesEntry({
  entry: recorded,
  validUntilLedgerSeq: 1000,
  delegates: [first, second].map((key) => ({ address: key.publicKey() }))
})
writeFileSync("unsigned", unsigned.toXdr("base64"))

for (const [words, ledger] of [["both name ledger 1000", 1000], ["the second names ledger 1020", 1020]]) {
  const once = await authorizeEntry(unsigned, first, 1000, Networks.TESTNET, first.publicKey())
  const twice = await authorizeEntry(once, second, ledger, Networks.TESTNET, second.publicKey())
  if (ledger === 1000) writeFileSync("signed", twice.toXdr("base64"))
  const { addressCredentials, delegates } = twice.credentials.addressWithDelegates
  const expiration = addressCredentials.signatureExpirationLedger
  const payload = hash(buildAuthorizationEntryPreimage(twice, expiration, Networks.TESTNET).toXdr())
  const verdictOf = (key) => {
    const node = delegates.find(({ address }) => Address.fromScAddress(address).toString() === key.publicKey())
    return key.verify(payload, scValToNative(node.signature)[0].signature) ? "valid" : "void"
  }
  console.log(`JavaScript, ${words}: the entry has ${expiration}; first: ${verdictOf(first)}, second: ${verdictOf(second)}`)
}
SCRIPT

cat >run.py <<'SCRIPT'
from stellar_sdk import Keypair, Network
from stellar_sdk.auth import authorize_entry

first, second = (Keypair.from_raw_ed25519_seed(bytes([byte]) * 32) for byte in (1, 2))
passphrase = Network.TESTNET_NETWORK_PASSPHRASE
for words, ledger in (("both name ledger 1000", 1000), ("the second names ledger 1020", 1020)):
    once = authorize_entry(open("unsigned").read(), first, 1000, passphrase, for_address=first.public_key)
    try:
        twice = authorize_entry(once, second, ledger, passphrase, for_address=second.public_key)
        same = twice.to_xdr() == open("signed").read()
        print(f"Python, {words}: signed, with {'the bytes of JavaScript' if same else 'other bytes than JavaScript'}")
    except ValueError:
        print(f"Python, {words}: ValueError")
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
{ node run.mjs; venv/bin/python run.py; } | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
