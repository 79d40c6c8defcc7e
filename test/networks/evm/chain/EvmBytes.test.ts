// Bytes of evm transactions, compared with those that viem signs by itself.
import { Effect, Redacted } from "effect"
import { assert, describe, it } from "@effect/vitest"
import { keccak256, parseTransaction } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import * as EvmBytes from "../../../../src/networks/evm/chain/EvmBytes.ts"
import * as LocalKey from "../../../../src/server/signers/backends/LocalKey.ts"

const key = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
const account = privateKeyToAccount(`0x${key}`)
const to = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

const local = LocalKey.make(Redacted.make(key))

const sign = Effect.fnUntraced(function* (unsigned: EvmBytes.Unsigned) {
  const digest = yield* EvmBytes.digestOf(unsigned)
  const signature = yield* local.sign("secp256k1", digest)
  const sender = yield* EvmBytes.signerOf(digest, signature)
  return { ...(yield* EvmBytes.seal(unsigned, signature)), sender }
})

const common = { chainId: 8453, nonce: 7, value: 5n, data: "0xa9059cbb", gasLimit: 60_000n }

describe("EvmBytes", () => {
  it.effect("signs EIP-1559 transactions, legacy transactions and creations", () =>
    Effect.gen(function* () {
      const eip1559 = yield* sign({ ...common, to, fees: { type: "eip1559", maxFee: 9n, tip: 2n } })
      const rest = { chainId: 8453, nonce: 7, value: 5n, data: "0xa9059cbb", gas: 60_000n } as const
      const prices = { type: "eip1559", maxFeePerGas: 9n, maxPriorityFeePerGas: 2n } as const
      const expected = yield* Effect.promise(() => account.signTransaction({ ...rest, ...prices, to }))
      assert.strictEqual(`0x${Buffer.from(eip1559.raw).toString("hex")}`, expected)
      assert.strictEqual(eip1559.sender, account.address.toLowerCase())

      const legacy = yield* sign({ ...common, fees: { type: "legacy", gasPrice: 9n } })
      const creation = yield* Effect.promise(() => account.signTransaction({ ...rest, type: "legacy", gasPrice: 9n }))
      assert.strictEqual(`0x${Buffer.from(legacy.raw).toString("hex")}`, creation)
      assert.strictEqual(legacy.sender, account.address.toLowerCase())
    })
  )

  it.effect("has no sender of a transaction whose hash does not belong to its fields", () =>
    Effect.gen(function* () {
      const fields = {
        chainId: 8453,
        nonce: 7,
        value: 5n,
        gas: 60_000n,
        to,
        maxFeePerGas: 9n,
        maxPriorityFeePerGas: 2n
      } as const
      const raw = yield* Effect.promise(() => account.signTransaction({ ...fields, type: "eip1559" }))
      const { r = "0x", s = "0x", yParity = 0 } = parseTransaction(raw)
      const signed = (value: bigint) => ({
        hash: keccak256(raw),
        transaction: { ...fields, value, type: "eip1559" as const },
        signature: { r, s, yParity }
      })
      assert.strictEqual(yield* EvmBytes.senderOf(signed(5n)), account.address.toLowerCase())
      assert.isUndefined(yield* EvmBytes.senderOf(signed(6n)))
    })
  )

  it.effect("derives the address of a public key", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* EvmBytes.addressOf(yield* local.publicKey("secp256k1")), account.address.toLowerCase())
    })
  )
})
