// Loads the modules and tables that the first signature of a process would wait for.
import { Effect, Redacted } from "effect"
import * as EvmBytes from "../../chains/evm/EvmBytes.ts"
import * as LocalKey from "../../signers/backends/LocalKey.ts"

/** The private key 1. No relayer uses its account. */
const key = LocalKey.make(Redacted.make(`0x${"1".padStart(64, "0")}`))

const nothing: EvmBytes.Unsigned = {
  chainId: 1,
  nonce: 0,
  to: `0x${"00".repeat(20)}`,
  value: 0n,
  gasLimit: 21_000n,
  fees: { type: "eip1559", maxFee: 1n, tip: 1n }
}

/** Loads the libraries that encode and sign, and compiles what they need, for a transaction that is never sent. */
export const sign = Effect.gen(function* () {
  const digest = yield* EvmBytes.digestOf(nothing)
  return yield* EvmBytes.seal(nothing, yield* key.sign("secp256k1", digest))
})
