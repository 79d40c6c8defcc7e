// The values that the fields of a network can have, and their documentation.
import { Schema, SchemaTransformation } from "effect"
import { HttpUrl, RpcConfig } from "../chain/Rpc.ts"
import { text } from "../request/Text.ts"

export interface Documentation<T> {
  readonly description: string
  readonly examples: ReadonlyArray<T>
}

/** A URL without a weight has the default weight. */
const RequestedRpc = Schema.Union([
  Schema.String.annotate({ format: "uri", description: "URL of the provider.", examples: ["https://rpc.example.com"] }),
  Schema.toEncoded(RpcConfig)
])
  .annotate({
    identifier: "RpcUrlRequest",
    message: "Expected a URL, or an object of url and weight",
    description: "A provider of the chain: a URL, or an object of `url` and `weight`."
  })
  .pipe(
    Schema.decodeTo(
      RpcConfig,
      SchemaTransformation.transform({
        decode: (given: string | typeof RpcConfig.Encoded) => (typeof given === "string" ? { url: given } : given),
        encode: (config): string | typeof RpcConfig.Encoded => config
      })
    )
  )

export const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const labels = Schema.Array(text(1, 64)).check(Schema.isMaxLength(100), Schema.isUnique())

/** Milliseconds of a unit of `finality_by_one`. */
const units = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** A duration, or the word that no time decides. At most 999 days. */
const FinalityByOne = Schema.String.check(
  Schema.isPattern(/^(?:[1-9][0-9]{0,2}[mhd]|never)$/u, { expected: "a duration such as 30m, 1h or 2d, or never" })
)

/** What decides if the network does not say it. */
const defaultFinalityByOne = "1h"

/** Milliseconds after which one provider decides alone that a transaction is final. */
export const finalityByOneOf = ({ finality_by_one = defaultFinalityByOne }: { readonly finality_by_one?: string }) => {
  if (finality_by_one === "never") return "never" as const
  const unit = finality_by_one.at(-1)
  return Number.parseInt(finality_by_one, 10) * (unit === "m" || unit === "d" ? units[unit] : units.h)
}

/** The fields of every network that a request can set. */
const RpcMethod = Schema.String.check(
  Schema.isPattern(/^([a-z0-9]{1,16}_[A-Za-z0-9_]{1,64}|[a-z][A-Za-z0-9]{2,63})$/u, {
    expected: "a JSON-RPC method such as eth_call or getHealth"
  })
)

export const values = {
  rpc_urls: Schema.Array(RequestedRpc).check(Schema.isBetweenLength(1, 100)),
  explorer_urls: Schema.Array(HttpUrl).check(Schema.isMaxLength(20)),
  /** At most an hour. */
  average_blocktime_ms: between(1, 3_600_000),
  is_testnet: Schema.Boolean,
  tags: labels,
  finality_by_one: FinalityByOne,
  rpc_methods: Schema.Array(RpcMethod).check(Schema.isMaxLength(200), Schema.isUnique())
}

/** Transactions of a solana relayer that may be in flight at once: seen ones do not count, so 64 are enough for most. */
export const solanaWindow = between(1, 1000)

/** Its checksum is checked where it is used. */
const ContractAddress = Schema.String.check(
  Schema.isPattern(/^C[A-Z2-7]{55}$/u, { expected: "a contract address: C and 55 letters and digits" })
)

export const stellarValues = { fee_forwarder: ContractAddress }

export const evmValues = {
  required_confirmations: between(0, 1_000_000),
  finality_tag: Schema.Literals(["safe", "finalized"]),
  transaction_window: between(1, 10_000),
  minimum_priority_fee: between(0, Number.MAX_SAFE_INTEGER),
  tip_cap: between(0, Number.MAX_SAFE_INTEGER),
  features: labels,
  symbol: text(1, 32)
}

export const documented = {
  from: { description: "Network of the same type that this one inherits from.", examples: ["sepolia"] },
  rpc_urls: {
    description: "Providers of the chain, for relayers without their own.",
    examples: [["https://rpc.example.com/v1/my-key"]]
  },
  explorer_urls: { description: "Block explorers, for people.", examples: [["https://sepolia.etherscan.io"]] },
  average_blocktime_ms: { description: "Milliseconds between two blocks, on average.", examples: [12_000] },
  is_testnet: { description: "Whether the network is a testnet.", examples: [true] },
  tags: { description: "Labels, for people.", examples: [["staging"]] },
  finality_by_one: {
    description:
      "How long no second RPC URL has an opinion about a transaction before the one that is left decides alone that it is final: a number of minutes, hours or days, or `never`. The default is `1h`. With two RPC URLs, a duration is safe if one of them lies or one of them is silent, but not both.",
    examples: ["1h"]
  },
  chain_id: { description: "Chain id (EIP-155).", examples: [11_155_111] },
  required_confirmations: {
    description: "Blocks that must follow the block of a transaction before it is final.",
    examples: [6]
  },
  finality_tag: {
    description: "Block tag that makes a transaction final, instead of `required_confirmations`.",
    examples: ["finalized" as const]
  },
  transaction_window: {
    description:
      "Transactions of one account that may be in flight at once. The default is 64, and 4 with `no-mempool`. At most 10,000, and 1,000 on solana.",
    examples: [64]
  },
  minimum_priority_fee: {
    description: "Wei per gas that the nodes of the network demand as a priority fee.",
    examples: [25_000_000_000]
  },
  tip_cap: {
    description:
      "Wei per gas that the service offers at most as a priority fee, unless the request gives it. If absent, ten times the base fee, but at least 100 gwei, is the limit for relayers without a `gas_price_cap`.",
    examples: [200_000_000_000]
  },
  rpc_methods: {
    description:
      "JSON-RPC methods that `POST /relayers/{relayer_id}/rpc` passes on. If absent, methods that only read. No list lets it pass `sendTransaction` of stellar on.",
    examples: [["eth_call", "eth_getLogs"]]
  },
  features: {
    description:
      "Capabilities of the chain. `eip1559`: fees are priced by EIP-1559. `no-mempool`: nodes keep no transaction whose predecessor is missing. `eip7825`: a transaction has at most 2^24 gas. `optimism-based`: data has a fee besides gas, which a contract of the chain names.",
    examples: [["eip1559"]]
  },
  symbol: { description: "Symbol of the native token.", examples: ["ETH"] },
  passphrase: {
    description: "Network passphrase, which is part of every signature.",
    examples: ["Test SDF Network ; September 2015"]
  },
  horizon_url: { description: "URL of the Horizon server.", examples: ["https://horizon-testnet.stellar.org"] },
  fee_forwarder: {
    description:
      "Contract whose `forward` passes a call on and takes the fee of the relayer in a token. If absent, users cannot pay for calls of contracts in a token.",
    examples: ["CA3D5KRYM6CB7OWQ6TWYRR3Z4T7GNZLKERYNZGGA5SOAOPIFY6YQGAXE"]
  }
} as const
