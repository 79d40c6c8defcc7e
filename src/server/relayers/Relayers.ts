// Relayers with their versions, for HTTP, host programs and other features. A response is their stored JSON as it is.
import { Context, Effect, Layer, Metric, Result } from "effect"
import type { Exit, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import type { Forbidden, TooManyRequests } from "../../domain/access/Caller.ts"
import { NetworkType } from "../../domain/network/Network.ts"
import { CreateRelayer, createRequestOf, UpdateRelayer } from "../../domain/relayer/Relayer.ts"
import type {
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  RelayerIsChannel,
  RelayerNotFound,
  RelayerQuery
} from "../../domain/relayer/Relayer.ts"
import { BadRequest, checked } from "../../domain/request/Request.ts"
import type { PreconditionFailed } from "../../domain/request/Request.ts"
import type { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { CurrentShare, withShare } from "../../sql/Transaction.ts"
import type { ConnectionShare } from "../../sql/Transaction.ts"
import { maxNumberedBytes } from "../../sql/Rows.ts"
import type { Ids } from "../../sql/Rows.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Cursors } from "../cursors/Cursors.ts"
import { measureGauge } from "../lifecycle/SharedJobs.ts"
import { makeRelayerCreation, makeRelayerEditing } from "./RelayerChanges.ts"
import * as RelayerPagesRepo from "./RelayerPagesRepo.ts"
import { nextCursor, readCursor } from "./RelayerPagesRepo.ts"
import type { RelayerSelection } from "./RelayerPagesRepo.ts"
import { makeRelayerUrls } from "./RelayerTargets.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import { orNotFound, RelayerMacs, StoredPage } from "./StoredRelayer.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"

// Reads relayers and pages of them. Concurrent reads share queries.

// `get` and `list` have no spans of their own: the spans of their queries say the same, and a span costs as much as a read.
/** A page by number has to be whole: a caller that counts pages would miss what was left off. */
const tooLarge = (served: number) =>
  BadRequest.of([{ field: "per_page", message: `only ${served} of these relayers fit into ${maxNumberedBytes} bytes` }])

/** A page that a caller asks for. Its query uses the caller's share of the connections. */
interface Reading {
  readonly selection: RelayerSelection
  readonly callerId: string
  readonly share: ConnectionShare | undefined
}

const makeRelayerReading = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* RelayersRepo.make
  const pages = yield* RelayerPagesRepo.make
  const cursors = yield* Cursors

  const find = yield* Batcher.make<RelayerId, Exit.Exit<Option.Option<StoredRelayer>>>(sql, { all: repo.findAll })

  const get = (id: RelayerId) => Effect.flatMap(Effect.flatten(find(id)), orNotFound)

  const findNumber = yield* Batcher.make<RelayerId, Option.Option<number>>(sql, { all: repo.findNumbers })

  const numberOf = (id: RelayerId) => Effect.flatMap(findNumber(id), orNotFound)

  const readPage = Effect.fnUntraced(function* (selection: RelayerSelection) {
    const { page, last, served, isCut } = yield* pages.find(selection)
    if (isCut && selection.from === undefined) return Result.fail(tooLarge(served))
    if (last === undefined) return Result.succeed(page)
    const next = yield* nextCursor(cursors, selection, page, last)
    return Result.succeed(new StoredPage({ ...page, next }))
  })

  /**
   * Requests of a caller for the same page share one query and one cursor. The query starts after all of them have arrived.
   */
  const findPage = yield* Batcher.make<Reading, Result.Result<StoredPage, BadRequest>>(sql, {
    group: ({ selection, callerId }) => JSON.stringify([callerId, selection]),
    all: ([{ selection, share }, ...others]) =>
      Effect.map(withShare(share)(readPage(selection)), (page) => [page, ...others.map(() => page)])
  })

  const list = Effect.fnUntraced(function* (query: RelayerQuery) {
    const { id: callerId, relayerIds } = yield* Caller.current
    const share = yield* CurrentShare
    const selection = yield* readCursor(cursors, query, relayerIds)
    return yield* Effect.flatMap(findPage({ selection, callerId, share }), Effect.fromResult)
  })

  return { get, numberOf, list }
})

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
     * Why `update` would fail for each of the relayers. One that does not exist is left out.
     *
     * @internal
     */
    refusals(patches: ReadonlyMap<RelayerId, UpdateRelayer>): Effect.Effect<ReadonlyMap<RelayerId, string>>
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
      const creation = yield* makeRelayerCreation
      const reading = yield* makeRelayerReading
      const editing = yield* makeRelayerEditing
      const repo = yield* RelayersRepo.make
      const urls = yield* makeRelayerUrls

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

// Counts the relayers.

export const relayerCount = Metric.gauge("relayers", { description: "Relayers, by network type and state." })

/** Every group is set, so that one without relayers is 0 and does not keep its last value. */
const countedGroups = NetworkType.literals.flatMap((network_type) =>
  (["active", "waiting", "paused", "disabled"] as const).map((state) => ({ network_type, state }))
)

export const layerRelayerCount = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* RelayersRepo.make
    const measure = Effect.gen(function* () {
      const counts = yield* repo.count
      for (const { network_type, state } of countedGroups) {
        const group = counts.find((other) => other.network_type === network_type && other.state === state)
        yield* Metric.update(Metric.withAttributes(relayerCount, { network_type, state }), group?.count ?? 0)
      }
    })
    yield* measureGauge(relayerCount.id, measure)
  })
).pipe(Layer.provide(RelayerMacs.layer))
