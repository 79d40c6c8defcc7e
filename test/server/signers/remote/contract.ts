// What every signer type of a key service does, whatever the key service answers.
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import type { Curve } from "../../../../src/domain/signer/Signer.ts"
import type { SignerBackend } from "../../../../src/server/signers/backends/SignerBackend.ts"
import { layerEach } from "../../../../testkit/layerEach.ts"
import { StandIn, secretText } from "../../../../testkit/signers/StandIn.ts"
import type { Fault } from "../../../../testkit/signers/StandIn.ts"
import * as signers from "./signers.ts"
import { messageOf, signs } from "./signers.ts"

/** Creates a signer with the key on the curve, and opens it. */
const open = (curve: Curve) => Effect.flatMap(StandIn, ({ request }) => signers.open(request(curve)))

const failureOf = (backend: SignerBackend, curve: Curve) =>
  Effect.map(Effect.flip(backend.sign(curve, messageOf(curve))), (failure) => {
    assert.notInclude(JSON.stringify(failure) + failure.message, secretText)
    return failure
  })

interface Expected {
  readonly reasons: ReadonlyArray<string>
  /** Calls to sign. */
  readonly calls: number
}

/** A fault that lasts, and how the signature fails. */
const lasting: Partial<Record<Fault, Expected>> = {
  "other key": { reasons: ["mismatch"], calls: 1 },
  truncated: { reasons: ["unreachable", "unexpected"], calls: 3 },
  html: { reasons: ["unexpected"], calls: 1 },
  "html of a proxy": { reasons: ["unreachable"], calls: 3 },
  throttled: { reasons: ["throttled"], calls: 3 },
  "throttled for a minute": { reasons: ["throttled"], calls: 1 },
  "expired login": { reasons: ["login"], calls: 2 },
  "disabled key": { reasons: ["bad_key"], calls: 1 },
  "no such key": { reasons: ["not_found"], calls: 1 },
  refused: { reasons: ["refused"], calls: 1 },
  broken: { reasons: ["unreachable"], calls: 3 }
}

/** Faults after which the next try succeeds. */
const passing: ReadonlyArray<Fault> = ["throttled", "throttled for a second", "clock skew", "expired login", "broken"]

/** What a key service does not have, with the reason. */
type Lacks = Partial<Record<Fault | "moved alias", string>>

export const contract = <E>(
  name: string,
  curves: ReadonlyArray<Curve>,
  standIn: Layer.Layer<StandIn, E>,
  lacks: Lacks = {}
) => {
  const services = Layer.provideMerge(signers.backends, Layer.fresh(standIn))
  const [curve = "secp256k1"] = curves

  layerEach(services)(`${name} keeps the contract of key services:`, (it) => {
    for (const curve of curves) {
      it.live(`signs on ${curve}, with any s that the key service returns`, () =>
        Effect.gen(function* () {
          const { fail } = yield* StandIn
          const backend = yield* open(curve)
          assert.deepStrictEqual(backend.curves, [curve])
          for (let n = 0; n < 5; n++) yield* signs(backend, curve)
          fail("sign", "high s")
          for (let n = 0; n < 5; n++) yield* signs(backend, curve)
        })
      )
    }

    for (const curve of curves) {
      it.live(`refuses a signature on ${curve} by another key, or of another message`, () =>
        Effect.gen(function* () {
          const { fail } = yield* StandIn
          const backend = yield* open(curve)
          for (const fault of ["other key", "other message"] as const) {
            fail("sign", fault, 1)
            assert.strictEqual((yield* failureOf(backend, curve)).reason, "mismatch")
          }
          yield* signs(backend, curve)
        })
      )
    }

    it.live("has no key on the other curve, which needs no call", () =>
      Effect.gen(function* () {
        const { count } = yield* StandIn
        const backend = yield* open(curve)
        const before = count("sign")
        const failure = yield* failureOf(backend, curve === "secp256k1" ? "ed25519" : "secp256k1")
        assert.deepStrictEqual([failure.reason, count("sign")], ["curve", before])
      })
    )

    for (const [fault, { reasons, calls }] of Object.entries(lasting) as ReadonlyArray<[Fault, Expected]>) {
      if (fault in lacks) continue
      it.live(`does not sign: ${fault}`, () =>
        Effect.gen(function* () {
          const { count, fail } = yield* StandIn
          const backend = yield* open(curve)
          const before = count("sign")
          fail("sign", fault)
          const { reason, retryAfter } = yield* failureOf(backend, curve)
          assert.include(reasons, reason)
          if (fault !== "truncated") assert.strictEqual(count("sign") - before, calls)
          if (fault === "throttled for a minute") assert.strictEqual(retryAfter, 60_000)
        })
      )
    }

    for (const fault of passing.filter((fault) => !(fault in lacks))) {
      it.live(`signs at the next try: ${fault}`, () =>
        Effect.gen(function* () {
          const { count, fail } = yield* StandIn
          const backend = yield* open(curve)
          const before = count("sign")
          fail("sign", fault, 1)
          yield* signs(backend, curve)
          assert.strictEqual(count("sign") - before, 2)
        })
      )
    }

    it.live("reads the public key and its state from the key service each time", () =>
      Effect.gen(function* () {
        const { fail } = yield* StandIn
        const { inspect, publicKey } = yield* open(curve)
        const inspected = yield* inspect ?? assert.fail("no inspection")
        assert.deepStrictEqual([...inspected.publicKey], [...(yield* publicKey(curve))])
        assert.isUndefined(inspected.warning)
        fail("describe", "other key")
        const other = yield* inspect ?? assert.fail("no inspection")
        assert.notDeepEqual([...other.publicKey], [...inspected.publicKey])
      })
    )

    if (!("moved alias" in lacks)) {
      it.live("goes on with the pinned key if the request names another one now, and warns", () =>
        Effect.gen(function* () {
          const { moveAlias = () => assert.fail("no alias to move") } = yield* StandIn
          const backend = yield* open(curve)
          moveAlias(curve)
          yield* signs(backend, curve)
          const { warning } = yield* backend.inspect ?? assert.fail("no inspection")
          assert.isString(warning)
        })
      )
    }

    it.live("is not created without the right to sign", () =>
      Effect.gen(function* () {
        const { fail } = yield* StandIn
        fail("sign", "refused")
        const failure = yield* Effect.flip(open(curve))
        assert.strictEqual(failure._tag === "SignerUnavailable" ? failure.reason : failure._tag, "refused")
      })
    )
  })

  it.effect(`${name}: a silent key service is called three times in eight seconds`, () =>
    Effect.gen(function* () {
      const { count, fail, silent } = yield* StandIn
      const backend = yield* open(curve)
      const before = count("sign")
      fail("sign", "silent")
      const signing = yield* Effect.forkChild(failureOf(backend, curve))
      for (let tried = 1; tried <= 3; tried++) {
        yield* silent
        yield* TestClock.adjust("3 seconds")
        yield* TestClock.adjust("1 second")
      }
      assert.strictEqual((yield* Fiber.join(signing)).reason, "unreachable")
      assert.strictEqual(count("sign") - before, 3)
    }).pipe(Effect.provide(services))
  )
}
