// Answers questions about chain snapshots, and carries amounts from one snapshot to the next.
import type { CheckCode, ChainSnapshot } from "../chain/ChainSnapshot.ts"
import type { RelayerAccount } from "../relayer/Relayer.ts"
import { maskRpc } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"

/** Codes of failures that only an answer of the chain can cause. */
const ofTheChain: ReadonlySet<CheckCode> = new Set(["mismatch", "too_low", "no_account"])

/** Whether the chain has answered, also if the answer was a failure of the account. */
export const hasAnswered = ({ balance, failures }: ChainSnapshot): boolean =>
  balance !== undefined || failures.some(({ code }) => ofTheChain.has(code))

/** The balance. 0 if the account does not exist. `undefined` if it was not read or the chain is the wrong one. */
export const balanceOf = ({ balance, failures }: ChainSnapshot): bigint | undefined => {
  if (failures.some(({ type }) => type === "ChainIdMismatch")) return undefined
  return failures.some(({ code }) => code === "no_account") ? 0n : balance
}

/** Keeps the amounts of the previous snapshot if the new one has none. */
export const carry = (before: ChainSnapshot | undefined, now: ChainSnapshot): ChainSnapshot => {
  if (before === undefined || before.network_type !== now.network_type) return now
  const { failures: _, providers: __, ...amounts } = before
  return { ...amounts, ...now } as ChainSnapshot
}

/** The snapshot of an inspection that did not end in time. */
export const unanswered = (
  { network_type }: Pick<RelayerAccount, "network_type">,
  urls: ReadonlyArray<RpcConfig>
): ChainSnapshot => ({
  network_type,
  failures: [{ type: "RpcValidationFailed", code: "unreachable" }],
  providers: urls.map((config) => ({ ...maskRpc(config), breaker: "closed", failed: true, code: "unreachable" }))
})
