// `relayers`: creates, changes, deletes and lists relayers, with their health, accounts and sponsored transactions.
import { Effect, Option, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import * as WholeUnits from "../../domain/chain/WholeUnits.ts"
import { HealthStatus } from "../../domain/health/ListedHealth.ts"
import { networkId, NetworkName, NetworkType } from "../../domain/network/Network.ts"
import { NotificationId } from "../../domain/notification/Notification.ts"
import {
  CreateRelayer,
  RelayerId,
  RelayerQuery,
  RelayerSort,
  unitOf,
  UpdateRelayer
} from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { SignerId } from "../../domain/signer/Signer.ts"
import type { ExchangeBody } from "../../networks/core/Family.ts"
import { ResyncNonce } from "../../networks/core/TransactionRequests.ts"
import { ClearNonces } from "../../networks/evm/rules/EvmSchemas.ts"
import { BuildSolanaTransaction, QuoteSolanaTransaction } from "../../networks/solana/rules/SolanaExchanges.ts"
import { BuildStellarTransaction, QuoteStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import type * as Call from "../kit/Call.ts"
import { relayerWarnings } from "../kit/Call.ts"
import * as Field from "../kit/Field.ts"
import { bodyConfig, describeFlags, readBody } from "../kit/Field.ts"
import * as Print from "../kit/Print.ts"
import { cursorFlag, firstPlace, listFlags, pageFlags, printList } from "../kit/Print.ts"
import type { ListColumns, ListPlace } from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"
import { askFirst, confirmFlag } from "../kit/Verb.ts"

// `relayers list`: lists relayers with all filters of the API.

/** A relayer of the list, and its balance if `--balances` asks for it. */
type Row = Relayer & { readonly balance?: string }

const columns: ListColumns<Relayer> = {
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

const healthColumns: ListColumns<Relayer> = {
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

const filter = describeFlags(Schema.Struct(RelayerQuery), {
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

const RelayersListCommand = Command.make(
  "list",
  {
    given: listFlags,
    pages: { ...pageFlags, cursor: cursorFlag },
    filter,
    balances,
    health
  },
  ({ given, pages: { cursor, ...pages }, filter, balances, health }) => {
    const start = { ...firstPlace(given.all, pages), ...Field.given({ cursor }) }
    const page = (client: Call.Client, place: ListPlace) =>
      client.relayers.list({ query: { ...Field.given(filter), ...place, ...(health ? { include: "health" } : {}) } })
    if (health && !balances) return printList(given, healthColumns, start, page)
    return balances
      ? printList(given, { ...columns, BALANCE: ({ balance }: Row) => balance }, start, page, withBalance(new Map()))
      : printList(given, columns, start, page)
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

// `relayers status`, `balance`, `check` and `explain`: the health of a relayer and its reasons.

const status = Verb.onOne("status", RelayerId, (client, id) =>
  client.relayerHealth.status({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Get the status of a relayer, with the current state of its chain.",
    "relayers status payouts",
    "relayers status payouts --output json"
  )
)

const balance = Verb.onOne("balance", RelayerId, (client, id) =>
  client.relayerHealth.balance({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Read the balance of a relayer from its chain; exit code 1 if the chain does not answer.",
    "relayers balance payouts"
  )
)

const check = Verb.onOne("check", RelayerId, (client, id) =>
  client.relayerHealth.check({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Check a relayer now. The result counts like that of a scheduled check: it may disable or enable the relayer.",
    "relayers check payouts"
  )
)

const explain = Verb.onOne("explain", RelayerId, (client, id) =>
  client.relayerHealth.explain({ params: { relayer_id: id } })
).pipe(Verb.about("Explain the state of a relayer and what happens next.", "relayers explain payouts"))

const RelayersHealthCommands = [status, balance, check, explain] as const

// `relayers nonce`, `nonce-resync`, `nonce-clear`, `nonce-generation`, `channels` and `channels-release`: the account of a relayer.

const nonce = Verb.onOne("nonce", RelayerId, (client, id) => client.nonces.get({ params: { relayer_id: id } })).pipe(
  Verb.about("Show the nonces of the service next to those of the chain.", "relayers nonce payouts")
)

const channels = Verb.onOne("channels", RelayerId, (client, id) =>
  client.nonces.get({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Show the channels of a stellar relayer: their stage, sequences and transactions, and what they lock.",
    "relayers channels payouts"
  )
)

const release = Verb.onOne("channels-release", RelayerId, (client, id) =>
  client.nonces.releaseChannels({ params: { relayer_id: id } })
).pipe(
  Verb.about("End the channels of a stellar relayer, and get their reserves back.", "relayers channels-release payouts")
)

const resync = Verb.send(
  "nonce-resync",
  { id: Verb.id(RelayerId) },
  {
    schema: ResyncNonce,
    fields: { answer: Field.choice("answer", ["send", "give_up"]), transaction_id: Field.text("transaction_id") }
  },
  (client, payload, { id }) => client.nonces.resync({ params: { relayer_id: id }, payload })
).pipe(
  Verb.about(
    "Accept the count of the chain, and decide about transactions whose outcome cannot be proven.",
    "relayers nonce-resync payouts",
    "relayers nonce-resync payouts --answer give_up --transaction-id 4f1c…"
  )
)

const clear = Command.make(
  "nonce-clear",
  {
    given: Print.flags,
    id: Verb.id(RelayerId),
    yes: confirmFlag,
    body: bodyConfig(
      ClearNonces,
      {
        from: Field.integer("from"),
        to: Field.integer("to"),
        max_fee_per_gas: Field.text("max_fee_per_gas")
      },
      {}
    )
  },
  Effect.fnUntraced(function* ({ given, id, body, yes }) {
    const payload = yield* readBody(ClearNonces, body)
    yield* askFirst(yes, `replace the open transactions ${payload.from} to ${payload.to} of ${id} by no-ops`)
    return yield* Print.one(given, (client) => client.nonces.clear({ params: { relayer_id: id }, payload }))
  })
).pipe(Verb.about("Replace open transactions by no-ops; asks first.", "relayers nonce-clear payouts --from 10 --to 11"))

const generation = Verb.onOne("nonce-generation", RelayerId, (client, id) =>
  client.nonces.beginGeneration({ params: { relayer_id: id } })
).pipe(
  Verb.about(
    "Declare that a test network was restarted. Transactions that were signed end as failed.",
    "relayers nonce-generation payouts"
  )
)

const RelayersNonceCommands = [nonce, resync, clear, generation, channels, release] as const

// `relayers sponsored-quote` and `sponsored-build`: transactions whose users pay the relayer in a token.

const fields = { transaction: Field.text("transaction"), fee_token: Field.text("fee_token") }

const networkType = Flag.Literals("network-type", ["solana", "stellar"]).pipe(
  Flag.withDescription("Network type of the relayer. The transaction of a user of stellar is given by `--data`"),
  Flag.withDefault("solana")
)

const target = { id: Verb.id(RelayerId) }

const onSolana = "payouts --transaction AQAAAA== --fee-token EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const onStellar = "payouts --network-type stellar --data @transaction.json"

const quotes = { solana: QuoteSolanaTransaction, stellar: QuoteStellarTransaction }

const quote = Command.make(
  "sponsored-quote",
  { given: Print.flags, target, networkType, body: bodyConfig(QuoteSolanaTransaction, fields, {}) },
  Effect.fnUntraced(function* ({ body, given, networkType, target }) {
    const payload: ExchangeBody<"quote"> = yield* readBody(quotes[networkType], body)
    return yield* Print.changed(given, (client) =>
      client.sponsored.quote({ params: { relayer_id: target.id }, payload })
    )
  })
).pipe(
  Verb.about(
    "Show what a user's transaction costs in a token.",
    `relayers sponsored-quote ${onSolana}`,
    `relayers sponsored-quote ${onStellar}`
  )
)

const builds = { solana: BuildSolanaTransaction, stellar: BuildStellarTransaction }

const build = Command.make(
  "sponsored-build",
  { given: Print.flags, target, networkType, body: bodyConfig(BuildSolanaTransaction, fields, {}) },
  Effect.fnUntraced(function* ({ body, given, networkType, target }) {
    const payload: ExchangeBody<"build"> = yield* readBody(builds[networkType], body)
    return yield* Print.changed(given, (client) =>
      client.sponsored.build({ params: { relayer_id: target.id }, payload })
    )
  })
).pipe(
  Verb.about(
    "Build a user's transaction with a payment to the relayer, for the user to sign.",
    `relayers sponsored-build ${onSolana}`,
    `relayers sponsored-build ${onStellar}`
  )
)

const RelayersSponsoredCommands = [quote, build] as const

const create = Verb.createChecked(
  {
    schema: CreateRelayer,
    fields: {
      id: Field.text("id"),
      name: Field.text("name"),
      network_type: Field.choice("network_type", NetworkType.literals),
      network: Field.text("network"),
      signer_id: Field.text("signer_id"),
      notification_id: Field.text("notification_id"),
      paused: Field.boolean("paused")
    },
    defaults: { paused: false }
  },
  (client, payload) => client.relayers.create({ query: {}, payload }),
  (client, { data }) => relayerWarnings(client, data)
).pipe(
  Verb.about(
    "Create a relayer. Then its chain is asked; what is wrong is printed on stderr: RPC URLs, and what to send where.",
    "relayers create --id payouts --name Payouts --network-type evm --network sepolia --signer-id hot-1",
    "relayers create --data @relayer.json"
  )
)

const id = Verb.id(RelayerId)

const update = Verb.update(
  id,
  {
    schema: UpdateRelayer,
    fields: {
      name: Field.text("name"),
      paused: Field.boolean("paused"),
      notification_id: Field.text("notification_id").pipe(Flag.map(Option.map((id) => (id === "" ? null : id))))
    }
  },
  (client, payload, { id, headers }) => client.relayers.update({ params: { relayer_id: id }, headers, payload })
).pipe(
  Verb.about(
    "Change a relayer by a merge patch (RFC 7396): null removes a field.",
    `relayers update payouts --data '{"policies": {"min_balance": "100000000000000000"}}'`,
    "relayers update payouts --name 'Payouts, old' --if-match 12.3",
    "relayers update payouts --notification-id ''",
    "relayers update payouts --data @- <patch.json"
  )
)

const pausing = <const Name extends string>(name: Name, paused: boolean) =>
  Verb.change(
    name,
    Verb.versioned(id),
    (client, { id, headers }) => client.relayers.update({ params: { relayer_id: id }, headers, payload: { paused } }),
    "reverted if its files say paused"
  )

const remove = Verb.remove(
  Verb.versioned(id),
  ({ id }) => `delete the relayer ${id}`,
  (client, { id, headers }) => client.relayers.delete({ params: { relayer_id: id }, headers })
)

export const RelayersCommand = Command.make("relayers").pipe(
  Verb.about("Relayers: accounts on one network with one signer.", "relayers list", "relayers pause payouts"),
  Command.withSubcommands([
    RelayersListCommand,
    Verb.onOne("get", RelayerId, (client, id) => client.relayers.get({ params: { relayer_id: id } })).pipe(
      Verb.about("Get a relayer with its entity tag.", "relayers get payouts", "relayers get payouts --output json")
    ),
    create,
    update,
    remove.pipe(
      Verb.about("Delete a relayer; asks first.", "relayers delete payouts", "relayers delete payouts --yes")
    ),
    pausing("pause", true).pipe(Verb.about("Pause a relayer.", "relayers pause payouts")),
    pausing("resume", false).pipe(Verb.about("Resume a paused relayer.", "relayers resume payouts")),
    ...RelayersHealthCommands,
    ...RelayersNonceCommands,
    ...RelayersSponsoredCommands
  ])
)
