// Signers whose key is in Turnkey: activities that wait or are refused, and public keys in all their forms.
// Requests have stamps by the clock of the machine.
import { assert } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { layerEach } from "../../../../testkit/layerEach.ts"
import * as Keys from "../../../../testkit/signers/Keys.ts"
import { StandIn } from "../../../../testkit/signers/StandIn.ts"
import * as Turnkey from "../../../../testkit/signers/Turnkey.ts"
import { contract } from "./contract.ts"
import { backends, failureOfRequest, messageOf, open, signs } from "./signers.ts"

contract("turnkey", ["secp256k1", "ed25519"], Turnkey.layer, {
  "disabled key": "Turnkey has no disabled keys",
  "moved alias": "the request names one key by its id"
})

const services = Layer.provideMerge(backends, Layer.fresh(Turnkey.layer))

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")

/** An opened signer, and a digest that it has not signed. */
const prepared = Effect.gen(function* () {
  const { request } = yield* StandIn
  const turnkey = yield* Turnkey.Turnkey
  return { turnkey, backend: yield* open(request("secp256k1")), digest: messageOf("secp256k1") }
})

layerEach(services)("a key in Turnkey", (it) => {
  it.live("gets the same bytes at each try, so that a signature is made once", () =>
    Effect.gen(function* () {
      const { fail } = yield* StandIn
      const { turnkey, backend, digest } = yield* prepared
      turnkey.bodies.length = 0
      fail("sign", "broken", 2)
      yield* backend.sign("secp256k1", digest)
      assert.strictEqual(turnkey.bodies.length, 3)
      assert.strictEqual(new Set(turnkey.bodies).size, 1)
    })
  )

  it.live("signs after the approval, when the same signature is asked for again", () =>
    Effect.gen(function* () {
      const { turnkey, backend, digest } = yield* prepared
      turnkey.status = "ACTIVITY_STATUS_CONSENSUS_NEEDED"
      const before = turnkey.activities.size
      const { message, reason, requestId } = yield* Effect.flip(backend.sign("secp256k1", digest))
      assert.deepStrictEqual([reason, message], ["pending", "Turnkey waits for the approval of the signature"])
      const activity = [...turnkey.activities.values()].at(-1) ?? assert.fail("no activity")
      assert.strictEqual(activity.id, requestId)
      activity.status = "ACTIVITY_STATUS_COMPLETED"
      assert.strictEqual((yield* backend.sign("secp256k1", digest)).length, 65)
      assert.strictEqual(turnkey.activities.size, before + 1)
    })
  )

  for (const status of ["PENDING", "CREATED", "AUTHENTICATORS_NEEDED"]) {
    it.live(`waits while an activity is ${status}`, () =>
      Effect.gen(function* () {
        const { turnkey, backend, digest } = yield* prepared
        turnkey.status = `ACTIVITY_STATUS_${status}`
        assert.strictEqual((yield* Effect.flip(backend.sign("secp256k1", digest))).reason, "pending")
      })
    )
  }

  for (const status of ["REJECTED", "FAILED"]) {
    it.live(`refuses if an activity is ${status}, and asks anew after that`, () =>
      Effect.gen(function* () {
        const { turnkey, backend, digest } = yield* prepared
        turnkey.status = `ACTIVITY_STATUS_${status}`
        assert.strictEqual((yield* Effect.flip(backend.sign("secp256k1", digest))).reason, "refused")
        turnkey.status = "ACTIVITY_STATUS_COMPLETED"
        // Two requests in one millisecond would be one activity.
        const before = yield* Clock.currentTimeMillis
        yield* Effect.repeat(Clock.currentTimeMillis, { until: (now) => now > before })
        assert.strictEqual((yield* backend.sign("secp256k1", digest)).length, 65)
      })
    )
  }

  it.live("may be given compressed or with 0x, and its address is that of the whole point", () =>
    Effect.gen(function* () {
      const turnkey = yield* Turnkey.Turnkey
      const { request } = yield* StandIn
      const whole = yield* (yield* open(request("secp256k1"))).publicKey("secp256k1")
      const [id = ""] = turnkey.keys.keys()
      const compressed = hex(secp256k1.ProjectivePoint.fromHex(whole).toRawBytes(true))
      for (const public_key of [compressed, `0x${compressed}`, `0x${hex(whole)}`]) {
        const backend = yield* open(turnkey.request(id, { public_key }))
        assert.strictEqual(hex(yield* backend.publicKey("secp256k1")), hex(whole))
        yield* signs(backend, "secp256k1")
      }
    })
  )

  it.live("of a wallet account, which Turnkey does not show, is inspected by the API key alone", () =>
    Effect.gen(function* () {
      const { count } = yield* StandIn
      const turnkey = yield* Turnkey.Turnkey
      const address = "0x2c7536e3605d9c16a7a3d7b1898e529396a65c23"
      turnkey.keys.set(address, Keys.make("secp256k1"))
      const backend = yield* open(turnkey.request(address))
      const { state } = yield* backend.inspect ?? assert.fail("no inspection")
      assert.strictEqual(state, "the organization knows the API key")
      assert.deepStrictEqual([count("describe"), count("login")], [0, 1])
      yield* signs(backend, "secp256k1")
    })
  )

  const changes = [
    [{ public_key: hex(Keys.make("secp256k1").publicKey) }, "the key with this public_key did not make the signature"],
    [{ public_key: `04${"01".repeat(64)}` }, "config.public_key: is not a point of secp256k1"],
    [{ api_private_key: "01".repeat(32) }, "config.api_private_key: is not the private key of api_public_key"],
    [{ organization_id: "3a1f3c7e-1111-4222-8333-444455556666" }, "Turnkey refuses the signature"]
  ] as const
  for (const [change, message] of changes) {
    it.live(`is refused in a request: ${message}`, () =>
      Effect.gen(function* () {
        const turnkey = yield* Turnkey.Turnkey
        const [id = ""] = turnkey.keys.keys()
        assert.include(yield* failureOfRequest(turnkey.request(id, change)), message)
      })
    )
  }

  it.effect("gets a new time in its request after fifty minutes", () =>
    Effect.gen(function* () {
      const { turnkey, backend, digest } = yield* prepared
      turnkey.bodies.length = 0
      for (const minutes of [0, 49, 2]) {
        yield* TestClock.adjust(`${minutes} minutes`)
        yield* backend.sign("secp256k1", digest)
      }
      const times = turnkey.bodies.map((body) => JSON.parse(body).timestampMs)
      assert.deepStrictEqual(times, ["0", "0", String(51 * 60_000)])
    })
  )
})
