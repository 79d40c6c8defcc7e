// The check, at the start, that every master key that may have sealed something is known.
import { Effect, Layer, Redacted, Schema } from "effect"
import { ActiveKeyring } from "../secrets/ActiveKeyring.ts"
import type { Keyring } from "../secrets/Keyring.ts"
import { MasterKeyRepo } from "./MasterKeyRepo.ts"
import type { Mark } from "./MasterKeyRepo.ts"

/** The database holds secrets under a master key that is not known. */
export class WrongMasterKey extends Schema.TaggedError<WrongMasterKey>()("WrongMasterKey", {
  message: Schema.String
}) {}

/** Of every mark, as it was when there was one mark only. */
const place = { table: "master_key", id: "true", column: "sealed" }

const explain = (marks: ReadonlyArray<Mark>, unknown: ReadonlyArray<Mark>): string =>
  unknown.length === marks.length
    ? "the database was written with another STORAGE_ENCRYPTION_KEY: its secrets cannot be read with this one; set that one, or add it to STORAGE_DECRYPTION_KEYS"
    : `the database still holds secrets under a master key that is not given (key id ${unknown.map(({ key_id }) => key_id).join(", ")}): add it to STORAGE_DECRYPTION_KEYS, or run rotate-key first, with both keys given`

const check = Effect.fnUntraced(function* (keyring: Keyring, marks: ReadonlyArray<Mark>) {
  const unknown = yield* Effect.filter(marks, ({ sealed }) =>
    Effect.map(Effect.isSuccess(keyring.open(sealed, place)), (known) => !known)
  )
  if (unknown.length > 0) return yield* new WrongMasterKey({ message: explain(marks, unknown) })
})

/** Marks the current key: before that, the database takes nothing that is sealed with it. */
export const admit = Effect.fn("MasterKey.admit")(function* (keyring: Keyring) {
  const repo = yield* MasterKeyRepo
  const sealed = yield* keyring.seal(Redacted.make("effect-relayer"), place)
  yield* repo.admit({ key_id: keyring.keyId, sealed }, (marks) => check(keyring, marks))
})

export const layerCheck = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* admit(yield* (yield* ActiveKeyring).get)
  })
).pipe(Layer.provide(MasterKeyRepo.layer))
