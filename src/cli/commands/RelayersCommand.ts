// `relayers`: creates, changes, deletes and lists relayers, with their health, accounts and sponsored transactions.
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as WholeUnits from "../../domain/chain/WholeUnits.ts"
import { networkId } from "../../domain/network/Network.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import { unitOf } from "../../domain/relayer/Relayer.ts"
import type { Relayer } from "../../domain/relayer/Relayer.ts"
import { BuildSolanaTransaction, QuoteSolanaTransaction } from "../../networks/solana/rules/SolanaExchanges.ts"
import { BuildStellarTransaction, QuoteStellarTransaction } from "../../networks/stellar/rules/StellarRequests.ts"
import type * as Call from "../kit/Call.ts"
import { relayerWarnings } from "../kit/Call.ts"
import type { ListColumns } from "../kit/Print.ts"
import * as Verb from "../kit/Verb.ts"

// `relayers list`: lists relayers with all filters of the API.

/** A relayer of the list, and its balance if `--balances` asks for it. */
type Row = Relayer & { readonly balance?: string }

/** As the metric of relayers counts them. `waiting`: its checks succeed, and a transaction waits for something that is missing. */
const stateOf = ({ health, paused, system_disabled }: Relayer): string => {
  if (system_disabled) return "disabled"
  if (paused) return "paused"
  return health?.state === "waiting" ? "waiting" : "active"
}

const columns: ListColumns<Relayer> = {
  ID: ({ id }) => id,
  NAME: ({ name }) => name,
  NETWORK: ({ network_type, network }) => `${network_type}:${network}`,
  SIGNER: ({ signer_id }) => signer_id,
  STATE: stateOf,
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

const examples = [
  "relayers list --network sepolia --no-paused",
  "relayers list --balances",
  "relayers list --health --sort attention",
  "relayers list --all --sort=-name --output json"
]

const list = Verb.listBy("list", "relayers.list", examples, {
  own: { balances, health },
  view: ({ balances, health }, isTable) => {
    // The state `waiting` is part of the health.
    const query = health || isTable ? { include: "health" } : {}
    if (!balances) return { columns: health ? healthColumns : columns, query }
    const withBalances: ListColumns<Row> = { ...columns, BALANCE: ({ balance }) => balance }
    return { columns: withBalances, query, complete: withBalance(new Map()) }
  }
})

const solanaTransaction = "payouts --transaction AQAAAA== --fee-token EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
const stellarTransaction = "payouts --network-type stellar --data @transaction.json"

export const RelayersCommand = Command.make("relayers").pipe(
  Verb.about("Relayers: accounts on one network with one signer.", "relayers list", "relayers pause payouts"),
  Command.withSubcommands([
    list,
    Verb.call("get", "relayers.get", ["relayers get payouts", "relayers get payouts --output json"]),
    Verb.call(
      "create",
      "relayers.create",
      [
        "relayers create --id payouts --name Payouts --network-type evm --network sepolia --signer-id hot-1",
        "relayers create --data @relayer.json"
      ],
      {
        about:
          "Create a relayer. Then its chain is asked; what is wrong is printed on stderr: RPC URLs, and what to send where.",
        hidden: ["check"],
        defaults: { paused: false },
        notices: (client, { data }) => relayerWarnings(client, data)
      }
    ),
    Verb.call("update", "relayers.update", [
      `relayers update payouts --data '{"policies": {"min_balance": "100000000000000000"}}'`,
      "relayers update payouts --name 'Payouts, old' --if-match 12.3",
      "relayers update payouts --notification-id ''",
      "relayers update payouts --data @- <patch.json"
    ]),
    Verb.call("delete", "relayers.delete", ["relayers delete payouts", "relayers delete payouts --yes"], {
      ask: ({ id }) => `delete the relayer ${id}`
    }),
    Verb.call("pause", "relayers.update", ["relayers pause payouts"], {
      payload: { paused: true },
      fate: "reverted if its files say paused",
      about: "Pause a relayer."
    }),
    Verb.call("resume", "relayers.update", ["relayers resume payouts"], {
      payload: { paused: false },
      fate: "reverted if its files say paused",
      about: "Resume a paused relayer."
    }),
    Verb.call("status", "relayerHealth.status", ["relayers status payouts", "relayers status payouts --output json"]),
    Verb.call("balance", "relayerHealth.balance", ["relayers balance payouts"], {
      about: "Read the balance of a relayer from its chain; exit code 1 if the chain does not answer."
    }),
    Verb.call("check", "relayerHealth.check", ["relayers check payouts"]),
    Verb.call("explain", "relayerHealth.explain", ["relayers explain payouts"]),
    Verb.call("nonce", "nonces.get", ["relayers nonce payouts"]),
    Verb.call("nonce-resync", "nonces.resync", [
      "relayers nonce-resync payouts",
      "relayers nonce-resync payouts --answer give_up --transaction-id 4f1c…"
    ]),
    Verb.call("nonce-clear", "nonces.clear", ["relayers nonce-clear payouts --from 10 --to 11"], {
      ask: ({ id, payload: { from, to } }) =>
        `replace the open transactions ${String(from)} to ${String(to)} of ${id} by no-ops`
    }),
    Verb.call("delegation", "delegations.get", ["relayers delegation payouts"]),
    Verb.call(
      "delegate",
      "delegations.delegate",
      ["relayers delegate payouts --address 0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"],
      {
        ask: ({ id, payload: { address } }) =>
          `let the code of ${String(address)} decide what calls to the account of ${id} do`
      }
    ),
    Verb.call("undelegate", "delegations.undelegate", ["relayers undelegate payouts"], {
      ask: ({ id }) => `end the delegation of the account of ${id}`
    }),
    Verb.call("nonce-generation", "nonces.beginGeneration", ["relayers nonce-generation payouts"], {
      about: "Declare that a test network was restarted. Transactions that were signed end as failed."
    }),
    Verb.call("channels", "nonces.get", ["relayers channels payouts"], {
      about: "Show the channels of a stellar relayer: their stage, sequences and transactions, and what they lock."
    }),
    Verb.call("channels-release", "nonces.releaseChannels", ["relayers channels-release payouts"], {
      about: "End the channels of a stellar relayer, and get their reserves back."
    }),
    Verb.call(
      "sponsored-quote",
      "sponsored.quote",
      [`relayers sponsored-quote ${solanaTransaction}`, `relayers sponsored-quote ${stellarTransaction}`],
      { bodies: { solana: QuoteSolanaTransaction, stellar: QuoteStellarTransaction } }
    ),
    Verb.call(
      "sponsored-build",
      "sponsored.build",
      [`relayers sponsored-build ${solanaTransaction}`, `relayers sponsored-build ${stellarTransaction}`],
      {
        about: "Build a user's transaction with a payment to the relayer, for the user to sign.",
        bodies: { solana: BuildSolanaTransaction, stellar: BuildStellarTransaction }
      }
    )
  ])
)
