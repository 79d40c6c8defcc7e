// What is known of a chain from one look to the next.
import type { CheckCode, ChainSnapshot } from "../chain/ChainSnapshot.ts"
import type { Relayer } from "../relayer/Relayer.ts"
import { maskRpc } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"

/** Codes of what only the chain can say. */
const ofTheChain: ReadonlySet<CheckCode> = new Set(["mismatch", "too_low", "no_account"])

/** Whether the chain itself has said something, good or bad. */
export const hasAnswered = ({ balance, failures }: ChainSnapshot): boolean =>
  balance !== undefined || failures.some(({ code }) => ofTheChain.has(code))

/** What there is to spend: nothing, where there is no account. Undefined: nobody knows, or the chain is another one. */
export const balanceOf = ({ balance, failures }: ChainSnapshot): bigint | undefined => {
  if (failures.some(({ type }) => type === "ChainIdMismatch")) return undefined
  return failures.some(({ code }) => code === "no_account") ? 0n : balance
}

/** A look with the amounts of the one before where it has none itself. */
export const carry = (before: ChainSnapshot | undefined, now: ChainSnapshot): ChainSnapshot => {
  if (before === undefined || before.network_type !== now.network_type) return now
  const { failures: _, providers: __, ...amounts } = before
  return { ...amounts, ...now } as ChainSnapshot
}

/** The snapshot of an inspection that did not end in time. */
export const unanswered = ({ network_type }: Relayer, urls: ReadonlyArray<RpcConfig>): ChainSnapshot => ({
  network_type,
  failures: [{ type: "RpcValidationFailed", code: "unreachable" }],
  providers: urls.map((config) => ({ ...maskRpc(config), breaker: "closed", failed: true, code: "unreachable" }))
})
