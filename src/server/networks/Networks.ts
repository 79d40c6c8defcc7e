// Networks: the built-in ones, with the changes of the team, and the team's own.
import { Context, Effect, Layer } from "effect"
import { maxNamed, usedBy } from "../../domain/request/InUse.ts"
import {
  Network,
  NetworkIdTaken,
  NetworkInUse,
  NetworkNotFound,
  networkId,
  siblingId
} from "../../domain/network/Network.ts"
import type { CreateNetwork, NetworkId, NetworkName, NetworkType, UpdateNetwork } from "../../domain/network/Network.ts"
import type { NetworkDefinition } from "../../domain/network/NetworkInheritance.ts"
import * as NetworkPatch from "../../domain/network/NetworkPatch.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page, PageQuery } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import type { RpcConfig } from "../../domain/chain/Rpc.ts"
import { Outbound } from "../../outbound/Outbound.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { Changes } from "../changes/Changes.ts"
import { Secrets } from "../secrets/Secrets.ts"
import { builtin } from "./builtin.ts"
import { NetworksRepo } from "./NetworksRepo.ts"
import * as NetworkUrls from "./NetworkUrls.ts"
import * as NetworkResolver from "./NetworkResolver.ts"

const orBadRequest = (violations: ReadonlyArray<Violation>) =>
  violations.length === 0 ? Effect.void : Effect.fail(BadRequest.of(violations))

export class Networks extends Context.Service<
  Networks,
  {
    /** Built-in networks first, then the team's own in creation order. */
    list(query: PageQuery): Effect.Effect<Page<Network>>
    get(id: NetworkId): Effect.Effect<Network, NetworkNotFound>
    /** `BadRequest` if a field is neither given nor inherited, or if a URL is not allowed. */
    create(request: CreateNetwork): Effect.Effect<Network, NetworkIdTaken | BadRequest>
    /** Overrides a built-in network. `BadRequest` as for `create`. */
    update(id: NetworkId, patch: UpdateNetwork): Effect.Effect<Network, NetworkNotFound | BadRequest>
    /** Resets a built-in network, also while it is in use; `BadRequest` if it has no changes. */
    delete(id: NetworkId): Effect.Effect<"deleted" | "reset", NetworkNotFound | NetworkInUse | BadRequest>
    /** `undefined` if the network does not exist. */
    locate(type: NetworkType, name: NetworkName): Effect.Effect<"builtin" | "own" | undefined>
    /** The unmasked URLs, for calls. */
    rpcUrls(id: NetworkId): Effect.Effect<ReadonlyArray<RpcConfig>, NetworkNotFound>
  }
>()("effect-relayer/server/networks/Networks") {
  static readonly layerNoDeps = Layer.effect(
    Networks,
    Effect.gen(function* () {
      const repo = yield* NetworksRepo
      const secrets = yield* Secrets
      const outbound = yield* Outbound
      const changes = yield* Changes
      const transaction = yield* Transaction.make

      const read = (id: NetworkId, from?: NetworkName | null) =>
        Effect.map(repo.find(from ? [id, siblingId(id, from)] : [id]), NetworkResolver.make)

      const orNotFound = <A>(found: A | undefined) =>
        found === undefined ? Effect.fail(new NetworkNotFound({})) : Effect.succeed(found)

      const list = Effect.fn("Networks.list")(function* (query: PageQuery) {
        const request = pageRequest(query)
        const shown = builtin.slice(request.offset, request.offset + request.perPage).map(({ id }) => id)
        const own = yield* repo.page({
          perPage: request.perPage - shown.length,
          offset: Math.max(0, request.offset - builtin.length),
          overrides: shown
        })
        const registry = NetworkResolver.make(own.rows)
        const items = [...shown, ...own.ids].flatMap((id) => registry.get(id) ?? [])
        return { items, total: builtin.length + own.total, request }
      })

      const get = Effect.fn("Networks.get")(function* (id: NetworkId) {
        return yield* orNotFound((yield* read(id)).get(id))
      })

      const locate = Effect.fn("Networks.locate")(function* (type: NetworkType, name: NetworkName) {
        const id = networkId(type, name)
        if (NetworkResolver.isBuiltin(id)) return "builtin" as const
        return (yield* repo.exists(id)) ? ("own" as const) : undefined
      })

      const trueUrls = Effect.fnUntraced(function* (registry: NetworkResolver.NetworkResolver, id: NetworkId) {
        const { giver, urls, sealed } = yield* orNotFound(registry.rpcSource(id))
        return sealed === undefined ? urls : yield* NetworkUrls.open(secrets, giver, sealed)
      })

      const rpcUrls = Effect.fn("Networks.rpcUrls")(function* (id: NetworkId) {
        return yield* trueUrls(yield* read(id), id)
      })

      const resolve = (registry: NetworkResolver.NetworkResolver, id: NetworkId, definition: NetworkDefinition) =>
        Effect.mapError(Effect.fromResult(registry.resolve(id, definition)), BadRequest.of)

      const create = Effect.fn("Networks.create")(function* (request: CreateNetwork) {
        yield* NetworkUrls.check(outbound, request)
        const id = networkId(request.network_type, request.name)
        yield* repo.lock
        const registry = yield* read(id, request.from)
        if (registry.own(id) !== undefined) return yield* new NetworkIdTaken({})
        const definition = NetworkUrls.masked(request)
        const after = yield* resolve(registry, id, definition)
        yield* repo.save(id, definition, { sealed: yield* NetworkUrls.seal(secrets, id, request) })
        yield* changes.record({ action: "network.created", id, schema: Network, after })
        yield* Effect.annotateLogs(Effect.logInfo("network created"), { network_id: id })
        return after
      }, transaction)

      const update = Effect.fn("Networks.update")(function* (id: NetworkId, given: UpdateNetwork) {
        yield* repo.lock
        const registry = yield* read(id, given.from)
        const before = yield* orNotFound(registry.get(id))
        if (NetworkResolver.isBuiltin(id) && "from" in given) {
          return yield* BadRequest.of([{ field: "from", message: "cannot be changed" }])
        }
        const patch = yield* NetworkUrls.unmask(given, trueUrls(registry, id))
        yield* NetworkUrls.check(outbound, patch)
        const definition = yield* NetworkPatch.apply(yield* orNotFound(registry.own(id)), NetworkUrls.masked(patch))
        const after = yield* resolve(registry, id, definition)
        yield* orBadRequest(NetworkPatch.chainViolations(before, after))
        const urls = patch.rpc_urls === undefined ? undefined : { sealed: yield* NetworkUrls.seal(secrets, id, patch) }
        yield* repo.save(id, definition, urls)
        yield* changes.record({ action: "network.updated", id, schema: Network, before, after })
        yield* Effect.annotateLogs(Effect.logInfo("network updated"), { network_id: id })
        return after
      }, transaction)

      const deleteRow = Effect.fn("Networks.delete")(function* (id: NetworkId) {
        yield* repo.lock
        const before = yield* orNotFound((yield* read(id)).get(id))
        if (before.source === "builtin") {
          return yield* BadRequest.of([{ field: "network_id", message: "is built in and has nothing to reset" }])
        }
        yield* repo.delete(id)
        const after = NetworkResolver.make([]).get(id)
        if (after === undefined) {
          yield* changes.record({ action: "network.deleted", id, schema: Network, before })
          yield* Effect.annotateLogs(Effect.logInfo("network deleted"), { network_id: id })
          return "deleted"
        }
        yield* changes.record({ action: "network.updated", id, schema: Network, before, after })
        yield* Effect.annotateLogs(Effect.logInfo("network reset"), { network_id: id })
        return "reset"
      }, transaction)

      /** Repeats if the last relayer that used it was deleted in between. */
      const remove: Networks["Service"]["delete"] = (id) =>
        Effect.catchTag(
          deleteRow(id),
          "NetworkInUse",
          Effect.fnUntraced(function* () {
            const users = Object.entries(yield* repo.users(id, maxNamed + 1)).filter(([, ids]) => ids.length > 0)
            if (users.length === 0) return yield* remove(id)
            return yield* new NetworkInUse({ error: users.map(([kind, ids]) => usedBy(kind, ids)).join("; ") })
          })
        )

      return Networks.of({ list, get, create, update, delete: remove, locate, rpcUrls })
    })
  )

  static readonly layer = this.layerNoDeps.pipe(Layer.provide(NetworksRepo.layer))
}
