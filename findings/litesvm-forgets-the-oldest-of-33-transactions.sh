#!/usr/bin/env bash
# litesvm keeps the last 32 transactions. The next one pushes the oldest out, in silence: its signature is unknown from then on.
#
# Packages   litesvm 1.5.0 and @solana/kit 8.4.0, from npm, on Linux x64.
# Guess      A virtual machine in memory has no ledger to prune: what it executed, it knows until the test ends.
# Behaviour  `getTransaction` finds a signature for as long as at most 31 other transactions come after it, and answers null after the
#            32nd, as it does for a signature that was never sent. Nothing is logged. The same memory is what recognizes a transaction
#            that was sent already, and a blockhash never grows old by itself. `withTransactionHistory(n)` makes the memory larger.
# Instead    In a test that proves "executed exactly once", or that asks for statuses later, call `withTransactionHistory` with more than
#            the number of transactions of the whole test. Take a null for "not executed" only if that was done. Count by balances.
# Output
#   > default: sent again at once: refused, AlreadyProcessed
#   > default: known after 31 others: yes
#   > default: known after 32 others: no
#   > withTransactionHistory(1000n): known after 200 others: yes; sent again: refused, AlreadyProcessed
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts litesvm@1.5.0 @solana/kit@8.4.0 >>npm.log 2>&1 || { cat npm.log; exit 1; }

cat >run.mjs <<'SCRIPT'
import { AccountRole, address, appendTransactionMessageInstruction, createTransactionMessage, generateKeyPairSigner } from "@solana/kit"
import { getSignatureFromTransaction, lamports, pipe, setTransactionMessageFeePayerSigner, signTransactionMessageWithSigners } from "@solana/kit"
import { FailedTransactionMetadata, LiteSVM } from "litesvm"

/** The number of this error in litesvm. */
const alreadyProcessed = 6

const payer = await generateKeyPairSigner()
const receiver = await generateKeyPairSigner()

const transfer = (amount) => {
  const data = new DataView(new ArrayBuffer(12))
  data.setUint32(0, 2, true)
  data.setBigUint64(4, amount, true)
  return {
    programAddress: address("11111111111111111111111111111111"),
    accounts: [
      { address: payer.address, role: AccountRole.WRITABLE_SIGNER, signer: payer },
      { address: receiver.address, role: AccountRole.WRITABLE }
    ],
    data: new Uint8Array(data.buffer)
  }
}

const machine = (svm) => {
  svm.airdrop(payer.address, lamports(10_000_000_000n))
  const sign = (amount) =>
    pipe(
      createTransactionMessage({ version: 0 }),
      (message) => setTransactionMessageFeePayerSigner(payer, message),
      (message) => svm.setTransactionMessageLifetimeUsingLatestBlockhash(message),
      (message) => appendTransactionMessageInstruction(transfer(amount), message),
      signTransactionMessageWithSigners
    )
  const send = (signed) => {
    const outcome = svm.sendTransaction(signed)
    if (!(outcome instanceof FailedTransactionMetadata)) return "executed"
    return `refused, ${outcome.err() === alreadyProcessed ? "AlreadyProcessed" : outcome.toString()}`
  }
  const sendOthers = async (from, count) => {
    for (let index = from; index < from + count; index++) {
      const outcome = send(await sign(2_000_000n + BigInt(index)))
      if (outcome !== "executed") throw new Error(outcome)
    }
  }
  const known = (signed) => (svm.getTransaction(getSignatureFromTransaction(signed)) === null ? "no" : "yes")
  return { sign, send, sendOthers, known }
}

const small = machine(new LiteSVM())
const first = await small.sign(1_000_000n)
small.send(first)
console.log(`default: sent again at once: ${small.send(first)}`)
await small.sendOthers(0, 31)
console.log(`default: known after 31 others: ${small.known(first)}`)
await small.sendOthers(31, 1)
console.log(`default: known after 32 others: ${small.known(first)}`)

const large = machine(new LiteSVM().withTransactionHistory(1000n))
const one = await large.sign(1_000_000n)
large.send(one)
await large.sendOthers(0, 200)
console.log(`withTransactionHistory(1000n): known after 200 others: ${large.known(one)}; sent again: ${large.send(one)}`)
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
