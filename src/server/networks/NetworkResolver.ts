// Resolves networks: the rows of the table override and extend the built-in networks, and their RPC URLs are unmasked.
import { Effect, Result } from "effect"
import { createHash } from "node:crypto"
import * as Rpc from "../../domain/chain/Rpc.ts"
import type { MaskedRpcConfig, RpcConfig } from "../../domain/chain/Rpc.ts"
import { ancestryOf, completeNetwork, networkId, withInherited } from "../../domain/network/Network.ts"
import type { FindDefinition, Network, NetworkDefinition, NetworkId } from "../../domain/network/Network.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Versioned, Violation } from "../../domain/request/Request.ts"
import type { Outbound } from "../../outbound/Outbound.ts"
import { openRpcUrls, refuseRpcUrl, refuseRpcUrls, sealRpcUrls } from "../chains/RpcNodes.ts"
import type { Secrets } from "../secrets/Secrets.ts"
import { builtin } from "./builtin.ts"

/** A network of the team's own, or the team's changes of a built-in one. `version` names the state of the row. */
export interface StoredNetwork {
  readonly id: NetworkId
  readonly definition: NetworkDefinition
  readonly version: string
  /** JSON of the unmasked `rpc_urls`, if the definition has any. */
  readonly rpc_urls_sealed?: Uint8Array
}

/** What the database has of networks. */
export interface StoredNetworks {
  readonly rows: ReadonlyArray<StoredNetwork>
  /** Names of the configurations that own networks. */
  readonly owners: ReadonlyMap<NetworkId, string>
}

export const nothingStored: StoredNetworks = { rows: [], owners: new Map() }

const definitionOf = (network: Network): NetworkDefinition => {
  const { id: _, source: __, managed_by: ___, ...definition } = network
  return definition
}

const definitions = new Map(builtin.map((network) => [network.id, definitionOf(network)]))

/** What comes with the service. Undefined: the network is a team's own. */
export const builtinDefinition = (id: NetworkId): NetworkDefinition | undefined => definitions.get(id)

export const isBuiltin = (id: NetworkId): boolean => definitions.has(id)

/** The network that `definition` inherits from, if that is a team's own. */
export const ownParent = ({ network_type, from }: NetworkDefinition): NetworkId | undefined => {
  const id = from === undefined ? undefined : networkId(network_type, from)
  return id === undefined || isBuiltin(id) ? undefined : id
}

const saysNothing = (definition: NetworkDefinition): boolean =>
  Object.keys(definition).every((field) => field === "name" || field === "network_type")

const sourceOf = (id: NetworkId, own: NetworkDefinition): Network["source"] => {
  if (!isBuiltin(id)) return "own"
  return saysNothing(own) ? "builtin" : "overridden"
}

/** Characters of base64url, 132 bits. */
const versionLength = 22

/** The origin of the RPC URLs of a network. */
export interface RpcSource {
  readonly giver: NetworkId
  /** The public URLs of a built-in network; masked if there are sealed ones. */
  readonly urls: ReadonlyArray<MaskedRpcConfig>
  readonly sealed: Uint8Array | undefined
}

/** `rows` has the requested networks, and all networks that they inherit from. */
export const make = ({ owners, rows }: StoredNetworks) => {
  const byId = new Map(rows.map((row) => [row.id, row]))

  /** The changes of the team replace the fields of a built-in network, labels too. */
  const define = (id: NetworkId, own = byId.get(id)?.definition): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return given === undefined ? own : { ...given, ...own }
  }

  const findAs =
    ({ network_type }: NetworkDefinition): FindDefinition =>
    (name) =>
      define(networkId(network_type, name))

  /** The team's own definition; for an unchanged built-in network, its name. */
  const own = (id: NetworkId): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return byId.get(id)?.definition ?? (given && { network_type: given.network_type, name: given.name })
  }

  /** The network `id` with `definition` as the team's definition of it. */
  const resolve = (id: NetworkId, definition: NetworkDefinition): Result.Result<Network, ReadonlyArray<Violation>> =>
    withInherited(define(id, definition) ?? definition, findAs(definition)).pipe(
      Result.mapError((violation) => [violation]),
      Result.flatMap((resolved) => completeNetwork(resolved, sourceOf(id, definition)))
    )

  const get = (id: NetworkId): Network | undefined => {
    const definition = own(id)
    if (definition === undefined) return undefined
    const network = Result.getOrThrow(resolve(id, definition))
    const managed_by = owners.get(id)
    return managed_by === undefined ? network : { ...network, managed_by }
  }

  /**
   * The version names the network as it is shown and the rows that it comes from: their URLs are masked, so that a change of
   * one may not show. `rows` must be those of `id` and of everything that it inherits from.
   */
  const versioned = (id: NetworkId): Versioned<Network> | undefined => {
    const value = get(id)
    if (value === undefined) return undefined
    const versions = rows.map((row) => `${row.id} ${row.version}`).sort()
    const hash = createHash("sha256")
      .update(JSON.stringify([value, versions]))
      .digest("base64url")
    return { value, version: hash.slice(0, versionLength) }
  }

  const rpcSource = (id: NetworkId): RpcSource | undefined => {
    const definition = define(id)
    if (definition === undefined) return undefined
    const line = Result.getOrThrow(ancestryOf(definition, findAs(definition)))
    const { network_type, name, rpc_urls = [] } = line.find(({ rpc_urls }) => rpc_urls !== undefined) ?? definition
    const giver = networkId(network_type, name)
    return { giver, urls: rpc_urls, sealed: byId.get(giver)?.rpc_urls_sealed }
  }

  return { own, get, versioned, resolve, rpcSource }
}

export type NetworkResolver = ReturnType<typeof make>

// URLs of networks: which are allowed, and how RPC URLs are stored: masked to be shown, and sealed to be called.

/** The RPC URLs of a request. Null and absent: none. */
interface NetworkUrls {
  readonly rpc_urls?: ReadonlyArray<RpcConfig> | null
  readonly horizon_url?: string | null
}

export const checkUrls = (outbound: Outbound["Service"], { rpc_urls, horizon_url }: NetworkUrls) => {
  const violations = [
    ...refuseRpcUrls(outbound, "rpc_urls", rpc_urls ?? []),
    ...(horizon_url ? refuseRpcUrl(outbound, "horizon_url", horizon_url) : [])
  ]
  return violations.length === 0 ? Effect.void : Effect.fail(BadRequest.of(violations))
}

/** Puts the stored RPC URLs in the place of masked ones. */
export const unmaskUrls = <A extends NetworkUrls, E>(
  request: A,
  stored: Effect.Effect<ReadonlyArray<RpcConfig>, E>
): Effect.Effect<A, E | BadRequest> => {
  const { rpc_urls: given } = request
  if (!given?.some(({ url }) => Rpc.isMasked(url))) return Effect.succeed(request)
  return Effect.flatMap(stored, (urls) =>
    Effect.fromResult(Rpc.unmask("rpc_urls", given, urls)).pipe(
      Effect.mapBoth({ onFailure: BadRequest.of, onSuccess: (rpc_urls) => ({ ...request, rpc_urls }) })
    )
  )
}

export const maskedUrls = <A extends NetworkUrls>(request: A): A =>
  request.rpc_urls ? { ...request, rpc_urls: request.rpc_urls.map(Rpc.maskRpc) } : request

const placeOfUrls = (id: NetworkId) => ({ table: "networks", id, column: "rpc_urls" })

export const sealUrls = (secrets: Secrets["Service"], id: NetworkId, { rpc_urls }: NetworkUrls) =>
  rpc_urls ? sealRpcUrls(secrets, rpc_urls, placeOfUrls(id)) : Effect.undefined

export const openUrls = (secrets: Secrets["Service"], id: NetworkId, sealed: Uint8Array) =>
  openRpcUrls(secrets, sealed, placeOfUrls(id))
