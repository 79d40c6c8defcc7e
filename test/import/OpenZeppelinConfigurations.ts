// Generated configurations of OpenZeppelin Relayer that its own rules accept, with the document that their import has to give.
import { both, choicesOf, joined, secretsOf, strange, urlsOf } from "./OpenZeppelinChoices.ts"
import type { Both, Choices } from "./OpenZeppelinChoices.ts"
import { address } from "./OpenZeppelinInput.ts"
import { signersOf } from "./OpenZeppelinSigners.ts"

export interface Generated {
  /** `config.json`. */
  readonly config: object
  /** The document that the service receives after the import, with values in place of references. */
  readonly document: { readonly version: 1; readonly name: string } & Readonly<Record<string, unknown>>
  /** The environment of the old service. */
  readonly variables: Readonly<Record<string, string>>
  /** Files beside the configuration. */
  readonly files: Readonly<Record<string, string>>
  readonly keepPausedState: boolean
  readonly allNetworks: boolean
}

const solanaAddress = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const asset = "USDC:GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"

const tokenSwap = ({ amount, some }: Choices) =>
  some({ slippage_percentage: 1, min_amount: amount(15), max_amount: amount(15), retain_min_amount: amount(15) })

const swap = ({ amount, some }: Choices) => some({ cron_schedule: "0 0 */6 * * *", min_balance_threshold: amount(15) })

const evmPolicies = (choices: Choices) => {
  const { amount, isSo, maybe, some } = choices
  return {
    ...some({ min_balance: amount(30), gas_price_cap: amount(30) + 1n, eip1559_pricing: isSo() }),
    ...some({ gas_limit_estimation: isSo(), include_revert_data: isSo(), private_transactions: isSo() }),
    ...maybe({ whitelist_receivers: isSo() ? [] : [address] })
  }
}

const solanaPolicies = (choices: Choices, network: string) => {
  const { amount, isSo, maybe, one, some } = choices
  const token = {
    mint: solanaAddress,
    ...some({ decimals: 6, symbol: "USDC", max_allowed_fee: amount(15), swap_config: tokenSwap(choices) })
  }
  const jupiter = network === "mainnet-beta" && isSo() ? { strategy: "jupiter-swap" } : {}
  const options = {
    priority_level: "high",
    priority_fee_max_lamports: 9,
    ...some({ dynamic_compute_unit_limit: isSo() })
  }
  const paysUser = isSo()
  return {
    ...(paysUser ? maybe({ fee_payment_strategy: "user" }) : { fee_payment_strategy: "relayer" }),
    ...some({ fee_margin_percentage: 5, min_balance: amount(15), max_tx_data_size: 1232, max_signatures: 8 }),
    ...some({ max_allowed_fee_lamports: amount(15), allowed_programs: [solanaAddress], allowed_tokens: [token] }),
    ...one([{}, { allowed_accounts: [solanaAddress] }, { disallowed_accounts: [solanaAddress] }]),
    ...(paysUser
      ? maybe({
          swap_config: {
            ...swap(choices),
            ...jupiter,
            ...("strategy" in jupiter ? maybe({ jupiter_swap_options: options }) : {})
          }
        })
      : {})
  }
}

const stellarPolicies = (choices: Choices) => {
  const { amount, below, isSo, maybe, some } = choices
  const token = { asset, ...some({ max_allowed_fee: amount(15), swap_config: tokenSwap(choices) }) }
  return {
    ...some({ max_fee: 100 + below(9999), timeout_seconds: 10 + below(400), min_balance: amount(15) }),
    ...some({
      concurrent_transactions: isSo(),
      slippage_percentage: 1,
      fee_margin_percentage: 2,
      allowed_tokens: [token]
    }),
    ...(isSo()
      ? { fee_payment_strategy: "user", ...maybe({ swap_config: { strategies: ["order-book"], ...swap(choices) } }) }
      : maybe({ fee_payment_strategy: "relayer" }))
  }
}

/** Networks by id: `given` is the entry of the input; `wanted` the object of the document, if it has one. */
const networksOf = (choices: Choices) => {
  const { below, isSo, maybe, one, some } = choices
  const own = (network_type: string, network: string, fields: object): readonly [string, Both] => {
    const [urls, wantedUrls] = urlsOf(choices)
    const given = { type: network_type, network, ...fields, rpc_urls: urls }
    return [`${network_type}:${network}`, { given, wanted: { ...fields, rpc_urls: wantedUrls } }]
  }
  const builtin = (network_type: string, network: string, same: object, others: object): readonly [string, Both] => [
    `${network_type}:${network}`,
    { given: { type: network_type, network, ...same, ...others }, wanted: { ...others } }
  ]
  const cache = maybe({ gas_price_cache: { enabled: true, stale_after_ms: 1000, expire_after_ms: 9000 } })
  const child = { from: "parent", ...some({ symbol: "CHLD", tags: ["c"], is_testnet: isSo() }) }
  const parent = own("evm", "parent", {
    chain_id: 84_005,
    required_confirmations: 1 + below(20),
    symbol: "ETH",
    average_blocktime_ms: 2000,
    ...some({
      is_testnet: isSo(),
      features: ["eip1559"],
      tags: ["a", "b"],
      explorer_urls: ["https://explorer.example"]
    })
  })
  return new Map([
    [parent[0], { ...parent[1], given: { ...parent[1].given, ...cache } }],
    ["evm:child", { given: { type: "evm", network: "child", ...child }, wanted: child }],
    builtin(
      "evm",
      "sepolia",
      { chain_id: 11_155_111, symbol: "ETH" },
      maybe({ average_blocktime_ms: 9000 + below(9) })
    ),
    builtin("solana", "mainnet-beta", {}, {}),
    builtin("solana", "devnet", { is_testnet: true }, maybe({ explorer_urls: ["https://explorer.example"] })),
    own("solana", "own", { average_blocktime_ms: one([400, 500]) }),
    builtin("stellar", "testnet", { passphrase: "Test SDF Network ; September 2015" }, {}),
    own("stellar", "own", { passphrase: one(["Own Network", "${x} ; 2026"]), average_blocktime_ms: 5000 })
  ])
}

const policiesOf = (choices: Choices, type: string, network: string): object => {
  if (type === "evm") return evmPolicies(choices)
  return type === "solana" ? solanaPolicies(choices, network) : stellarPolicies(choices)
}

/** The given networks, and the networks that they inherit from. */
const withParents = (ids: Iterable<string>): ReadonlySet<string> =>
  new Set([...ids].flatMap((id) => (id === "evm:child" ? [id, "evm:parent"] : [id])))

export const configurationOf = (seed: number): Generated => {
  const choices = choicesOf(seed)
  const { count, isSo, maybe, one } = choices
  const variables: Record<string, string> = {}
  const files: Record<string, string> = {}
  const { secret, text } = secretsOf(choices, variables)
  const keepPausedState = isSo()
  const allNetworks = isSo()

  const signers = signersOf(choices, variables, files)
  const notifications = count(0, 2).map((index) => {
    const id = `n_${index}`
    const url = one(["https://hooks.example", "https://hooks.example/a?b=c", "http://localhost:9/hook"])
    const signing = isSo() ? secret("signing_key", id, text()) : both({})
    return {
      id,
      given: { id, type: "webhook", url, ...signing.given },
      wanted: { url, type: "webhook", ...signing.wanted }
    }
  })
  const networks = networksOf(choices)
  const relayers = count(1, 5).map((index) => {
    const id = `r-${index}`
    const networkId = one([...networks.keys()])
    const [network_type = "", network = ""] = networkId.split(":")
    const usable = signers.filter(({ type }) => network_type !== "evm" || type !== "vault_transit")
    const [urls, wantedUrls] = urlsOf(choices)
    const policies = policiesOf(choices, network_type, network)
    // The old service refuses a relayer of stellar without policies.
    const own = network_type === "stellar" ? both({ policies }) : both(maybe({ policies }))
    const custom: Both = isSo()
      ? { given: { custom_rpc_urls: urls }, wanted: { custom_rpc_urls: wantedUrls } }
      : both({})
    const common = joined(
      own,
      custom,
      both(notifications.length > 0 ? maybe({ notification_id: one(notifications).id }) : {})
    )
    const shared = { name: one(strange), network_type, network, signer_id: one(usable).id }
    const paused = isSo()
    return {
      id,
      networkId,
      given: { id, ...shared, ...common.given, ...(paused || isSo() ? { paused } : {}) },
      wanted: { ...shared, ...common.wanted, paused: keepPausedState ? paused : true }
    }
  })

  const used = withParents(relayers.map(({ networkId }) => networkId))
  const imported = [...networks].filter(
    ([id, { wanted }]) => (allNetworks || used.has(id)) && Object.keys(wanted).length > 0
  )
  const entries = [...networks.values()].map(({ given }) => given)
  const isFolder = isSo()
  if (isFolder) files["config/networks/all.json"] = JSON.stringify({ networks: entries })
  const config = {
    relayers: relayers.map(({ given }) => given),
    signers: signers.map(({ id, type, config: { given } }) => ({ id, type, config: given })),
    notifications: notifications.map(({ given }) => given),
    ...(isFolder ? one([{}, { networks: null }, { networks: "./config/networks" }]) : { networks: entries }),
    ...maybe({ plugins: [{ id: "swap", path: "swap.ts" }] })
  }
  const section = <A extends { readonly id: string }>(items: ReadonlyArray<A>, bodyOf: (item: A) => unknown) =>
    Object.fromEntries(items.map((item) => [item.id, bodyOf(item)]))
  const document = {
    version: 1,
    name: "old",
    networks: Object.fromEntries(imported.map(([id, { wanted }]) => [id, wanted])),
    signers: section(signers, ({ type, config: { wanted } }) => ({ type, config: wanted })),
    notifications: section(notifications, ({ wanted }) => wanted),
    relayers: section(relayers, ({ wanted }) => wanted)
  } as const
  return { config, document, variables, files, keepPausedState, allNetworks }
}
