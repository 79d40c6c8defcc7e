// Networks, signers and relayers of the kit: in memory, with the checks that the domain makes of requests.
import { Clock, Context, Effect, Layer, Redacted, Schema } from "effect"
import type { Caller } from "../domain/access/Caller.ts"
import { maskRpc } from "../domain/chain/Rpc.ts"
import {
  applyNetworkPatch,
  completeNetwork,
  CreateNetwork,
  Network,
  networkId,
  NetworkIdTaken,
  NetworkInUse,
  NetworkNotFound,
  UpdateNetwork,
  withInherited
} from "../domain/network/Network.ts"
import type { NetworkDefinition, NetworkId } from "../domain/network/Network.ts"
import {
  applyRelayerPatch,
  relayerUrlLists,
  relayerUrlsIn,
  CreateRelayer,
  Relayer,
  RelayerId,
  RelayerIdTaken,
  RelayerInUse,
  RelayerNotFound,
  UpdateRelayer
} from "../domain/relayer/Relayer.ts"
import type { RelayerQuery } from "../domain/relayer/Relayer.ts"
import { maxNamed, usedBy } from "../domain/request/InUse.ts"
import { pageRequest } from "../domain/request/Page.ts"
import type { Page, PageQuery } from "../domain/request/Page.ts"
import {
  BadRequest,
  checked,
  checkResourceSize,
  isCurrentVersion,
  PreconditionFailed
} from "../domain/request/Request.ts"
import type { Violation } from "../domain/request/Request.ts"
import { CreateSigner } from "../domain/signer/CreateSigner.ts"
import {
  Signer,
  SignerId,
  SignerIdTaken,
  SignerInUse,
  SignerKeyTaken,
  SignerNotFound
} from "../domain/signer/Signer.ts"
import type { StoredRelayer } from "../server/relayers/StoredRelayer.ts"
import { Feed } from "./Feed.ts"
import { keyOf } from "./Keys.ts"
import type { Key } from "./Keys.ts"
import { Networks, Relayers, Signers } from "./Tags.ts"
import { TestChain } from "./TestChain.ts"

/** Errors name what uses a resource: nobody is limited in the kit. */
const program: Caller = { id: "program" }

const parts = <A>(all: ReadonlyArray<A>, query: PageQuery): Page<A> => {
  const request = pageRequest(query)
  return { items: all.slice(request.offset, request.offset + request.perPage), total: all.length, request }
}

const invalid = (field: string, message: string) => BadRequest.of([{ field, message }])

interface NetworkRow {
  readonly definition: NetworkDefinition
  readonly value: Network
  readonly version: string
  /** Of rows in a database, which the kit does not have. */
  readonly origins: readonly []
}

interface SignerRow {
  readonly value: Signer
  readonly key: Key
}

/** What the services of the kit store. */
const makeStore = Effect.sync(() => {
  let versions = 0
  return {
    networks: new Map<NetworkId, NetworkRow>(),
    signers: new Map<SignerId, SignerRow>(),
    relayers: new Map<RelayerId, StoredRelayer>(),
    /** Numbers of the transactions that are not final, by relayer. `Sends.ts` writes them. */
    open: new Map<RelayerId, Set<number>>(),
    nextVersion: () => String(++versions)
  }
})

export class Store extends Context.Service<Store, Effect.Success<typeof makeStore>>()(
  "effect-relayer/testkit/Resources/Store"
) {
  static readonly layer = Layer.effect(Store, makeStore)
}

const encodeRelayer = Schema.encodeSync(Relayer)
const encodeNetwork = Schema.encodeSync(Network)
const encodeSigner = Schema.encodeSync(Signer)
const toRelayer = Schema.decodeUnknownSync(Schema.toType(Relayer))

// Networks. All of them are on the one chain of the kit.

const checkNetwork = checked(CreateNetwork)
const checkNetworkPatch = checked(UpdateNetwork)

const makeNetworks = Effect.gen(function* () {
  const store = yield* Store
  const feed = yield* Feed
  const { kit, network } = yield* TestChain

  const orNotFound = (id: NetworkId) =>
    Effect.suspend(() => {
      const found = store.networks.get(id)
      return found === undefined ? Effect.fail(new NetworkNotFound({})) : Effect.succeed(found)
    })

  /** The network with what it inherits. Fails if it is on another chain. */
  const resolve = Effect.fnUntraced(function* (definition: NetworkDefinition, source: Network["source"] = "own") {
    const find = (name: string) => store.networks.get(networkId(definition.network_type, name))?.definition
    const whole = yield* Effect.mapError(Effect.fromResult(withInherited(definition, find)), (one) =>
      BadRequest.of([one])
    )
    const value = yield* Effect.mapError(Effect.fromResult(completeNetwork(whole, source)), BadRequest.of)
    if (value.network_type !== network.type) {
      return yield* invalid("network_type", `must be ${network.type}: the test kit has no other chain`)
    }
    const elsewhere = kit.violationOf(value)
    return elsewhere === undefined ? value : yield* BadRequest.of([elsewhere])
  })

  const save = Effect.fnUntraced(function* (
    type: "network.created" | "network.updated",
    row: Pick<NetworkRow, "definition" | "value">
  ) {
    const saved: NetworkRow = { ...row, version: store.nextVersion(), origins: [] }
    store.networks.set(row.value.id, saved)
    feed.publish({ type, id: row.value.id, data: encodeNetwork(row.value) }, yield* Clock.currentTimeMillis)
    return saved
  })

  const definitionOf = ({ rpc_urls, ...request }: CreateNetwork): NetworkDefinition => ({
    ...request,
    ...(rpc_urls === undefined ? {} : { rpc_urls: rpc_urls.map(maskRpc) })
  })

  const create = Effect.fnUntraced(function* (given: CreateNetwork) {
    const request = yield* checkNetwork(given)
    const id = networkId(request.network_type, request.name)
    if (store.networks.has(id)) return yield* new NetworkIdTaken({})
    const definition = definitionOf(request)
    return yield* save("network.created", { definition, value: yield* resolve(definition) })
  })

  const definition = definitionOf(kit.createNetwork)
  const value = yield* Effect.orDie(resolve(definition))
  store.networks.set(value.id, { definition, value, version: store.nextVersion(), origins: [] })

  const held = Effect.fnUntraced(function* (id: NetworkId, ifMatch: string | undefined) {
    const row = yield* orNotFound(id)
    return isCurrentVersion(ifMatch, row.version) ? row : yield* new PreconditionFailed({})
  })

  return {
    create,
    get: orNotFound,
    list: (query: PageQuery) =>
      Effect.sync(() =>
        parts(
          [...store.networks.values()].map((row) => row.value),
          query
        )
      ),
    update: Effect.fnUntraced(function* (id: NetworkId, given: UpdateNetwork, ifMatch?: string) {
      const { rpc_urls, ...patch } = yield* checkNetworkPatch(given)
      const before = yield* held(id, ifMatch)
      const masked = rpc_urls === undefined || rpc_urls === null ? { rpc_urls } : { rpc_urls: rpc_urls.map(maskRpc) }
      const whole = rpc_urls === undefined ? patch : { ...patch, ...masked }
      const definition = yield* applyNetworkPatch(before.definition, whole as UpdateNetwork)
      return yield* save("network.updated", { definition, value: yield* resolve(definition) })
    }),
    delete: Effect.fnUntraced(function* (id: NetworkId, ifMatch?: string) {
      const { value } = yield* held(id, ifMatch)
      const users = [...store.relayers.values()].filter((one) => one.value.network === value.name).map((one) => one.id)
      if (users.length > 0)
        return yield* new NetworkInUse({ error: usedBy(program, "relayers", users.slice(0, maxNamed + 1)) })
      store.networks.delete(id)
      feed.publish({ type: "network.deleted", id, data: encodeNetwork(value) }, yield* Clock.currentTimeMillis)
      return "deleted" as const
    })
  }
})

// Signers. Only plain ones: the kit has no key service.

const checkSigner = checked(CreateSigner)

const makeSigners = Effect.gen(function* () {
  const store = yield* Store
  const feed = yield* Feed

  const orNotFound = (id: SignerId) =>
    Effect.suspend(() => {
      const found = store.signers.get(id)
      return found === undefined ? Effect.fail(new SignerNotFound({})) : Effect.succeed(found)
    })

  const newKey = () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex")

  return {
    create: Effect.fnUntraced(function* (given: CreateSigner) {
      const request = yield* checkSigner(given)
      if (request.type !== "plain") return yield* invalid("type", "must be plain: the test kit has no key service")
      const id = SignerId.make(request.id ?? crypto.randomUUID())
      if (store.signers.has(id)) return yield* new SignerIdTaken({})
      const secret = request.config?.key
      const key = keyOf(secret === undefined ? newKey() : Redacted.value(secret))
      const isTaken = [...store.signers.values()].some((one) => one.key.addresses.evm === key.addresses.evm)
      if (isTaken) return yield* new SignerKeyTaken({})
      const value: Signer = { id, type: "plain", config: {}, addresses: key.addresses }
      store.signers.set(id, { value, key })
      feed.publish({ type: "signer.created", id, data: encodeSigner(value) }, yield* Clock.currentTimeMillis)
      return value
    }),
    get: (id: SignerId) => Effect.map(orNotFound(id), ({ value }) => value),
    list: (query: PageQuery) =>
      Effect.sync(() =>
        parts(
          [...store.signers.values()].map(({ value }) => value),
          query
        )
      ),
    delete: Effect.fnUntraced(function* (id: SignerId) {
      const { value } = yield* orNotFound(id)
      const users = [...store.relayers.values()].filter((one) => one.value.signer_id === id).map((one) => one.id)
      if (users.length > 0)
        return yield* new SignerInUse({ error: usedBy(program, "relayers", users.slice(0, maxNamed + 1)) })
      store.signers.delete(id)
      feed.publish({ type: "signer.deleted", id, data: encodeSigner(value) }, yield* Clock.currentTimeMillis)
    })
  }
})

// Relayers.

const checkRelayer = checked(CreateRelayer)
const checkRelayerPatch = checked(UpdateRelayer)

const storedOf = (value: Relayer, number: number, version: string): StoredRelayer => ({
  id: value.id,
  json: JSON.stringify(encodeRelayer(value)),
  mac: null,
  version,
  state: undefined,
  number,
  value
})

const isListed = (query: RelayerQuery, { id, value }: StoredRelayer): boolean => {
  const text = query.q?.toLowerCase()
  return (
    (query.network_type === undefined || query.network_type === value.network_type) &&
    (query.network === undefined || query.network === value.network) &&
    (query.signer_id === undefined || query.signer_id === value.signer_id) &&
    (query.paused === undefined || query.paused === value.paused) &&
    (text === undefined || id.toLowerCase().includes(text) || value.name.toLowerCase().includes(text))
  )
}

const makeRelayers = Effect.gen(function* () {
  const store = yield* Store
  const feed = yield* Feed
  let numbers = 0

  const orNotFound = (id: RelayerId) =>
    Effect.suspend(() => {
      const found = store.relayers.get(id)
      return found === undefined ? Effect.fail(new RelayerNotFound({})) : Effect.succeed(found)
    })

  const held = Effect.fnUntraced(function* (id: RelayerId, ifMatch: string | undefined) {
    const found = yield* orNotFound(id)
    return isCurrentVersion(ifMatch, found.version) ? found : yield* new PreconditionFailed({})
  })

  const publish = (type: "created" | "updated" | "deleted" | "paused" | "resumed", { value, id }: StoredRelayer) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      feed.publish({ type: `relayer.${type}`, id, relayerId: id, data: encodeRelayer(value) }, now)
    )

  /** What a request refers to that does not exist. */
  const missing = (request: CreateRelayer): ReadonlyArray<Violation> => {
    const found = store.networks.has(networkId(request.network_type, request.network))
    const signer = store.signers.has(SignerId.make(request.signer_id))
    return [
      ...(found ? [] : [{ field: "network", message: `no ${request.network_type} network of this name` }]),
      ...(signer ? [] : [{ field: "signer_id", message: "no signer with this id" }]),
      ...(request.notification_id === undefined
        ? []
        : [{ field: "notification_id", message: "is not possible: the test kit sends no webhooks" }])
    ]
  }

  const relayerOf = (id: RelayerId, request: CreateRelayer): Relayer => {
    const signer = store.signers.get(SignerId.make(request.signer_id))
    const urls = relayerUrlLists.flatMap((list) => {
      const given = relayerUrlsIn(request, list)
      return given === undefined ? [] : [[list, given.map(maskRpc)] as const]
    })
    const address = signer?.key.addresses[request.network_type]
    return toRelayer({ ...request, ...Object.fromEntries(urls), id, address, system_disabled: false })
  }

  return {
    create: Effect.fnUntraced(function* (given: CreateRelayer) {
      const request = yield* checkRelayer(given)
      const id = RelayerId.make(request.id ?? crypto.randomUUID())
      if (store.relayers.has(id)) return yield* new RelayerIdTaken({})
      yield* checkResourceSize(request)
      const violations = missing(request)
      if (violations.length > 0) return yield* BadRequest.of(violations)
      const stored = storedOf(relayerOf(id, request), ++numbers, store.nextVersion())
      store.relayers.set(id, stored)
      yield* publish("created", stored)
      return stored
    }),
    get: orNotFound,
    numberOf: (id: RelayerId) => Effect.map(orNotFound(id), ({ number }) => number),
    list: (query: RelayerQuery) =>
      Effect.sync(() => {
        const page = parts(
          [...store.relayers.values()].filter((one) => isListed(query, one)),
          query
        )
        const items = page.items.map(({ value }) => value)
        return { ...page, items, json: page.items.map(({ json }) => json).join(","), unreadable: [] }
      }),
    update: Effect.fnUntraced(function* (id: RelayerId, given: UpdateRelayer, ifMatch?: string) {
      const patch = yield* checkRelayerPatch(given)
      const before = yield* held(id, ifMatch)
      const { request, isChanged } = yield* applyRelayerPatch(before.value, {}, patch)
      if (!isChanged) return before
      const stored = storedOf(relayerOf(id, request), before.number, store.nextVersion())
      store.relayers.set(id, stored)
      yield* publish("updated", stored)
      if (before.value.paused !== stored.value.paused)
        yield* publish(stored.value.paused ? "paused" : "resumed", stored)
      return stored
    }),
    delete: Effect.fnUntraced(function* (id: RelayerId, ifMatch?: string) {
      const before = yield* held(id, ifMatch)
      const open = store.open.get(id)?.size ?? 0
      if (open > 0) {
        return yield* new RelayerInUse({ error: `has open transactions: ${open}; cancel them, or wait for them` })
      }
      store.relayers.delete(id)
      yield* publish("deleted", before)
    })
  }
})

/** The services of the package that store resources. What they do not offer dies with an error that names it. */
export const layer = Layer.mergeAll(
  Layer.unwrap(Effect.map(makeRelayers, Layer.mock(Relayers))),
  Layer.unwrap(Effect.map(makeSigners, Layer.mock(Signers))),
  Layer.unwrap(Effect.map(makeNetworks, Layer.mock(Networks)))
)
