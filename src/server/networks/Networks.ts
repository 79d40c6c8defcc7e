// Networks with their versions, for HTTP, host programs and other features: the built-in ones, with a team's changes, and a team's own.
import { Array, Context, Effect, Equal, Function, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import { protocolOf, protocolWarning } from "../../domain/chain/ChainSnapshot.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { abilityWarnings, providerWarnings } from "../../domain/health/ChainWarnings.ts"
import { unanswered } from "../../domain/health/Funding.ts"
import {
  applyNetworkPatch,
  chainViolations,
  CreateNetwork,
  Network,
  networkId,
  NetworkIdTaken,
  NetworkInUse,
  NetworkNotFound,
  siblingId,
  UpdateNetwork
} from "../../domain/network/Network.ts"
import type { NetworkDefinition, NetworkId, NetworkType } from "../../domain/network/Network.ts"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import {
  BadRequest,
  checked,
  checkResourceSize,
  fittingResources,
  isCurrentVersion,
  PreconditionFailed
} from "../../domain/request/Request.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { maxNumberedBytes } from "../../sql/Rows.ts"
import * as Batcher from "../../sql/batch/Batcher.ts"
import { TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { Chains, notServedField, previewBudgetMs, previewPatience } from "../chains/Chains.ts"
import type { ProbedProvider } from "../chains/Chains.ts"
import { Changes } from "../changes/Changes.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as NetworksRepo from "./NetworksRepo.ts"
import {
  builtinDefinition,
  checkUrls,
  isBuiltin,
  listIn,
  makeNetworkResolver,
  maskedUrls,
  nothingStored,
  noUrls,
  openUrls,
  sealUrls,
  unmaskUrls,
  urlLists
} from "./NetworksRepo.ts"
import type { NetworkResolver, ReadNetwork, UrlList } from "./NetworksRepo.ts"
import { builtin } from "./builtin.ts"

// Reads networks with what they inherit, and their unmasked RPC URLs.

const orNetworkNotFound = <A>(found: A | undefined) =>
  found === undefined ? Effect.fail(new NetworkNotFound({})) : Effect.succeed(found)

const makeNetworkReading = Effect.gen(function* () {
  const repo = yield* NetworksRepo.make
  const secrets = yield* Secrets

  /** `id` and everything that it inherits from; with `from`, also that network, which it is about to inherit from. */
  const read = (id: NetworkId, from?: string | null) =>
    Effect.map(repo.find(from ? [id, siblingId(id, from)] : [id]), makeNetworkResolver)

  const rpcUrls = Effect.fnUntraced(function* (resolver: NetworkResolver, id: NetworkId, list: UrlList = "rpc_urls") {
    const { giver, urls, sealed } = yield* orNetworkNotFound(resolver.rpcSource(id, list))
    return sealed === undefined ? urls : yield* openUrls(secrets, giver, sealed, list)
  })

  return { read, rpcUrls }
})

// The rules of creating, changing and deleting a network.

const makeNetworkEditing = Effect.gen(function* () {
  const repo = yield* NetworksRepo.make
  const secrets = yield* Secrets
  const outbound = yield* Outbound
  const chains = yield* Chains
  const changes = yield* Changes
  const transaction = yield* Transaction.make
  const { read, rpcUrls } = yield* makeNetworkReading

  const current = (id: NetworkId) => Effect.flatMap(read(id), (resolver) => orNetworkNotFound(resolver.versioned(id)))

  /** A network that was changed in the database can still be deleted. */
  const deletable = Effect.fnUntraced(function* (id: NetworkId) {
    const stored = yield* repo.findForDelete([id])
    return yield* orNetworkNotFound(makeNetworkResolver(stored).versioned(id))
  })

  /** Excludes every other change of a network until the transaction ends. */
  const hold = Effect.fnUntraced(function* (
    id: NetworkId,
    ifMatch: string | undefined,
    find: (id: NetworkId) => Effect.Effect<Versioned<Network>, NetworkNotFound> = current
  ) {
    yield* repo.lock
    const found = yield* find(id)
    return isCurrentVersion(ifMatch, found.version) ? found : yield* new PreconditionFailed({})
  })

  /** Whether the network has these URLs. Stored URLs that do not open can only be replaced. */
  const hasUrls = Effect.fnUntraced(function* (resolver: NetworkResolver, id: NetworkId, given: UpdateNetwork) {
    for (const list of urlLists) {
      const urls = listIn(given, list)
      if (urls === undefined) continue
      const isSame = rpcUrls(resolver, id, list).pipe(
        Effect.map((stored) => Equal.equals(urls, stored)),
        Effect.catchCause(() => Effect.succeed(false))
      )
      if (!(yield* isSame)) return false
    }
    return true
  })

  const resolve = (
    resolver: NetworkResolver,
    id: NetworkId,
    definition: NetworkDefinition
  ): Effect.Effect<Network, BadRequest> =>
    Effect.mapError(Effect.fromResult(resolver.resolve(id, definition)), BadRequest.of)

  /** The providers of a network report prices, and what the sends of a limited caller have cost. */
  const checkLimits = Effect.gen(function* () {
    const { transactionLimits } = yield* Caller.current
    if (transactionLimits !== undefined) return yield* TransactionLimitExceeded.ofChange("network")
  })

  /** What a request would create. */
  const planned = Effect.fnUntraced(function* (request: CreateNetwork) {
    const id = networkId(request.network_type, request.name)
    const resolver = yield* read(id, request.from)
    if (resolver.own(id) !== undefined) return yield* new NetworkIdTaken({})
    const definition = maskedUrls(request)
    return { id, resolver, definition, network: yield* resolve(resolver, id, definition) }
  })

  const checkServed = ({ network_type }: CreateNetwork) =>
    chains.serves(network_type) ? Effect.void : Effect.fail(notServedField(network_type))

  const checkCreate = (request: CreateNetwork) =>
    Effect.all([checkLimits, checkServed(request), checkResourceSize(request), checkUrls(outbound, request)], {
      discard: true
    })

  /** What `create` would create, with the unmasked URLs. Fails as `create` does. */
  const plan = Effect.fnUntraced(function* (request: CreateNetwork) {
    yield* checkCreate(request)
    const { network, resolver } = yield* planned(request)
    const inherited = request.from === undefined ? undefined : networkId(request.network_type, request.from)
    if (request.rpc_urls !== undefined || inherited === undefined) return { network, urls: request.rpc_urls ?? [] }
    return { network, urls: yield* Effect.orDie(rpcUrls(resolver, inherited)) }
  })

  const create = Effect.fn("Networks.create")(function* (request: CreateNetwork) {
    yield* checkCreate(request)
    yield* repo.lock
    const { id, definition, network: after } = yield* planned(request)
    yield* repo.save(id, definition, { ...noUrls, ...(yield* sealUrls(secrets, id, request)) })
    yield* changes.record({ action: "network.created", id, schema: Network, after })
    yield* Effect.annotateLogs(Effect.logInfo("network created"), { network_id: id })
    return yield* Effect.orDie(current(id))
  }, transaction)

  const update = Effect.fn("Networks.update")(function* (id: NetworkId, given: UpdateNetwork, ifMatch?: string) {
    yield* checkLimits
    const held = yield* hold(id, ifMatch)
    const before = held.value
    if (isBuiltin(id) && "from" in given) {
      return yield* BadRequest.of([{ field: "from", message: "cannot be changed" }])
    }
    const resolver = yield* read(id, given.from)
    const patch = yield* unmaskUrls(given, (list) => rpcUrls(resolver, id, list))
    yield* checkUrls(outbound, patch)
    const own = yield* orNetworkNotFound(resolver.own(id))
    const definition = yield* applyNetworkPatch(own, maskedUrls(patch))
    // A patch without effect makes no version, no event and no audit record. Definitions have masked URLs, without their keys.
    if (Equal.equals(own, definition) && (yield* hasUrls(resolver, id, patch))) return held
    const unmasked = urlLists.flatMap((list) =>
      listIn(patch, list) === undefined ? [] : [[list, listIn(patch, list)]]
    )
    yield* checkResourceSize({ ...definition, ...Object.fromEntries(unmasked) }, own)
    const after = yield* resolve(resolver, id, definition)
    const violations = chainViolations(before, after)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    yield* repo.save(id, definition, yield* sealUrls(secrets, id, patch))
    yield* changes.record({ action: "network.updated", id, schema: Network, before, after })
    yield* Effect.annotateLogs(Effect.logInfo("network updated"), { network_id: id })
    return yield* current(id)
  }, transaction)

  /** The overrides of a built-in network: what differs from its own values. */
  const overrides = (id: NetworkId, request: CreateNetwork): CreateNetwork => {
    const builtin: { readonly [field: string]: unknown } = builtinDefinition(id) ?? {}
    const kept = Object.entries(request).filter(
      ([field, value]) => field === "name" || field === "network_type" || !Equal.equals(value, builtin[field])
    )
    return Object.fromEntries(kept) as CreateNetwork
  }

  /** A chain can change only while nothing is bound to it. */
  const checkChain = Effect.fnUntraced(function* (id: NetworkId, before: Network, after: Network) {
    const violations = chainViolations(before, after)
    if (violations.length === 0) return
    const { networks, relayers } = yield* repo.users(id, 1)
    if (isBuiltin(id) || networks.length + relayers.length > 0) return yield* BadRequest.of(violations)
  })

  /** What the request makes of a network. `beside` has the networks that it may inherit from. */
  const defined = Effect.fnUntraced(function* (given: CreateNetwork, stored: NetworkResolver, beside = stored) {
    yield* checkLimits
    const id = networkId(given.network_type, given.name)
    const before = stored.get(id)
    const request = overrides(
      id,
      before === undefined ? given : yield* unmaskUrls(given, (list) => rpcUrls(stored, id, list))
    )
    yield* checkResourceSize(request)
    yield* checkUrls(outbound, request)
    const definition = maskedUrls(request)
    const after = yield* resolve(beside, id, definition)
    if (before !== undefined) yield* checkChain(id, before, after)
    return { id, before, request, definition, after }
  })

  /** Why `define` would fail for each of the networks, if all are defined together. */
  const refusals = Effect.fnUntraced(function* (requests: ReadonlyArray<CreateNetwork>) {
    const refused = new Map<NetworkId, string>()
    if (requests.length === 0) return refused
    const idOf = ({ network_type }: CreateNetwork, name: string) => networkId(network_type, name)
    const ids = requests.flatMap((request) =>
      [request.name, request.from].flatMap((name) => (name === undefined ? [] : [idOf(request, name)]))
    )
    const { owners, rows } = yield* repo.find(ids)
    const wanted = requests.map((request) => {
      const id = idOf(request, request.name)
      return { id, definition: maskedUrls(overrides(id, request)), version: "" }
    })
    const changed = new Set(wanted.map(({ id }) => id))
    const stored = makeNetworkResolver({ owners, rows })
    const beside = makeNetworkResolver({ owners, rows: [...rows.filter(({ id }) => !changed.has(id)), ...wanted] })
    for (const request of requests) {
      const result = yield* Effect.result(defined(request, stored, beside))
      if (Result.isFailure(result)) refused.set(idOf(request, request.name), result.failure.message)
    }
    return refused
  })

  const define = Effect.fn("Networks.define")(function* (given: CreateNetwork) {
    yield* checkLimits
    yield* repo.lock
    const resolver = yield* read(networkId(given.network_type, given.name), given.from)
    const { after, before, definition, id, request } = yield* defined(given, resolver)
    yield* repo.save(id, definition, { ...noUrls, ...(yield* sealUrls(secrets, id, request)) })
    const change = { id, schema: Network, after }
    yield* changes.record(
      before === undefined ? { action: "network.created", ...change } : { action: "network.updated", ...change, before }
    )
    yield* Effect.annotateLogs(Effect.logInfo("network defined"), { network_id: id })
  }, transaction)

  const deleteRow = Effect.fn("Networks.delete")(function* (id: NetworkId, ifMatch?: string) {
    yield* checkLimits
    const { value: before } = yield* hold(id, ifMatch, deletable)
    if (before.source === "builtin") {
      return yield* BadRequest.of([{ field: "network_id", message: "is built in and has nothing to reset" }])
    }
    yield* repo.delete(id)
    const after = makeNetworkResolver(nothingStored).get(id)
    if (after === undefined) {
      yield* changes.record({ action: "network.deleted", id, schema: Network, before })
      yield* Effect.annotateLogs(Effect.logInfo("network deleted"), { network_id: id })
      return "deleted"
    }
    yield* changes.record({ action: "network.updated", id, schema: Network, before, after })
    yield* Effect.annotateLogs(Effect.logInfo("network reset"), { network_id: id })
    return "reset"
  }, transaction)

  /** Tries again if the last user has gone after the refusal, so that the error names users. */
  const remove = (
    id: NetworkId,
    ifMatch?: string
  ): Effect.Effect<
    "deleted" | "reset",
    NetworkNotFound | NetworkInUse | BadRequest | PreconditionFailed | TransactionLimitExceeded
  > =>
    Effect.catchTag(
      deleteRow(id, ifMatch),
      "NetworkInUse",
      Effect.fnUntraced(function* () {
        const users = yield* repo.users(id, maxNamed + 1)
        const kinds = (["relayers", "networks"] as const).filter((kind) => users[kind].length > 0)
        if (kinds.length === 0) return yield* remove(id, ifMatch)
        const caller = yield* Caller.current
        const error = kinds.map((kind) => usedBy(caller, kind, users[kind])).join("; ")
        return yield* new NetworkInUse({ error })
      })
    )

  return { plan, create, update, define, refusals, delete: remove }
})

const checkCreate = checked(CreateNetwork)
const checkUpdate = checked(UpdateNetwork)

/** A network and its unmasked URLs. */
export interface CallableNetwork extends Pick<ReadNetwork, "origins"> {
  readonly network: Network
  readonly urls: ReadonlyArray<RpcConfig>
  readonly privateUrls: ReadonlyArray<RpcConfig>
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
    get(id: NetworkId): Effect.Effect<ReadNetwork, NetworkNotFound>
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
    probe(id: NetworkId): Effect.Effect<ReadonlyArray<ProbedProvider>, NetworkNotFound | TooManyRequests>
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
    /** With its private URLs alone, for a relayer with RPC URLs of its own. */
    besides(id: NetworkId): Effect.Effect<Omit<CallableNetwork, "urls">, NetworkNotFound>
  }
>()("effect-relayer/server/networks/Networks") {
  /** @internal */
  static readonly layer = Layer.effect(
    Networks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* NetworksRepo.make
      const secrets = yield* Secrets
      const reading = yield* makeNetworkReading
      const editing = yield* makeNetworkEditing
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
        const resolver = makeNetworkResolver(own)
        const all = own.isCut ? [] : [...shown, ...own.ids].flatMap((id) => resolver.get(id) ?? [])
        // Each has a copy of what it inherits.
        const items = fittingResources(all, maxNumberedBytes)
        const isCut = own.isCut || items.length < all.length
        return { items, total: builtin.length + own.total, request, isCut, unreadable: own.unreadable }
      })

      /** Every accepted transaction reads its network: reads of one network at one moment share a statement. */
      const find = yield* Batcher.make<NetworkId, ReadNetwork | undefined>(sql, {
        group: (id) => id,
        all: (ids) => {
          const [id] = ids
          return Effect.map(reading.read(id), (resolver) =>
            Array.makeBy(ids.length, Function.constant(resolver.versioned(id)))
          )
        }
      })

      const get = Effect.fn("Networks.get")((id: NetworkId) => Effect.flatMap(find(id), orNetworkNotFound))

      const locate = Effect.fn("Networks.locate")(function* (type: NetworkType, name: string) {
        const id = networkId(type, name)
        if (isBuiltin(id)) return "builtin" as const
        return (yield* repo.exists(id)) ? ("own" as const) : undefined
      })

      const names = Effect.fn("Networks.names")(function* (type: NetworkType) {
        const ids = new Set([...builtin.map(({ id }) => id), ...(yield* repo.ids)])
        const prefix = `${type}:`
        return [...ids].flatMap((id) => (id.startsWith(prefix) ? [id.slice(prefix.length)] : []))
      })

      const readBeside = Effect.fnUntraced(function* (resolver: NetworkResolver, id: NetworkId) {
        const network = resolver.get(id)
        if (network === undefined) return undefined
        const privateUrls = yield* Effect.orDie(reading.rpcUrls(resolver, id, "private_rpc_urls"))
        return { network, privateUrls, origins: resolver.originsOf(id) }
      })

      const readCallable = Effect.fnUntraced(function* (resolver: NetworkResolver, id: NetworkId) {
        const found = yield* readBeside(resolver, id)
        return found && { ...found, urls: yield* Effect.orDie(reading.rpcUrls(resolver, id)) }
      })

      /** Lanes and health checks read a network before each step: reads of one network at one moment share a statement. */
      const readingTogether = <A>(make: (resolver: NetworkResolver, id: NetworkId) => Effect.Effect<A | undefined>) =>
        Batcher.make<NetworkId, A | undefined>(sql, {
          group: (id) => id,
          all: (ids) => {
            const [id] = ids
            const found = Effect.flatMap(reading.read(id), (resolver) => make(resolver, id))
            return Effect.map(found, (one) => Array.makeBy(ids.length, Function.constant(one)))
          }
        })
      const callableOf = yield* readingTogether(readCallable)
      const besideOf = yield* readingTogether(readBeside)

      const callable = Effect.fn("Networks.callable")((id: NetworkId) =>
        Effect.flatMap(callableOf(id), orNetworkNotFound)
      )

      const besides = Effect.fn("Networks.besides")((id: NetworkId) => Effect.flatMap(besideOf(id), orNetworkNotFound))

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
            const given = builtinDefinition(id)
            const builtin = given === undefined ? {} : { builtin: given }
            const row = rows.get(id)
            if (row === undefined) return given === undefined ? [] : [{ id, ...builtin }]
            const urls = yield* Effect.forEach(
              urlLists,
              Effect.fnUntraced(function* (list) {
                const sealed = row[`${list}_sealed` as const]
                return sealed === undefined || listIn(row.definition, list) === undefined
                  ? []
                  : [[list, yield* openUrls(secrets, id, sealed, list)] as const]
              })
            )
            return [{ id, own: { ...row.definition, ...Object.fromEntries(urls.flat()) }, ...builtin }]
          })
        ).pipe(Effect.map((found) => found.flat()))
      })

      const probed = Effect.fnUntraced(function* (network: Network, urls: ReadonlyArray<RpcConfig>) {
        if (!chains.serves(network.network_type)) return []
        return yield* outboundWork.run(
          Effect.timeoutOrElse(chains.probe({ network, urls, budgetMs: previewBudgetMs }), {
            duration: previewPatience,
            orElse: (): Effect.Effect<ReadonlyArray<ProbedProvider>> =>
              Effect.succeed(unanswered(network, urls).providers)
          })
        )
      })

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
        besides,
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
