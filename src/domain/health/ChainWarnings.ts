// What an inspection of a relayer's chain found wrong, as sentences for people: its providers, and what its account lacks.
import { Schema } from "effect"
import { maxClockDifference, protocolOf, protocolWarning } from "../chain/ChainSnapshot.ts"
import type { ChainSnapshot, ProviderReading, StellarLedger } from "../chain/ChainSnapshot.ts"
import type { ProviderFacts } from "../chain/Rpc.ts"
import type { Network } from "../network/Network.ts"
import { timeoutBounds } from "../relayer/Policy.ts"
import type { RelayerAccount, RelayerStatus } from "../relayer/Relayer.ts"
import { fundingOf, hasAnswered, sentenceOf } from "./Funding.ts"

export const HealthWarning = Schema.Literals([
  "sends_nothing",
  "timeout_bounded",
  "not_used",
  "no_channels",
  "clock_skew",
  "ledger_stalled",
  "store_too_short",
  "protocol_unknown",
  "no_private_rpc",
  "delegate_changed",
  "chain_changed"
]).annotate({
  identifier: "HealthWarning",
  description:
    "`sends_nothing`: users have to pay the fees, and the policy names no token that they may pay with. `timeout_bounded`: `timeout_seconds` of a stellar relayer is outside of its bounds. `not_used`: a field of the policy has no effect. `no_channels`: `concurrent_transactions` of a stellar relayer is true, and it has no channels. `clock_skew`: the newest stellar ledger is ahead of the clock. `ledger_stalled`: it is more than a minute old. `store_too_short`: the provider keeps fewer ledgers than a day has. `protocol_unknown`: the stellar network runs a newer protocol than this version of the service knows. `no_private_rpc`: the policy asks for private transactions, and there is no private RPC URL. `delegate_changed`: what the account delegates to has changed since the delegation. `chain_changed`: the RPC URL serves another chain than the one whose nonces or sequences are known, or a test network was restarted."
})
type HealthWarning = typeof HealthWarning.Type

/** Names the RPC URL, masked, and the cause. Empty: the provider works. */
export const providerWarnings = ({ url, failed, error }: ProviderReading): ReadonlyArray<string> =>
  failed ? [`RPC URL ${url}: ${error ?? "no answer"}.`] : []

/** Calls of one moment that a lane often makes: with smaller batches, it makes more HTTP requests. */
const usualCalls = 10

/** What a provider that works lacks of what the network is configured for. */
export const abilityWarnings = (
  network: Network,
  { url, failed, batch_size: size = usualCalls, fee_history, finalized }: ProviderReading & ProviderFacts
): ReadonlyArray<string> => {
  if (failed) return []
  const lacks: Array<string> = []
  if (size < usualCalls)
    lacks.push(`takes ${size === 1 ? "no batches" : `at most ${size} calls in a batch`}, so that it gets more requests`)
  if (network.network_type === "evm") {
    if (finalized === false && network.finality_tag === "finalized") lacks.push("does not know the block `finalized`")
    if (fee_history === false && network.features?.includes("eip1559") === true) lacks.push("has no fee history")
  }
  return lacks.map((lack) => `RPC URL ${url}: it ${lack}.`)
}

/** A problem of a relayer that does not disable it. */
interface HealthNotice {
  readonly code: HealthWarning
  readonly text: string
}

type Rule = (
  relayer: RelayerAccount,
  reading: ChainSnapshot | undefined,
  network: Network | undefined
) => HealthNotice | undefined

/** Who pays if the policy does not say so. */
const usualStrategy = { solana: "user", stellar: "relayer" } as const

/** Users must pay the relayer in a token, and the policy allows no token. */
const sendsNothing: Rule = ({ network_type, policies }) => {
  if (network_type === "evm") return undefined
  const { fee_payment_strategy = usualStrategy[network_type], allowed_tokens = [] } = policies ?? {}
  if (fee_payment_strategy !== "user" || allowed_tokens.length > 0) return undefined
  return {
    code: "sends_nothing",
    text: "The relayer signs nothing: fee_payment_strategy of its policy is user, and allowed_tokens has no token. Name tokens, or set fee_payment_strategy to relayer."
  }
}

const timeout: Rule = ({ network_type, policies }) => {
  const { maximum, minimum } = timeoutBounds
  const seconds = network_type === "stellar" ? policies?.timeout_seconds : undefined
  if (seconds === undefined || (seconds >= minimum && seconds <= maximum)) return undefined
  return {
    code: "timeout_bounded",
    text: `timeout_seconds of its policy is ${seconds}; the nearest of ${minimum} and ${maximum} seconds is used.`
  }
}

const swaps: Rule = ({ network_type, policies }) =>
  network_type === "stellar" && policies?.swap_config !== undefined
    ? { code: "not_used", text: "swap_config of its policy has no effect: the service swaps no tokens." }
    : undefined

const channels: Rule = ({ network_type, policies }) => {
  if (network_type !== "stellar" || policies?.concurrent_transactions !== true) return undefined
  return (policies.channels?.count ?? 0) > 0
    ? undefined
    : {
        code: "no_channels",
        text: "concurrent_transactions of its policy is true, and its transactions are sent one after the other all the same: set channels.count."
      }
}

/** Nobody could get its bytes. */
const withoutPrivateUrls: Rule = ({ custom_private_rpc_urls: own, policies }, _, network) => {
  if (network?.network_type !== "evm" || policies?.private_transactions !== true) return undefined
  return (own ?? network.private_rpc_urls)?.some(({ weight }) => weight > 0) === true
    ? undefined
    : {
        code: "no_private_rpc",
        text: "Its sends are refused: its policy asks for private transactions, and there is no private RPC URL with a weight above 0. Set custom_private_rpc_urls of the relayer, or private_rpc_urls of its network."
      }
}

const ledgerIn = (reading: ChainSnapshot | undefined): StellarLedger | undefined =>
  reading?.network_type === "stellar" ? reading.ledger : undefined

const clock: Rule = (_, reading) => {
  const age = ledgerIn(reading)?.age_seconds ?? 0
  if (age >= -maxClockDifference) return undefined
  return {
    code: "clock_skew",
    text: `The newest ledger was closed ${-age} seconds after the clock of the service. Nothing is signed: set the clock, or set the weight of the RPC URL to 0.`
  }
}

const stalled: Rule = (_, reading) => {
  const age = ledgerIn(reading)?.age_seconds ?? 0
  if (age <= maxClockDifference) return undefined
  return {
    code: "ledger_stalled",
    text: `The newest ledger was closed ${age} seconds ago. Nothing is signed until there is a newer one. If the network goes on, the RPC URL is behind, or the clock of the service is ahead.`
  }
}

/** Seconds of ledgers that a provider should keep: after an outage, these ledgers prove how transactions ended. */
const leastKept = 86_400

const store: Rule = (_, reading) => {
  const kept = ledgerIn(reading)?.kept_seconds ?? leastKept
  if (kept >= leastKept) return undefined
  return {
    code: "store_too_short",
    text: `The RPC URL keeps the ledgers of ${Math.floor(kept / 3600)} hours. After a longer outage, nothing proves what became of transactions: use one that keeps ${leastKept / 3600} hours.`
  }
}

const protocol: Rule = (_, reading) => {
  const text = protocolWarning(protocolOf(reading?.providers ?? []))
  return text === undefined ? undefined : { code: "protocol_unknown", text }
}

/** A lane has found it out, not a check: the URL serves a network with the right name. */
export const otherChain: HealthNotice = {
  code: "chain_changed",
  text: "The relayer signs nothing: the RPC URL serves another chain than the one whose nonces or sequences the service knows. Correct the URL; if a test network was restarted, use `POST /api/v1/relayers/{id}/nonce/generation`."
}

/** The hourly look at a delegation has found it out. */
export const delegateChanged = (changed: string): HealthNotice => ({
  code: "delegate_changed",
  text: `Transactions with many calls are not signed: since the delegation of its account, this has changed: ${changed}. Check it, and delegate again with \`POST /api/v1/relayers/{id}/delegation\`, or end the delegation.`
})

const rules: ReadonlyArray<Rule> = [
  sendsNothing,
  timeout,
  swaps,
  channels,
  clock,
  stalled,
  store,
  protocol,
  withoutPrivateUrls
]

/** `reading`: undefined before the first check. `network`: undefined if the caller does not know it. */
export const noticesOf = (
  relayer: RelayerAccount,
  reading: ChainSnapshot | undefined,
  network?: Network
): ReadonlyArray<HealthNotice> => rules.flatMap((rule) => rule(relayer, reading, network) ?? [])

/** Empty: the relayer can work. */
export const chainWarnings = (
  relayer: RelayerAccount,
  reading: ChainSnapshot,
  network?: Network
): ReadonlyArray<string> => {
  const providers = [
    ...noticesOf(relayer, reading, network).map(({ text }) => text),
    ...reading.providers.flatMap(providerWarnings)
  ]
  const funding = fundingOf(relayer, reading)
  if (funding !== undefined) return [...providers, sentenceOf(funding)]
  if (providers.length > 0 || hasAnswered(reading)) return providers
  return ["No RPC URL has answered yet."]
}

/** The status of an account that does not exist has no balance, although a provider is on the chain and answers. */
const isWithoutAccount = ({ live, balance, providers }: RelayerStatus): boolean =>
  live && balance === undefined && providers.some(({ failed }) => !failed)

/** What a status shows of the chain at its moment. The balance of an earlier check is left out. */
export const snapshotOf = (status: RelayerStatus): ChainSnapshot => ({
  network_type: status.network_type,
  ...(status.live && status.balance !== undefined ? { balance: status.balance } : {}),
  failures: isWithoutAccount(status) ? [{ type: "SequenceSyncFailed", code: "no_account" }] : [],
  providers: status.providers
})
