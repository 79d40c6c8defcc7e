// Why a relayer is disabled. The texts are the service's own and contain no text of a provider.
import type { CheckFailure } from "../chain/ChainSnapshot.ts"
import type { DisabledReason } from "../relayer/Relayer.ts"

/** Texts for codes that say more than their type. */
const texts: { readonly [key: string]: string } = {
  "BalanceCheckFailed too_low": "the balance is below min_balance",
  "SequenceSyncFailed no_account": "the account does not exist on the network"
}

const usual = {
  RpcValidationFailed: "no RPC URL gave a usable answer",
  NonceSyncFailed: "the account's nonce could not be read",
  BalanceCheckFailed: "the account's balance could not be read",
  SequenceSyncFailed: "the account's sequence number could not be read",
  ChainIdMismatch: "the RPC URL serves another chain than the relayer's network"
} as const satisfies Record<CheckFailure["type"], string>

const detailsOf = ({ type, code }: CheckFailure): string => texts[`${type} ${code}`] ?? usual[type]

/** The type of the failures, or `Multiple` if they have several types, with all texts. `undefined`: nothing has failed. */
export const reasonOf = (failures: ReadonlyArray<CheckFailure>): DisabledReason | undefined => {
  const [first] = failures
  if (first === undefined) return undefined
  const types = new Set(failures.map(({ type }) => type))
  const details = [...new Set(failures.map(detailsOf))].sort().join("; ")
  return { type: types.size === 1 ? first.type : "Multiple", details }
}

export const isSameReason = (one: DisabledReason | undefined, other: DisabledReason | undefined): boolean =>
  one?.type === other?.type && one?.details === other?.details
