// Signatures for a lane, by keys that are the lane's and by others.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { SignerId } from "../../../src/domain/signer/Signer.ts"
import * as EvmBytes from "../../../src/networks/evm/chain/EvmBytes.ts"
import { makeSigner } from "../../../src/networks/evm/lane/EvmContext.ts"
import { makeLaneKeys } from "../../../src/server/lanes/LaneNetwork.ts"
import { Signers } from "../../../src/server/signers/Signers.ts"
import * as LocalKey from "../../../src/server/signers/backends/LocalKey.ts"
import { SignerUnavailable } from "../../../src/server/signers/backends/SignerBackend.ts"
import type { SignerBackend } from "../../../src/server/signers/backends/SignerBackend.ts"

const own = LocalKey.make(Redacted.make("11".repeat(32)))
const other = LocalKey.make(Redacted.make("22".repeat(32)))

const unsigned: EvmBytes.Unsigned = {
  chainId: 1,
  nonce: 0,
  value: 0n,
  gasLimit: 21_000n,
  fees: { type: "legacy", gasPrice: 1n }
}

const signWith = Effect.fnUntraced(function* (backend: SignerBackend) {
  const address = yield* EvmBytes.addressOf(yield* own.publicKey("secp256k1"))
  const signers = yield* Signers.pipe(Effect.provide(Layer.mock(Signers, { use: () => Effect.succeed(backend) })))
  const signer = makeSigner((options) => makeLaneKeys(signers, options), address)
  return yield* signer.sign(SignerId.make("s"), unsigned)
})

const changing: SignerBackend = { curves: own.curves, publicKey: own.publicKey, sign: other.sign }

describe("a signer of a lane", () => {
  it.effect("signs with the key of the lane's address", () =>
    Effect.gen(function* () {
      const digest = yield* EvmBytes.digestOf(unsigned)
      const expected = yield* EvmBytes.seal(unsigned, yield* own.sign("secp256k1", digest))
      assert.strictEqual((yield* signWith(own)).hash, expected.hash)
      const { curves, publicKey, sign } = own
      assert.strictEqual((yield* signWith({ curves, publicKey, sign })).hash, expected.hash)
    })
  )

  it.effect("refuses a key of another address, and a key that has changed since it was opened", () =>
    Effect.gen(function* () {
      for (const backend of [other, changing]) {
        assert.match((yield* Effect.flip(signWith(backend))).message, /does not belong to the relayer's address/)
      }
    })
  )

  it.effect("opens a key once for signatures that begin at the same time, and again after a failure", () =>
    Effect.gen(function* () {
      const unreachable = new SignerUnavailable({ reason: "unreachable", message: "no answer" })
      let opened = 0
      let isAway = true
      const publicKey: SignerBackend["publicKey"] = (curve) =>
        isAway ? Effect.fail(unreachable) : own.publicKey(curve)
      const use = () =>
        Effect.yieldNow.pipe(
          Effect.as({ ...own, publicKey, hasFixedKey: true }),
          Effect.tap(() => Effect.sync(() => opened++))
        )
      const signers = yield* Signers.pipe(Effect.provide(Layer.mock(Signers, { use })))
      const address = yield* EvmBytes.addressOf(yield* own.publicKey("secp256k1"))
      const { sign } = makeSigner((options) => makeLaneKeys(signers, options), address)
      const signed = Effect.forEach(
        Array.from({ length: 32 }, (_, nonce) => ({ ...unsigned, nonce })),
        (one) => Effect.exit(sign(SignerId.make("s"), one)),
        { concurrency: "unbounded" }
      )
      assert.isTrue((yield* signed).every(Exit.isFailure))
      assert.strictEqual(opened, 1)
      isAway = false
      assert.isTrue((yield* signed).every(Exit.isSuccess))
      assert.strictEqual(opened, 2)
    })
  )

  it.effect("stops within five seconds after another instance has disabled it", () =>
    Effect.gen(function* () {
      const disabled = new SignerUnavailable({ reason: "mismatch", message: "the signer is disabled" })
      let current: SignerBackend = own
      let opened = 0
      const use = () => Effect.sync(() => (opened++, current))
      const signers = yield* Signers.pipe(Effect.provide(Layer.mock(Signers, { use })))
      const address = yield* EvmBytes.addressOf(yield* own.publicKey("secp256k1"))
      const { sign } = makeSigner((options) => makeLaneKeys(signers, options), address)
      const signed = sign(SignerId.make("s"), unsigned)
      yield* signed
      current = { ...own, sign: () => Effect.fail(disabled) }
      yield* TestClock.adjust("4 seconds")
      yield* signed
      assert.strictEqual(opened, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(signed)).message, disabled.message)
      current = own
      yield* signed
      assert.strictEqual(opened, 3)
    })
  )
})
