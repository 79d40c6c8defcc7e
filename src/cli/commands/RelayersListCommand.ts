// `relayers list`: lists relayers with all filters of the API.
import { Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as WholeUnits from "../../domain/chain/WholeUnits.ts"
import { HealthStatus } from "../../domain/health/ListedHealth.ts"
import { NetworkName, NetworkType, networkId } from "../../domain/network/NetworkId.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import { RelayerQuery, RelayerSort } from "../../domain/relayer/RelayerQuery.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { SignerId } from "../../domain/signer/SignerId.ts"
import { unitOf } from "../../domain/relayer/RelayerStatus.ts"
import type * as Call from "../kit/Call.ts"
import * as Field from "../kit/Field.ts"
import * as Help from "../kit/Help.ts"
import * as List from "../kit/List.ts"
import * as Verb from "../kit/Verb.ts"

/** A relayer of the list, and its balance if `--balances` asks for it. */
type Row = Relayer & { readonly balance?: string }

const columns: List.Columns<Relayer> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  NETWORK: ({ network_type, network }) => `${network_type}:${network}`,
  SIGNER: ({ signer_id }) => signer_id,
  STATE: ({ paused, system_disabled }) => (system_disabled ? "disabled" : paused ? "paused" : "active"),
  ADDRESS: ({ address }) => address
}

const balances = Flag.Boolean("balances").pipe(
  Flag.withoutNegation,
  Flag.withDescription(
    "Show the balance of each relayer in the table, in whole tokens with all digits; it is read from its chain"
  ),
  Flag.withDefault(false)
)

type Symbols = Map<string, string | undefined>

/** The symbol of a network's native token, read once. Absent if its network is evm and the API key may not read networks. */
const symbolOf = Effect.fnUntraced(function* (
  client: Call.Client,
  symbols: Symbols,
  { network_type, network }: Relayer
) {
  if (network_type !== "evm") return WholeUnits.native[network_type].symbol
  if (!symbols.has(network)) {
    const symbol = client.networks.get({ params: { network_id: networkId("evm", network) } }).pipe(
      Effect.map(({ data }) => (data.network_type === "evm" ? data.symbol : undefined)),
      Effect.catchTag("Forbidden", () => Effect.undefined)
    )
    symbols.set(network, yield* symbol)
  }
  return symbols.get(network)
})

/** In whole units with all digits, or in the smallest unit if their symbol is unknown. */
const amountOf = (balance: bigint, type: NetworkType, symbol: string | undefined): string =>
  symbol === undefined
    ? `${balance} ${unitOf[type]}`
    : `${WholeUnits.exact(balance, WholeUnits.native[type].decimals)} ${symbol}`

const health = Flag.Boolean("health").pipe(
  Flag.withoutNegation,
  Flag.withDescription(
    "Show the state of the last check, the balance that it found and the open transactions, without a call to a chain"
  ),
  Flag.withDefault(false)
)

/** Undefined on evm: each network has its own. */
const nativeSymbol = (type: NetworkType): string | undefined =>
  type === "evm" ? undefined : WholeUnits.native[type].symbol

const healthColumns: List.Columns<Relayer> = {
  ...columns,
  HEALTH: ({ health }) => (health?.code === undefined ? health?.state : `${health.state} (${health.code})`),
  BALANCE: ({ health, network_type }) =>
    health?.balance === undefined ? undefined : amountOf(health.balance, network_type, nativeSymbol(network_type)),
  OPEN: ({ health }) => String(health?.open ?? "")
}

/** The balance of the status is that of the last check if the chain does not answer. */
const withBalance = (symbols: Symbols) =>
  Effect.fnUntraced(function* (client: Call.Client, relayer: Relayer) {
    const { data } = yield* client.relayerHealth.status({ params: { relayer_id: relayer.id } })
    if (data.balance === undefined) return relayer
    const amount = amountOf(data.balance, data.network_type, yield* symbolOf(client, symbols, relayer))
    return { ...relayer, balance: `${amount}${data.live ? "" : " (last check)"}` }
  })

const filter = Help.describe(Schema.Struct(RelayerQuery), {
  network_type: Field.choice("network_type", NetworkType.literals),
  network: Field.of("network", NetworkName),
  signer_id: Field.of("signer_id", SignerId),
  notification_id: Field.of("notification_id", NotificationId),
  paused: Field.boolean("paused"),
  system_disabled: Field.boolean("system_disabled"),
  state: Field.choice("state", HealthStatus.literals),
  q: Field.text("q"),
  sort: Field.choice("sort", RelayerSort.literals)
})

export const RelayersListCommand = Command.make(
  "list",
  {
    given: List.flags,
    pages: { ...List.pageFlags, cursor: List.cursorFlag },
    filter,
    balances,
    health
  },
  ({ given, pages: { cursor, ...pages }, filter, balances, health }) => {
    const start = { ...List.start(given.all, pages), ...Field.given({ cursor }) }
    const page = (client: Call.Client, place: List.Place) =>
      client.relayers.list({ query: { ...Field.given(filter), ...place, ...(health ? { include: "health" } : {}) } })
    if (health && !balances) return List.print(given, healthColumns, start, page)
    return balances
      ? List.print(given, { ...columns, BALANCE: ({ balance }: Row) => balance }, start, page, withBalance(new Map()))
      : List.print(given, columns, start, page)
  }
).pipe(
  Verb.about(
    "List relayers.",
    "relayers list --network sepolia --no-paused",
    "relayers list --balances",
    "relayers list --health --sort attention",
    "relayers list --all --sort=-name --output json"
  )
)
