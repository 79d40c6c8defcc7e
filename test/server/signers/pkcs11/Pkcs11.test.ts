// Signers of PKCS#11 without the package that calls their libraries, and the package of this repository as the service knows it.
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import * as Pkcs11 from "../../../../src/server/signers/backends/pkcs11/Pkcs11.ts"
import * as RemoteSigner from "../../../../src/server/signers/backends/RemoteSigner.ts"
import { makeRemoteCalls } from "../../../../src/server/signers/backends/RemoteSigner.ts"

const named = { module: "hsm", token_label: "relayer", key_label: "hot", pin: Redacted.make("1234") }

/** The failure of a create whose package is loaded so. */
const refusal = Effect.fnUntraced(function* (load: () => Promise<Pkcs11.Package>) {
  const provider = Pkcs11.make(new Map([["hsm", "/hsm.so"]]), load)
  const kind = RemoteSigner.make(provider, { calls: yield* makeRemoteCalls, settings: {} })
  const failure = yield* Effect.flip(kind.prepare(named))
  return failure._tag === "SignerUnavailable" ? [failure.reason, failure.message] : assert.fail(failure._tag)
})

const absent = () => Promise.reject(new Error("Cannot find package"))

it.effect(
  "a signer of PKCS#11 is refused without its package, and without the one that it calls, with what to install",
  () =>
    Effect.gen(function* () {
      const sentence =
        "needs the packages @effect-relayer/signer-pkcs11 and pkcs11js, which cannot be loaded: npm install @effect-relayer/signer-pkcs11 pkcs11js next to effect-relayer"
      assert.deepStrictEqual(yield* refusal(absent), ["not_installed", sentence])
      assert.deepStrictEqual(yield* refusal(() => Promise.resolve({ load: absent })), ["not_installed", sentence])
    })
)

/** It does not compile if the package is not what the service calls. */
const own = (): Promise<Pkcs11.Package> => import("../../../../packages/signer-pkcs11/src/index.ts")

it.effect("the package of this repository is the one that the service loads", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(Object.keys(yield* Effect.promise(own)), ["load"])
  })
)
