// The rules of creating, changing and deleting a network.
import { Effect, Equal, Result } from "effect"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import {
  applyNetworkPatch,
  chainViolations,
  Network,
  networkId,
  NetworkIdTaken,
  NetworkInUse
} from "../../domain/network/Network.ts"
import type {
  CreateNetwork,
  NetworkDefinition,
  NetworkId,
  NetworkNotFound,
  UpdateNetwork
} from "../../domain/network/Network.ts"
import { BadRequest, checkResourceSize, isCurrentVersion, PreconditionFailed } from "../../domain/request/Request.ts"
import type { Versioned } from "../../domain/request/Request.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { Secrets } from "../secrets/Secrets.ts"
import * as NetworkReading from "./NetworkReading.ts"
import * as NetworkResolver from "./NetworkResolver.ts"
import * as NetworksRepo from "./NetworksRepo.ts"
import * as NetworkUrls from "./NetworkUrls.ts"

export const make = Effect.gen(function* () {
  const repo = yield* NetworksRepo.make
  const secrets = yield* Secrets
  const outbound = yield* Outbound
  const changes = yield* Changes
  const transaction = yield* Transaction.make
  const { read, rpcUrls } = yield* NetworkReading.make

  const current = (id: NetworkId) =>
    Effect.flatMap(read(id), (resolver) => NetworkReading.orNotFound(resolver.versioned(id)))

  /** A network that was changed in the database can still be deleted. */
  const deletable = Effect.fnUntraced(function* (id: NetworkId) {
    const stored = yield* repo.findForDelete([id])
    return yield* NetworkReading.orNotFound(NetworkResolver.make(stored).versioned(id))
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
  const hasUrls = (resolver: NetworkResolver.NetworkResolver, id: NetworkId, urls: ReadonlyArray<RpcConfig>) =>
    rpcUrls(resolver, id).pipe(
      Effect.map((stored) => Equal.equals(urls, stored)),
      Effect.catchCause(() => Effect.succeed(false))
    )

  const resolve = (
    resolver: NetworkResolver.NetworkResolver,
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
    const definition = NetworkUrls.masked(request)
    return { id, resolver, definition, network: yield* resolve(resolver, id, definition) }
  })

  const checkCreate = (request: CreateNetwork) =>
    Effect.all([checkLimits, checkResourceSize(request), NetworkUrls.check(outbound, request)], { discard: true })

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
    yield* repo.save(id, definition, { sealed: yield* NetworkUrls.seal(secrets, id, request) })
    yield* changes.record({ action: "network.created", id, schema: Network, after })
    yield* Effect.annotateLogs(Effect.logInfo("network created"), { network_id: id })
    return yield* Effect.orDie(current(id))
  }, transaction)

  const update = Effect.fn("Networks.update")(function* (id: NetworkId, given: UpdateNetwork, ifMatch?: string) {
    yield* checkLimits
    const held = yield* hold(id, ifMatch)
    const before = held.value
    if (NetworkResolver.isBuiltin(id) && "from" in given) {
      return yield* BadRequest.of([{ field: "from", message: "cannot be changed" }])
    }
    const resolver = yield* read(id, given.from)
    const patch = yield* NetworkUrls.unmask(given, rpcUrls(resolver, id))
    yield* NetworkUrls.check(outbound, patch)
    const own = yield* NetworkReading.orNotFound(resolver.own(id))
    const definition = yield* applyNetworkPatch(own, NetworkUrls.masked(patch))
    // A patch without effect makes no version, no event and no audit record. Definitions have masked URLs, without their keys.
    if (Equal.equals(own, definition) && (!patch.rpc_urls || (yield* hasUrls(resolver, id, patch.rpc_urls))))
      return held
    yield* checkResourceSize({ ...definition, rpc_urls: patch.rpc_urls ?? definition.rpc_urls }, own)
    const after = yield* resolve(resolver, id, definition)
    const violations = chainViolations(before, after)
    if (violations.length > 0) return yield* BadRequest.of(violations)
    const urls = patch.rpc_urls === undefined ? undefined : { sealed: yield* NetworkUrls.seal(secrets, id, patch) }
    yield* repo.save(id, definition, urls)
    yield* changes.record({ action: "network.updated", id, schema: Network, before, after })
    yield* Effect.annotateLogs(Effect.logInfo("network updated"), { network_id: id })
    return yield* current(id)
  }, transaction)

  /** The overrides of a built-in network: what differs from its own values. */
  const overrides = (id: NetworkId, request: CreateNetwork): CreateNetwork => {
    const builtin: { readonly [field: string]: unknown } = NetworkResolver.builtinDefinition(id) ?? {}
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
    if (NetworkResolver.isBuiltin(id) || networks.length + relayers.length > 0) return yield* BadRequest.of(violations)
  })

  /** What the request makes of a network. `beside` has the networks that it may inherit from. */
  const defined = Effect.fnUntraced(function* (
    given: CreateNetwork,
    stored: NetworkResolver.NetworkResolver,
    beside = stored
  ) {
    yield* checkLimits
    const id = networkId(given.network_type, given.name)
    const before = stored.get(id)
    const request = overrides(id, before === undefined ? given : yield* NetworkUrls.unmask(given, rpcUrls(stored, id)))
    yield* checkResourceSize(request)
    yield* NetworkUrls.check(outbound, request)
    const definition = NetworkUrls.masked(request)
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
      return { id, definition: NetworkUrls.masked(overrides(id, request)), version: "" }
    })
    const changed = new Set(wanted.map(({ id }) => id))
    const stored = NetworkResolver.make({ owners, rows })
    const beside = NetworkResolver.make({ owners, rows: [...rows.filter(({ id }) => !changed.has(id)), ...wanted] })
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
    yield* repo.save(id, definition, { sealed: yield* NetworkUrls.seal(secrets, id, request) })
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
    const after = NetworkResolver.make(NetworkResolver.nothingStored).get(id)
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
