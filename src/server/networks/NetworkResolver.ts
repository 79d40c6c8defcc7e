// The networks of one moment: what is built in, and rows of the table over it.
import { Result } from "effect"
import { networkId } from "../../domain/network/Network.ts"
import type { Network, NetworkId } from "../../domain/network/Network.ts"
import * as Inheritance from "../../domain/network/NetworkInheritance.ts"
import type { NetworkDefinition } from "../../domain/network/NetworkInheritance.ts"
import type { Violation } from "../../domain/request/Request.ts"
import type { MaskedRpcConfig } from "../../domain/chain/Rpc.ts"
import { builtin } from "./builtin.ts"

/** A network of a team's own, or what a team has changed of a built-in one. */
export interface StoredNetwork {
  readonly id: NetworkId
  readonly definition: NetworkDefinition
  /** JSON of the true `rpc_urls`, where the definition has some. */
  readonly rpc_urls_sealed?: Uint8Array
}

const definitionOf = (network: Network): NetworkDefinition => {
  const { id: _, source: __, ...definition } = network
  return definition
}

const definitions = new Map(builtin.map((network) => [network.id, definitionOf(network)]))

export const isBuiltin = (id: NetworkId): boolean => definitions.has(id)

/** The network that `definition` is from, where that is a team's own. */
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

/** Where a network has its RPC URLs from. */
export interface RpcSource {
  readonly giver: NetworkId
  /** The public ones of a built-in network; masked where there are sealed ones. */
  readonly urls: ReadonlyArray<MaskedRpcConfig>
  readonly sealed: Uint8Array | undefined
}

/** `rows`: those of the networks that are asked for, and of all that they are from. */
export const make = (rows: ReadonlyArray<StoredNetwork>) => {
  const byId = new Map(rows.map((row) => [row.id, row]))

  /** What a team says of a built-in network replaces what is built in, labels too. */
  const define = (id: NetworkId, own = byId.get(id)?.definition): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return given === undefined ? own : { ...given, ...own }
  }

  const findAs =
    ({ network_type }: NetworkDefinition): Inheritance.Find =>
    (name) =>
      define(networkId(network_type, name))

  /** What the team itself says; of a built-in network that is as it was, its name. */
  const own = (id: NetworkId): NetworkDefinition | undefined => {
    const given = definitions.get(id)
    return byId.get(id)?.definition ?? (given && { network_type: given.network_type, name: given.name })
  }

  /** The network `id` as it is where the team says `definition` of it. */
  const resolve = (id: NetworkId, definition: NetworkDefinition): Result.Result<Network, ReadonlyArray<Violation>> =>
    Inheritance.resolve(define(id, definition) ?? definition, findAs(definition)).pipe(
      Result.mapError((violation) => [violation]),
      Result.flatMap((resolved) => Inheritance.complete(resolved, sourceOf(id, definition)))
    )

  const get = (id: NetworkId): Network | undefined => {
    const definition = own(id)
    return definition && Result.getOrThrow(resolve(id, definition))
  }

  const rpcSource = (id: NetworkId): RpcSource | undefined => {
    const definition = define(id)
    if (definition === undefined) return undefined
    const line = Result.getOrThrow(Inheritance.line(definition, findAs(definition)))
    const { network_type, name, rpc_urls = [] } = line.find(({ rpc_urls }) => rpc_urls !== undefined) ?? definition
    const giver = networkId(network_type, name)
    return { giver, urls: rpc_urls, sealed: byId.get(giver)?.rpc_urls_sealed }
  }

  return { own, get, resolve, rpcSource }
}

export type NetworkResolver = ReturnType<typeof make>
