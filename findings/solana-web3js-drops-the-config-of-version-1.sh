#!/usr/bin/env bash
# @solana/web3.js reads a version-1 transaction with its config, and drops the config on every way back.
#
# Packages   @solana/web3.js 1.99.0 and @solana/kit 8.4.0, from npm.
# Guess      web3.js 1.99 exports `MessageV1`, and `VersionedTransaction.deserialize` takes the bytes: version 1 works as version 0 does.
#            Where something is not supported, it throws.
# Behaviour  Limits and priority fee of version 1 stand in the message's config, not in instructions. `deserialize` shows them as
#            `transactionConfig`. `serialize` throws. `TransactionMessage.decompile` does not: it returns payer, blockhash and
#            instructions without a word about the config, and `compileToV0Message` makes a transaction of version 0 of them with the
#            default limits and no priority fee. Kit and the Rust crates keep the config.
# Instead    Forward the bytes as they came. Decompile messages of version 1 with kit only. A program that adds an instruction with
#            web3.js refuses version 1, or copies `transactionConfig` into instructions of the compute budget itself.
# Output
#   > web3.js, deserialize: version 1, limit 20000, priority fee 777
#   > web3.js, serialize: Error
#   > web3.js, decompile and compileToV0Message: version 0, limit undefined, price undefined, 1 instruction
#   > kit, decompile and compile: version 1, limit 20000, priority fee 777, the same bytes
set -euo pipefail
script=$(realpath "$0")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >npm.log
npm install --no-audit --no-fund --ignore-scripts @solana/web3.js@1.99.0 @solana/kit@8.4.0 >>npm.log 2>&1 || { cat npm.log; exit 1; }

cat >run.mjs <<'SCRIPT'
import * as kit from "@solana/kit"
import * as web3 from "@solana/web3.js"

const payer = await kit.generateKeyPairSigner()
const receiver = await kit.generateKeyPairSigner()
const data = new DataView(new ArrayBuffer(12))
data.setUint32(0, 2, true)
data.setBigUint64(4, 5n, true)
const transfer = {
  programAddress: kit.address("11111111111111111111111111111111"),
  accounts: [
    { address: payer.address, role: kit.AccountRole.WRITABLE_SIGNER, signer: payer },
    { address: receiver.address, role: kit.AccountRole.WRITABLE }
  ],
  data: new Uint8Array(data.buffer)
}
const lifetime = { blockhash: kit.blockhash("4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM"), lastValidBlockHeight: 100n }
const signed = await kit.pipe(
  kit.createTransactionMessage({ version: 1 }),
  (message) => kit.setTransactionMessageFeePayerSigner(payer, message),
  (message) => kit.setTransactionMessageLifetimeUsingBlockhash(lifetime, message),
  (message) => kit.setTransactionMessageConfig({ computeUnitLimit: 20_000, priorityFeeLamports: 777n }, message),
  (message) => kit.appendTransactionMessageInstruction(transfer, message),
  kit.signTransactionMessageWithSigners
)
const wire = Buffer.from(kit.getBase64EncodedWireTransaction(signed), "base64")
const read = (messageBytes) =>
  kit.decompileTransactionMessage(kit.getCompiledTransactionMessageDecoder().decode(messageBytes), lifetime)

const transaction = web3.VersionedTransaction.deserialize(wire)
const { computeUnitLimit, priorityFee } = transaction.message.transactionConfig
console.log(`web3.js, deserialize: version ${transaction.version}, limit ${computeUnitLimit}, priority fee ${priorityFee}`)

try {
  transaction.serialize()
  console.log("web3.js, serialize: bytes")
} catch (error) {
  console.log(`web3.js, serialize: ${error.name}`)
}

const again = web3.TransactionMessage.decompile(transaction.message).compileToV0Message()
const zero = read(again.serialize())
const limit = kit.getTransactionMessageComputeUnitLimit(zero)
const price = kit.getTransactionMessageComputeUnitPrice(zero)
const count = `${zero.instructions.length} instruction`
console.log(`web3.js, decompile and compileToV0Message: version ${zero.version}, limit ${limit}, price ${price}, ${count}`)

const one = read(signed.messageBytes)
const bytes = kit.getCompiledTransactionMessageEncoder().encode(kit.compileTransactionMessage(one))
const same = Buffer.from(bytes).equals(Buffer.from(signed.messageBytes)) ? "the same bytes" : "other bytes"
const { config } = one
console.log(`kit, decompile and compile: version ${one.version}, limit ${config.computeUnitLimit}, priority fee ${config.priorityFeeLamports}, ${same}`)
SCRIPT

grep '^#   > ' "$script" | cut -c7- >expected
node run.mjs | tee seen
diff expected seen || { echo "FAILED: the behaviour is not what the head of $script says" >&2; exit 1; }
