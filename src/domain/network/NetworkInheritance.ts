// The fields of a network: those that it defines itself, and those that it inherits.
import { Result, Schema, Struct } from "effect"
import { EvmNetwork, Network, SolanaNetwork, StellarNetwork } from "./Network.ts"
import { NetworkName, networkId } from "./NetworkId.ts"
import type { Violation } from "../request/Request.ts"

const named = { name: NetworkName.schema, from: Schema.optionalKey(NetworkName.schema) }

/** The fields that a network defines itself; for a built-in network, the overridden ones. RPC URLs are masked. */
export const NetworkDefinition = Schema.Union([
  Schema.Struct({
    ...Struct.map(Struct.omit(EvmNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("evm")
  }),
  Schema.Struct({
    ...Struct.map(Struct.omit(SolanaNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("solana")
  }),
  Schema.Struct({
    ...Struct.map(Struct.omit(StellarNetwork.fields, ["id", "source"]), Schema.optionalKey),
    ...named,
    network_type: Schema.tag("stellar")
  })
])
export type NetworkDefinition = typeof NetworkDefinition.Type

/** Networks of one type, by name. */
export type Find = (name: string) => NetworkDefinition | undefined

/** The network, the network that it inherits from, and so on. */
export const line = (
  network: NetworkDefinition,
  find: Find
): Result.Result<ReadonlyArray<NetworkDefinition>, Violation> => {
  const found = [network]
  const names = new Set([network.name])
  let { from } = network
  while (from !== undefined) {
    if (names.has(from)) {
      return Result.fail({ field: "from", message: "would make the network inherit from itself" })
    }
    const parent = find(from)
    if (parent === undefined) {
      return Result.fail({ field: "from", message: `no ${network.network_type} network of this name` })
    }
    found.push(parent)
    names.add(from)
    from = parent.from
  }
  return Result.succeed(found)
}

interface Labels {
  readonly tags?: ReadonlyArray<string>
  readonly features?: ReadonlyArray<string>
}

const union = (parent: ReadonlyArray<string> = [], child: ReadonlyArray<string> = []) => [
  ...new Set([...parent, ...child])
]

const inherit = (parent: NetworkDefinition & Labels, child: NetworkDefinition & Labels): NetworkDefinition => ({
  ...parent,
  ...child,
  ...(parent.tags === undefined ? {} : { tags: union(parent.tags, child.tags) }),
  ...(parent.features === undefined ? {} : { features: union(parent.features, child.features) })
})

/** The own and the inherited fields. Tags and features are joined, the inherited ones first. */
export const resolve = (network: NetworkDefinition, find: Find): Result.Result<NetworkDefinition, Violation> =>
  Result.map(line(network, find), (found) => found.reduceRight(inherit))

const required = {
  evm: ["rpc_urls", "average_blocktime_ms", "chain_id", "required_confirmations", "symbol"],
  solana: ["rpc_urls", "average_blocktime_ms"],
  stellar: ["rpc_urls", "average_blocktime_ms", "passphrase"]
} as const

const decode = Schema.decodeUnknownSync(Network)

/** The network as responses show it. Fails with every required field that is missing. */
export const complete = (
  resolved: NetworkDefinition,
  source: Network["source"]
): Result.Result<Network, ReadonlyArray<Violation>> => {
  const missing = required[resolved.network_type].filter((field) => !(field in resolved))
  if (missing.length === 0) {
    const id = networkId(resolved.network_type, resolved.name)
    return Result.succeed(decode({ is_testnet: false, ...resolved, id, source }))
  }
  return Result.fail(
    missing.map((field) => ({ field, message: "is required: give it, or name a network in from that has it" }))
  )
}
