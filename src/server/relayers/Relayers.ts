// Relayers: the rules of creating, reading, changing and deleting one.
import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { Network } from "../../domain/network/Network.ts"
import { RelayerId, RelayerIdTaken, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import type {
  CreateRelayer,
  DisabledReason,
  Relayer,
  RelayerQuery,
  UpdateRelayer
} from "../../domain/relayer/Relayer.ts"
import * as RelayerPatch from "../../domain/relayer/RelayerPatch.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { maskRpc } from "../../domain/chain/Rpc.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { PreconditionFailed, isCurrent } from "../../domain/request/Version.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { Cursors } from "../cursors/Cursors.ts"
import * as CommitSignal from "../lifecycle/CommitSignal.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import * as RpcUrls from "../chains/RpcUrls.ts"
import * as Origin from "../responses/Origin.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { Signers } from "../signers/Signers.ts"
import * as CreationBatches from "./CreationBatches.ts"
import { NewRelayersRepo } from "./NewRelayersRepo.ts"
import type { StoredUrls } from "./NewRelayersRepo.ts"
import * as RelayerReferences from "./RelayerReferences.ts"
import { RelayerPagesRepo } from "./RelayerPagesRepo.ts"
import type { FoundPage, RelayerSelection } from "./RelayerPagesRepo.ts"
import { RelayersRepo } from "./RelayersRepo.ts"
import type { RelayerCount } from "./RelayersRepo.ts"
import * as RelayersCursor from "./RelayersCursor.ts"
import { StoredPage } from "./StoredRelayer.ts"
import type { HeldRelayer, StoredRelayer } from "./StoredRelayer.ts"

const noUrls: StoredUrls = { masked: undefined, sealed: undefined }

const place = (id: RelayerId) => ({ table: "relayers", id, column: "custom_rpc_urls" })

/** What a look at a relayer's chain needs. */
export interface RelayerTarget {
  readonly relayer: Relayer
  readonly version: number
  readonly network: Network
  /** The true ones: its own, or the network's. */
  readonly urls: ReadonlyArray<RpcConfig>
}

const orNotFound = Option.match({
  onNone: () => Effect.fail(new RelayerNotFound({})),
  onSome: <A>(found: A) => Effect.succeed(found)
})

export class Relayers extends Context.Service<
  Relayers,
  {
    /**
     * Fails with `RelayerIdTaken` if the id exists, whatever else is wrong; of concurrent creates with one id, one succeeds.
     * Fails with `BadRequest` if the signer, network or notification does not exist, or if the signer cannot serve the
     * network type; with `Forbidden` if the caller is limited to other relayers.
     */
    create(request: CreateRelayer): Effect.Effect<StoredRelayer, RelayerIdTaken | BadRequest | Caller.Forbidden>
    /** `BadRequest` where the cursor is none of this list. */
    list(query: RelayerQuery): Effect.Effect<StoredPage, BadRequest>
    get(id: RelayerId): Effect.Effect<StoredRelayer, RelayerNotFound>
    /** `ifMatch`: an `If-Match` header; `PreconditionFailed` where it names another version. */
    update(
      id: RelayerId,
      patch: UpdateRelayer,
      ifMatch?: string
    ): Effect.Effect<StoredRelayer, RelayerNotFound | BadRequest | PreconditionFailed>
    delete(id: RelayerId, ifMatch?: string): Effect.Effect<void, RelayerNotFound | PreconditionFailed>
    readonly count: Effect.Effect<ReadonlyArray<RelayerCount>>
    target(id: RelayerId): Effect.Effect<RelayerTarget, RelayerNotFound>
    /** Holds it until the running transaction ends. */
    hold(id: RelayerId): Effect.Effect<StoredRelayer, RelayerNotFound>
    /** By the service, of a relayer that is held; undefined: it is not, any more. Telling of it is the caller's. */
    setDisabled(id: RelayerId, reason: DisabledReason | undefined): Effect.Effect<Relayer>
  }
>()("effect-relayer/server/relayers/Relayers") {
  static readonly layerNoDeps = Layer.effect(
    Relayers,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* RelayersRepo
      const pages = yield* RelayerPagesRepo
      const signers = yield* Signers
      const notifications = yield* Notifications
      const networks = yield* Networks
      const secrets = yield* Secrets
      const outbound = yield* Outbound
      const changes = yield* Changes
      const cursors = yield* Cursors
      const checkDue = yield* CommitSignal.make("health_checks")
      const random = yield* SecureRandom.SecureRandom
      const transaction = yield* Transaction.make
      const insert = yield* CreationBatches.make

      const missing = (request: CreateRelayer) =>
        Effect.flatMap(RelayerReferences.missing({ networks, signers, notifications }, request), Effect.fail)

      const store = Effect.fnUntraced(function* (id: RelayerId, urls: CreateRelayer["custom_rpc_urls"]) {
        if (urls === undefined || urls.length === 0) return noUrls
        const refused = RpcUrls.refuseAll(outbound, "custom_rpc_urls", urls)
        if (refused.length > 0) return yield* BadRequest.of(refused)
        const sealed = yield* RpcUrls.seal(secrets, urls, place(id))
        return { masked: urls.map(maskRpc), sealed }
      })

      /** A request that is sent twice is answered with the conflict, also if what it refers to is gone by now. */
      const takenFirst = (id: RelayerId) => (refused: BadRequest) =>
        Effect.flatMap(repo.find(id), (found) => Effect.fail(Option.isSome(found) ? new RelayerIdTaken({}) : refused))

      const insertChecked = Effect.fnUntraced(function* (id: RelayerId, request: CreateRelayer) {
        const located = yield* networks.locate(request.network_type, request.network)
        if (located === undefined) return yield* missing(request)
        const urls = yield* store(id, request.custom_rpc_urls)
        const ownNetworkId = located === "own" ? networkId(request.network_type, request.network) : undefined
        const origin = yield* Origin.current
        return yield* Effect.catchTag(insert({ id, request, urls, ownNetworkId, origin }), "ReferenceMissing", () =>
          missing(request)
        )
      })

      const create = Effect.fn("Relayers.create")(function* (request: CreateRelayer) {
        const id = request.id ?? RelayerId.make(yield* random.uuidV4())
        if (!Caller.mayUseRelayer(yield* Caller.current, id)) return yield* new Caller.Forbidden({})
        const relayer = yield* Effect.catchTag(insertChecked(id, request), "BadRequest", takenFirst(id))
        const { network_type, network } = request
        yield* Effect.annotateLogs(Effect.logInfo("relayer created"), { relayer_id: id, network_type, network })
        return relayer
      })

      /** Requests for the same page share one query, which starts after all of them have arrived. */
      const findPage = yield* Batcher.make<RelayerSelection, FoundPage>(sql, {
        group: (selection) => JSON.stringify(selection),
        all: ([selection, ...others]) =>
          Effect.map(pages.find(selection), (found) => [found, ...others.map(() => found)])
      })

      // `list` and `get` have no spans of their own: the spans of their queries say the same, and a span costs as much as a read.
      const list = Effect.fnUntraced(function* (query: RelayerQuery) {
        const ids = (yield* Caller.current).relayerIds
        const selection = yield* RelayersCursor.read(cursors, query, ids)
        const { page, last } = yield* findPage(selection)
        if (last === undefined) return page
        return new StoredPage({ ...page, next: yield* RelayersCursor.next(cursors, selection, page, last) })
      })

      const find = yield* Batcher.make<RelayerId, Option.Option<StoredRelayer>>(sql, { all: repo.findAll })

      const get = (id: RelayerId) => Effect.flatMap(find(id), orNotFound)

      /** The relayer, held until the transaction ends, so that of two changes the second sees the first. */
      const hold = Effect.fn("Relayers.hold")((id: RelayerId) => Effect.flatMap(repo.findForUpdate(id), orNotFound))

      const holdMatching = Effect.fnUntraced(function* (id: RelayerId, ifMatch: string | undefined) {
        const found = yield* hold(id)
        return isCurrent(ifMatch, found.version) ? found : yield* new PreconditionFailed({})
      })

      const trueUrls = (id: RelayerId, { urlsSealed }: HeldRelayer) =>
        urlsSealed === undefined ? Effect.undefined : RpcUrls.open(secrets, urlsSealed, place(id))

      const update = Effect.fn("Relayers.update")(
        function* (id: RelayerId, patch: UpdateRelayer, ifMatch?: string) {
          const held = yield* holdMatching(id, ifMatch)
          const before = held.value
          const { request, isChanged } = yield* RelayerPatch.apply(before, yield* trueUrls(id, held), patch)
          if (!isChanged) return held
          const urls = patch.custom_rpc_urls === undefined ? undefined : yield* store(id, request.custom_rpc_urls)
          const after = yield* repo.update(id, request, urls)
          yield* changes.recordRelayer({ action: "relayer.updated", before, after: after.value })
          yield* checkDue.afterCommit
          yield* Effect.annotateLogs(Effect.logInfo("relayer updated"), { relayer_id: id, version: after.version })
          return after
        },
        transaction,
        Effect.catchTag("ReferenceMissing", () => Effect.fail(BadRequest.of([RelayerReferences.noNotification])))
      )

      const remove = Effect.fn("Relayers.delete")(function* (id: RelayerId, ifMatch?: string) {
        const { value: before } = yield* holdMatching(id, ifMatch)
        yield* repo.delete(id)
        yield* changes.recordRelayer({ action: "relayer.deleted", before })
        yield* Effect.annotateLogs(Effect.logInfo("relayer deleted"), { relayer_id: id })
      }, transaction)

      const target = Effect.fn("Relayers.target")(function* (id: RelayerId) {
        const found = yield* Effect.flatMap(repo.findSealed(id), orNotFound)
        const { value: relayer, version } = found
        const networkOf = networkId(relayer.network_type, relayer.network)
        const own = yield* trueUrls(id, found)
        return yield* Effect.gen(function* () {
          const network = yield* networks.get(networkOf)
          return { relayer, version, network, urls: own ?? (yield* networks.rpcUrls(networkOf)) }
          // A network is there as long as its relayers are.
        }).pipe(Effect.catchTag("NetworkNotFound", () => Effect.fail(new RelayerNotFound({}))))
      })

      const setDisabled = Effect.fn("Relayers.setDisabled")(function* (
        id: RelayerId,
        reason: DisabledReason | undefined
      ) {
        const { value, version } = yield* repo.setDisabled(id, reason)
        yield* reason === undefined
          ? Effect.annotateLogs(Effect.logInfo("relayer enabled"), { relayer_id: id, version })
          : Effect.annotateLogs(Effect.logWarning("relayer disabled"), {
              relayer_id: id,
              version,
              disabled_reason: reason.type,
              details: reason.details
            })
        return value
      })

      return Relayers.of({
        create,
        list,
        get,
        update,
        delete: remove,
        count: repo.count,
        target,
        hold,
        setDisabled
      })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(
    Layer.provide([
      RelayersRepo.layer,
      NewRelayersRepo.layer,
      RelayerPagesRepo.layer,
      Cursors.layer,
      SecureRandom.layerWebCrypto
    ])
  )
}
