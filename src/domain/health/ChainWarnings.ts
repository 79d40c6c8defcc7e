// What an inspection of a relayer's chain found wrong, as sentences for people: its providers, and what its account lacks.
import type { ChainSnapshot, ProviderReading } from "../chain/ChainSnapshot.ts"
import type { RelayerAccount } from "../relayer/Relayer.ts"
import type { RelayerStatus } from "../relayer/RelayerStatus.ts"
import { fundingOf, sentenceOf } from "./Funding.ts"
import { hasAnswered } from "./HealthSnapshot.ts"

/** Names the RPC URL, masked, and the cause. Empty: the provider works. */
export const providerWarnings = ({ url, failed, error }: ProviderReading): ReadonlyArray<string> =>
  failed ? [`RPC URL ${url}: ${error ?? "no answer"}.`] : []

/** Whether the policy lets the relayer sign nothing at all: users have to pay it, and there is no token that they may pay with. */
export const sendsNothing = ({ network_type, policies }: RelayerAccount): boolean => {
  if (network_type !== "solana") return false
  const { fee_payment_strategy = "user", allowed_tokens = [] } = policies ?? {}
  return fee_payment_strategy === "user" && allowed_tokens.length === 0
}

export const sendsNothingText =
  "It signs nothing: fee_payment_strategy of its policy is user, and allowed_tokens has no token. Name tokens, or set fee_payment_strategy to relayer."

/** Empty: the relayer can work. */
export const chainWarnings = (relayer: RelayerAccount, reading: ChainSnapshot): ReadonlyArray<string> => {
  const providers = [
    ...(sendsNothing(relayer) ? [sendsNothingText] : []),
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
