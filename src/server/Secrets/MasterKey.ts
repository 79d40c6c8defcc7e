// The check, at the start, that the master key is the one that the database was written with.
import { Effect, Layer, Redacted, Schema } from "effect"
import { MasterKeyRepo } from "./MasterKeyRepo.ts"
import { Secrets } from "./Secrets.ts"

/** The database was written with another master key. */
export class WrongMasterKey extends Schema.TaggedError<WrongMasterKey>()("WrongMasterKey", {
  message: Schema.String
}) {}

const place = { table: "master_key", id: "true", column: "sealed" }

export const layerCheck = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* MasterKeyRepo
    const secrets = yield* Secrets
    const mark = yield* repo.keep(yield* secrets.seal(Redacted.make("effect-relayer"), place))
    yield* secrets.open(mark, place).pipe(
      Effect.mapError(
        () =>
          new WrongMasterKey({
            message:
              "the database was written with another STORAGE_ENCRYPTION_KEY: its secrets cannot be read with this one"
          })
      )
    )
  })
).pipe(Layer.provide(MasterKeyRepo.layer))
