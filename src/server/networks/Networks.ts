// Networks with their versions, for HTTP, host programs and other features: the built-in ones, with a team's changes, and a team's own.
import { Array, Context, Effect, Function, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { abilityWarnings, providerWarnings } from "../../domain/health/ChainWarnings.ts"
import type { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { Chains } from "../chains/Chains.ts"
import * as Inspection from "../chains/Inspection.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import { protocolOf, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { unanswered } from "../../domain/health/Funding.ts"
import { CreateNetwork, networkId, UpdateNetwork } from "../../domain/network/Network.ts"
import type {
  Network,
  NetworkDefinition,
  NetworkId,
  NetworkIdTaken,
  NetworkInUse,
  NetworkNotFound,
  NetworkType
} from "../../domain/network/Network.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { checked, fittingResources } from "../../domain/request/Request.ts"
import type { BadRequest, PreconditionFailed, Versioned } from "../../domain/request/Request.ts"
import { maxNumberedBytes } from "../../sql/Rows.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { builtin } from "./builtin.ts"
import * as NetworkEditing from "./NetworkEditing.ts"
import * as NetworkReading from "./NetworkReading.ts"
import * as NetworkResolver from "./NetworkResolver.ts"
import * as NetworksRepo from "./NetworksRepo.ts"
import * as NetworkUrls from "./NetworkUrls.ts"

const checkCreate = checked(CreateNetwork)
const checkUpdate = checked(UpdateNetwork)

/** A network and its unmasked URLs. */
export interface CallableNetwork {
  readonly network: Network
  readonly urls: ReadonlyArray<RpcConfig>
}

/** What a network defines itself. Its RPC URLs are unmasked. */
export interface ConfiguredNetwork {
  readonly id: NetworkId
  /** Absent: a built-in network without overrides. */
  readonly own?: NetworkDefinition
  /** What comes with the service. Absent: the network is a team's own. */
  readonly builtin?: NetworkDefinition
}

export class Networks extends Context.Service<
  Networks,
  {
    /** The built-in ones first, then a team's own in creation order. */
    list(query: PageQuery): Effect.Effect<Page<Network>>
    get(id: NetworkId): Effect.Effect<Versioned<Network>, NetworkNotFound>
    /**
     * Fails with `BadRequest` if the request and what it inherits are not a whole network, or if a URL points to an address
     * that is not allowed. Callers with limits of transactions create, change and delete none: `TransactionLimitExceeded`.
     */
    create(
      request: CreateNetwork
    ): Effect.Effect<Versioned<Network>, NetworkIdTaken | BadRequest | TransactionLimitExceeded>
    /**
     * Asks the providers of a network that is about to be created whether they are on its chain, for 1.8 seconds at most, outside of any transaction,
     * and names those that are not. Fails as `create` does.
     */
    preview(
      request: CreateNetwork
    ): Effect.Effect<ReadonlyArray<string>, NetworkIdTaken | BadRequest | TransactionLimitExceeded | TooManyRequests>
    /** Asks the providers of a network whether they are on its chain, and what they can do, for 1.8 seconds at most. In the order of its URLs. */
    probe(id: NetworkId): Effect.Effect<ReadonlyArray<Inspection.ProbedProvider>, NetworkNotFound | TooManyRequests>
    /**
     * Overrides a built-in network. Fails with `BadRequest` as `create` does. `ifMatch` is an `If-Match` header: fails with
     * `PreconditionFailed` if it names another version.
     */
    update(
      id: NetworkId,
      patch: UpdateNetwork,
      ifMatch?: string
    ): Effect.Effect<Versioned<Network>, NetworkNotFound | BadRequest | PreconditionFailed | TransactionLimitExceeded>
    /**
     * Makes the network what the request says: what the request leaves out is inherited or built in. Fails with `BadRequest` as
     * `create` does, and if it would change the chain of a network that is used.
     *
     * @internal
     */
    define(request: CreateNetwork): Effect.Effect<void, NetworkNotFound | BadRequest | TransactionLimitExceeded>
    /**
     * Why `define` would fail for each of the networks, if all are defined together.
     *
     * @internal
     */
    refusals(requests: ReadonlyArray<CreateNetwork>): Effect.Effect<ReadonlyMap<NetworkId, string>>
    /**
     * Resets a built-in network, also while it is used. Fails with `BadRequest` if a built-in network was not changed. `ifMatch` as
     * for `update`.
     */
    delete(
      id: NetworkId,
      ifMatch?: string
    ): Effect.Effect<
      "deleted" | "reset",
      NetworkNotFound | NetworkInUse | BadRequest | PreconditionFailed | TransactionLimitExceeded
    >
    /** `undefined`: there is no such network. */
    locate(type: NetworkType, name: string): Effect.Effect<"builtin" | "own" | undefined>
    /** The names of all networks of the type, built-in ones first. */
    names(type: NetworkType): Effect.Effect<ReadonlyArray<string>>
    /**
     * The definitions of the networks with these ids, for configurations; all: those of a team's own and changed ones. `lock`: no network changes until the running
     * transaction ends.
     *
     * @internal
     */
    configured(ids: ReadonlyArray<NetworkId> | "all", lock: boolean): Effect.Effect<ReadonlyArray<ConfiguredNetwork>>
    /** With the unmasked URLs, for calls. */
    callable(id: NetworkId): Effect.Effect<CallableNetwork, NetworkNotFound>
  }
>()("effect-relayer/server/networks/Networks") {
  /** @internal */
  static readonly layer = Layer.effect(
    Networks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* NetworksRepo.make
      const secrets = yield* Secrets
      const reading = yield* NetworkReading.make
      const editing = yield* NetworkEditing.make
      const chains = yield* Chains
      const outboundWork = yield* OutboundWork

      const list = Effect.fn("Networks.list")(function* (query: PageQuery) {
        const request = pageRequest(query)
        const shown = builtin.slice(request.offset, request.offset + request.perPage).map(({ id }) => id)
        const own = yield* repo.page({
          perPage: request.perPage - shown.length,
          offset: Math.max(0, request.offset - builtin.length),
          overrides: shown
        })
        const resolver = NetworkResolver.make(own)
        const all = own.isCut ? [] : [...shown, ...own.ids].flatMap((id) => resolver.get(id) ?? [])
        // Each has a copy of what it inherits.
        const items = fittingResources(all, maxNumberedBytes)
        const isCut = own.isCut || items.length < all.length
        return { items, total: builtin.length + own.total, request, isCut, unreadable: own.unreadable }
      })

      /** Every accepted transaction reads its network: reads of one network at one moment share a statement. */
      const find = yield* Batcher.make<NetworkId, Versioned<Network> | undefined>(sql, {
        group: (id) => id,
        all: (ids) => {
          const [id] = ids
          return Effect.map(reading.read(id), (resolver) =>
            Array.makeBy(ids.length, Function.constant(resolver.versioned(id)))
          )
        }
      })

      const get = Effect.fn("Networks.get")((id: NetworkId) => Effect.flatMap(find(id), NetworkReading.orNotFound))

      const locate = Effect.fn("Networks.locate")(function* (type: NetworkType, name: string) {
        const id = networkId(type, name)
        if (NetworkResolver.isBuiltin(id)) return "builtin" as const
        return (yield* repo.exists(id)) ? ("own" as const) : undefined
      })

      const names = Effect.fn("Networks.names")(function* (type: NetworkType) {
        const ids = new Set([...builtin.map(({ id }) => id), ...(yield* repo.ids)])
        const prefix = `${type}:`
        return [...ids].flatMap((id) => (id.startsWith(prefix) ? [id.slice(prefix.length)] : []))
      })

      const readCallable = Effect.fnUntraced(function* (id: NetworkId) {
        const resolver = yield* reading.read(id)
        const network = resolver.get(id)
        return network && { network, urls: yield* Effect.orDie(reading.rpcUrls(resolver, id)) }
      })

      /** Lanes and health checks read it before each step: reads of one network at one moment share a statement. */
      const callableOf = yield* Batcher.make<NetworkId, CallableNetwork | undefined>(sql, {
        group: (id) => id,
        all: (ids) => Effect.map(readCallable(ids[0]), (found) => ids.map(() => found))
      })

      const callable = Effect.fn("Networks.callable")((id: NetworkId) =>
        Effect.flatMap(callableOf(id), NetworkReading.orNotFound)
      )

      const configured = Effect.fn("Networks.configured")(function* (
        given: ReadonlyArray<NetworkId> | "all",
        lock: boolean
      ) {
        if (lock) yield* repo.lock
        const ids = given === "all" ? yield* repo.ids : given
        const rows = new Map((yield* repo.find(ids)).rows.map((row) => [row.id, row]))
        return yield* Effect.forEach(
          ids,
          Effect.fnUntraced(function* (id): Effect.fn.Return<ReadonlyArray<ConfiguredNetwork>> {
            const given = NetworkResolver.builtinDefinition(id)
            const builtin = given === undefined ? {} : { builtin: given }
            const row = rows.get(id)
            if (row === undefined) return given === undefined ? [] : [{ id, ...builtin }]
            const sealed = row.rpc_urls_sealed
            const urls =
              sealed === undefined || row.definition.rpc_urls === undefined
                ? {}
                : { rpc_urls: yield* NetworkUrls.open(secrets, id, sealed) }
            return [{ id, own: { ...row.definition, ...urls }, ...builtin }]
          })
        ).pipe(Effect.map((found) => found.flat()))
      })

      const probed = (network: Network, urls: ReadonlyArray<RpcConfig>) =>
        outboundWork.run(
          Effect.timeoutOrElse(chains.probe({ network, urls, budgetMs: Inspection.previewBudgetMs }), {
            duration: Inspection.previewPatience,
            orElse: (): Effect.Effect<ReadonlyArray<Inspection.ProbedProvider>> =>
              Effect.succeed(unanswered(network, urls).providers)
          })
        )

      const preview = Effect.fn("Networks.preview")(function* (request: CreateNetwork) {
        const { network, urls } = yield* editing.plan(request)
        const found = yield* probed(network, urls)
        const newer = protocolWarning(protocolOf(found))
        return [
          ...found.flatMap((provider) => [...providerWarnings(provider), ...abilityWarnings(network, provider)]),
          ...(newer === undefined ? [] : [newer])
        ]
      })

      const probe = Effect.fn("Networks.probe")(function* (id: NetworkId) {
        const { network, urls } = yield* callable(id)
        return yield* probed(network, urls)
      })

      return Networks.of({
        configured,
        list,
        get,
        locate,
        names,
        callable,
        probe,
        create: (request) => Effect.flatMap(checkCreate(request), editing.create),
        preview: (request) => Effect.flatMap(checkCreate(request), preview),
        update: (id, patch, ifMatch) =>
          Effect.flatMap(checkUpdate(patch), (patch) => editing.update(id, patch, ifMatch)),
        define: editing.define,
        refusals: editing.refusals,
        delete: editing.delete
      })
    })
  )
}
