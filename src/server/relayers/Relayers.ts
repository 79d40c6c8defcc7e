// Relayers with their versions, for HTTP, host programs and other features. A response is their stored JSON as it is.
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { Forbidden, TooManyRequests } from "../../domain/access/Caller.ts"
import { CreateRelayer, createRequestOf, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import type {
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  RelayerIsChannel,
  RelayerNotFound,
  RelayerQuery
} from "../../domain/relayer/Relayer.ts"
import { checked } from "../../domain/request/Request.ts"
import type { BadRequest, PreconditionFailed } from "../../domain/request/Request.ts"
import type { Ids } from "../../sql/Rows.ts"
import { Cursors } from "../cursors/Cursors.ts"
import * as RelayerCreation from "./RelayerCreation.ts"
import * as RelayerEditing from "./RelayerEditing.ts"
import { RelayerMacs } from "./RelayerMacs.ts"
import * as RelayerReading from "./RelayerReading.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import * as RelayerUrls from "./RelayerUrls.ts"
import type { StoredPage, StoredRelayer } from "./StoredRelayer.ts"

const checkCreate = checked(CreateRelayer)
const checkUpdate = checked(UpdateRelayer)

export interface ConfiguredRelayer {
  readonly id: RelayerId
  /** `StoredRelayer.number` */
  readonly number: number
  readonly address: string
  readonly request: CreateRelayer
}

export class Relayers extends Context.Service<
  Relayers,
  {
    /**
     * Fails with `RelayerIdTaken` if the id exists, whatever else is wrong; of concurrent creates with one id, one succeeds.
     * Fails with `RelayerIsChannel` if the address of the signer is one that the service made for a channel.
     * Fails with `BadRequest` if a field is invalid, if the signer, network or notification does not exist, or if the signer cannot serve the
     * network type; with `Forbidden` if the caller is limited to other relayers; with `TransactionLimitExceeded` if it has
     * limits and names RPC URLs.
     */
    create(
      request: CreateRelayer
    ): Effect.Effect<
      StoredRelayer,
      RelayerIdTaken | RelayerIsChannel | BadRequest | Forbidden | TransactionLimitExceeded
    >
    /**
     * Asks the providers of a relayer that is about to be created, for 1.8 seconds at most, outside of any transaction, and says what is wrong: with
     * them, and with the account. Empty also if the network or the signer does not exist, which `create` refuses.
     */
    preview(
      request: CreateRelayer
    ): Effect.Effect<ReadonlyArray<string>, BadRequest | Forbidden | TransactionLimitExceeded | TooManyRequests>
    /** The caller sees only the relayers that its key is limited to. Fails with `BadRequest` if the cursor is invalid. */
    list(query: RelayerQuery): Effect.Effect<StoredPage, BadRequest>
    get(id: RelayerId): Effect.Effect<StoredRelayer, RelayerNotFound>
    /**
     * `StoredRelayer.number`, even if the row was changed in the database.
     *
     * @internal
     */
    numberOf(id: RelayerId): Effect.Effect<number, RelayerNotFound>
    /**
     * The relayers with these ids as the requests that would create them, for configurations. `lock`: their rows are locked
     * until the running transaction ends.
     *
     * @internal
     */
    configured(ids: Ids, lock: boolean): Effect.Effect<ReadonlyArray<ConfiguredRelayer>>
    /**
     * Fails with `BadRequest` if the result is not a valid relayer. Concurrent patches apply one after the other. `ifMatch` is an
     * `If-Match` header: fails with `PreconditionFailed` if it names another version. A caller with limits may change neither
     * RPC URLs nor policies: `TransactionLimitExceeded`.
     */
    update(
      id: RelayerId,
      patch: UpdateRelayer,
      ifMatch?: string
    ): Effect.Effect<StoredRelayer, RelayerNotFound | BadRequest | PreconditionFailed | TransactionLimitExceeded>
    /**
     * Makes the relayer what the request says: what the request leaves out is removed. Network and signer must be those of the
     * relayer. Fails as `update` does.
     *
     * @internal
     */
    define(
      id: RelayerId,
      request: CreateRelayer
    ): Effect.Effect<void, RelayerNotFound | BadRequest | PreconditionFailed | TransactionLimitExceeded>
    /**
     * Why `define` would fail for each of the relayers. One that does not exist is left out.
     *
     * @internal
     */
    refusals(requests: ReadonlyMap<RelayerId, CreateRelayer>): Effect.Effect<ReadonlyMap<RelayerId, string>>
    /**
     * Fails as `create` does, as far as the request alone says: what it refers to is not read.
     *
     * @internal
     */
    check(request: CreateRelayer): Effect.Effect<void, BadRequest | Forbidden | TransactionLimitExceeded>
    /** `ifMatch` as for `update`. */
    delete(id: RelayerId, ifMatch?: string): Effect.Effect<void, RelayerNotFound | RelayerInUse | PreconditionFailed>
  }
>()("effect-relayer/server/relayers/Relayers") {
  /** @internal */
  static readonly layer = Layer.effect(
    Relayers,
    Effect.gen(function* () {
      const creation = yield* RelayerCreation.make
      const reading = yield* RelayerReading.make
      const editing = yield* RelayerEditing.make
      const repo = yield* RelayersRepo.make
      const urls = yield* RelayerUrls.make

      const configured = Effect.fn("Relayers.configured")(function* (ids: Ids, lock: boolean) {
        return yield* Effect.forEach(
          yield* repo.findAllSealed(ids, lock),
          Effect.fnUntraced(function* (held) {
            const request = createRequestOf(held.value, yield* urls.open(held))
            return { id: held.id, number: held.number, address: held.value.address, request }
          })
        )
      })

      return Relayers.of({
        configured,
        ...reading,
        ...editing,
        check: creation.check,
        create: (request) => Effect.flatMap(checkCreate(request), creation.create),
        preview: (request) => Effect.flatMap(checkCreate(request), creation.preview),
        update: (id, patch, ifMatch) =>
          Effect.flatMap(checkUpdate(patch), (patch) => editing.update(id, patch, ifMatch))
      })
    })
  ).pipe(Layer.provide([RelayerMacs.layer, Cursors.layer, SecureRandom.layerWebCrypto]))
}
