import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { Secrets } from "../../../src/server/Secrets/Secrets.ts"

const place = { table: "signers", id: "a", column: "key" }
const withKey = (byte: number) => Secrets.layer(Redacted.make(new Uint8Array(32).fill(byte)))

const reopen = (change: (sealed: Uint8Array) => Uint8Array, at = place, byte = 1) =>
  Effect.gen(function* () {
    const sealed = yield* Effect.flatMap(Secrets, (secrets) => secrets.seal(Redacted.make("secret"), place)).pipe(
      Effect.provide(withKey(1))
    )
    return yield* Effect.flatMap(Secrets, (secrets) => secrets.open(change(sealed), at)).pipe(
      Effect.map(Redacted.value),
      Effect.provide(withKey(byte))
    )
  })

const flip = (index: number) => (sealed: Uint8Array) => {
  const changed = sealed.slice()
  changed[index] = (changed[index] ?? 0) ^ 1
  return changed
}

describe("Secrets", () => {
  it.effect.prop("what is sealed opens at its place", [Schema.String], ([text]) =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const sealed = yield* secrets.seal(Redacted.make(text.toWellFormed()), place)
      assert.strictEqual(Redacted.value(yield* secrets.open(sealed, place)), text.toWellFormed())
    }).pipe(Effect.provide(withKey(1)))
  )

  it.effect("the same secret never looks the same", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const [one, other] = [
        yield* secrets.seal(Redacted.make("x"), place),
        yield* secrets.seal(Redacted.make("x"), place)
      ]
      assert.notDeepEqual(one, other)
      assert.strictEqual(one[0], 1)
    }).pipe(Effect.provide(withKey(1)))
  )

  it.effect("opens unchanged", () =>
    Effect.map(
      reopen((sealed) => sealed),
      (text) => assert.strictEqual(text, "secret")
    )
  )

  const refusals = {
    "in another row": reopen((sealed) => sealed, { ...place, id: "b" }),
    "in another column": reopen((sealed) => sealed, { ...place, column: "other" }),
    "in another table": reopen((sealed) => sealed, { ...place, table: "notifications" }),
    "under another key": reopen((sealed) => sealed, place, 2),
    "with a changed nonce": reopen(flip(5)),
    "with a changed ciphertext": reopen(flip(17)),
    "with a changed tag": reopen((sealed) => flip(sealed.length - 1)(sealed)),
    "cut short": reopen((sealed) => sealed.slice(0, 20)),
    empty: reopen(() => new Uint8Array())
  }
  for (const [name, attempt] of Object.entries(refusals)) {
    it.effect(`does not open ${name}`, () =>
      Effect.map(Effect.flip(attempt), (error) => assert.strictEqual(error._tag, "SecretUnreadable"))
    )
  }
})
