// Checks at the start that the service knows every master key that may have sealed a secret in the database.
import { Effect, Layer, Redacted, Schema } from "effect"
import * as Shown from "../../domain/request/Shown.ts"
import { ActiveKeyring } from "../secrets/ActiveKeyring.ts"
import type { Keyring } from "../secrets/Keyring.ts"
import { ServiceSecrets } from "../secrets/ServiceSecrets.ts"
import * as MasterKeyRepo from "./MasterKeyRepo.ts"
import type { Mark } from "./MasterKeyRepo.ts"

/** The database contains secrets under master keys that the service was not given. */
export class WrongMasterKey extends Schema.TaggedError<WrongMasterKey>()("WrongMasterKey", {
  /** The ids of those keys: four bytes in hex. */
  unknown: Schema.Array(Shown.hex(8)),
  /** Whether the service was given another key that the database knows. */
  isPartial: Schema.Boolean
}) {
  override readonly message = `masterKey: the database contains secrets under other master keys: ${this.unknown.join(", ")}; give that key, or add it to decryptionKeys`
}

/** The place that each mark is bound to. The id dates from when there was one mark. */
const place = { table: "master_key", id: "true", column: "sealed" }

const check = Effect.fnUntraced(function* (keyring: Keyring, marks: ReadonlyArray<Mark>) {
  const unknown = yield* Effect.filter(marks, ({ sealed }) =>
    Effect.map(Effect.isSuccess(keyring.open(sealed, place)), (known) => !known)
  )
  if (unknown.length === 0) return
  return yield* new WrongMasterKey({
    unknown: unknown.map(({ key_id }) => key_id),
    isPartial: unknown.length < marks.length
  })
})

const markOf = (keyring: Keyring) =>
  Effect.map(keyring.seal(Redacted.make("effect-relayer"), place), (sealed): Mark => ({
    key_id: keyring.keyId,
    sealed
  }))

/** Adds a mark for the current key. Without a mark, the database refuses what the key seals. */
export const admit = Effect.fn("MasterKey.admit")(function* (repo: MasterKeyRepo.MasterKeyRepo, keyring: Keyring) {
  yield* repo.admit(yield* markOf(keyring), (marks) => check(keyring, marks))
})

/** Starts the secrets of the service, too: the database accepts what the service seals only after the check. */
export const layerCheck = Layer.effectDiscard(
  Effect.gen(function* () {
    yield* admit(yield* MasterKeyRepo.make, yield* (yield* ActiveKeyring).get)
    yield* (yield* ServiceSecrets).start
  })
).pipe(Layer.provide(ServiceSecrets.layer))
