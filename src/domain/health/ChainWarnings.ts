// What an inspection of a relayer's chain found wrong, as sentences for people: its providers, and what its account lacks.
import type { ChainSnapshot, ProviderReading } from "../chain/ChainSnapshot.ts"
import type { RelayerAccount } from "../relayer/Relayer.ts"
import type { RelayerStatus } from "../relayer/RelayerStatus.ts"
import { fundingOf, sentenceOf } from "./Funding.ts"
import { hasAnswered } from "./HealthSnapshot.ts"

/** Names the RPC URL, masked, and the cause. Empty: the provider works. */
export const providerWarnings = ({ url, failed, error }: ProviderReading): ReadonlyArray<string> =>
  failed ? [`RPC URL ${url}: ${error ?? "no answer"}.`] : []

/** Empty: the relayer can work. */
export const chainWarnings = (relayer: RelayerAccount, reading: ChainSnapshot): ReadonlyArray<string> => {
  const providers = reading.providers.flatMap(providerWarnings)
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
