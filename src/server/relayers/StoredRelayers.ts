// Relayers with their stored JSON and version, for HTTP: the JSON becomes a response as it is, the version its `ETag`.
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { Forbidden } from "../../domain/access/Caller.ts"
import type {
  CreateRelayer,
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  RelayerNotFound,
  RelayerQuery,
  UpdateRelayer
} from "../../domain/relayer/Relayer.ts"
import type { BadRequest } from "../../domain/request/Request.ts"
import type { PreconditionFailed } from "../../domain/request/Version.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { NewRelayersRepo } from "./NewRelayersRepo.ts"
import * as RelayerCreation from "./RelayerCreation.ts"
import * as RelayerEditing from "./RelayerEditing.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import { RelayerPagesRepo } from "./RelayerPagesRepo.ts"
import * as RelayerReading from "./RelayerReading.ts"
import { RelayersRepo } from "./RelayersRepo.ts"
import type { StoredPage, StoredRelayer } from "./StoredRelayer.ts"

export class StoredRelayers extends Context.Service<
  StoredRelayers,
  {
    create(request: CreateRelayer): Effect.Effect<StoredRelayer, RelayerIdTaken | BadRequest | Forbidden>
    list(query: RelayerQuery): Effect.Effect<StoredPage, BadRequest>
    get(id: RelayerId): Effect.Effect<StoredRelayer, RelayerNotFound>
    /** `StoredRelayer.number`, even if the row was changed in the database. */
    numberOf(id: RelayerId): Effect.Effect<number, RelayerNotFound>
    /** `ifMatch` is an `If-Match` header. Fails with `PreconditionFailed` if it names another version. */
    update(
      id: RelayerId,
      patch: UpdateRelayer,
      ifMatch?: string
    ): Effect.Effect<StoredRelayer, RelayerNotFound | BadRequest | PreconditionFailed>
    delete(id: RelayerId, ifMatch?: string): Effect.Effect<void, RelayerNotFound | RelayerInUse | PreconditionFailed>
  }
>()("effect-relayer/server/relayers/StoredRelayers") {
  static readonly layerNoDeps = Layer.effect(
    StoredRelayers,
    Effect.gen(function* () {
      const create = yield* RelayerCreation.make
      const reading = yield* RelayerReading.make
      const editing = yield* RelayerEditing.make
      return StoredRelayers.of({ create, ...reading, ...editing })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([
      RelayersRepo.layer,
      NewRelayersRepo.layer,
      RelayerPagesRepo.layer,
      RelayerMacs.layer,
      Cursors.layer,
      SecureRandom.layerWebCrypto
    ])
  )
}
