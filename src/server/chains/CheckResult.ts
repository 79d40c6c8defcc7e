// What calls to a chain found, put as parts of a reading.
import { Result } from "effect"
import type { CheckFailure } from "../../domain/chain/ChainSnapshot.ts"
import type { RpcFailure } from "./RpcFailure.ts"

type Answer<A> = Result.Result<A, RpcFailure>

/** No provider is on the relayer's chain, so that nothing can be asked of it. */
export const unusable = ({ code }: RpcFailure): ReadonlyArray<CheckFailure> => [
  { type: code === "mismatch" ? "ChainIdMismatch" : "RpcValidationFailed", code }
]

/** Empty where the call was answered. */
export const failures = <A>(type: CheckFailure["type"], answer: Answer<A>): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? [] : [{ type, code: answer.failure.code }]

export const tooLow = (balance: bigint, minimum: bigint): ReadonlyArray<CheckFailure> =>
  balance >= minimum ? [] : [{ type: "BalanceCheckFailed", code: "too_low" }]

export const balanceFailures = (answer: Answer<bigint>, minimum: bigint): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? tooLow(answer.success, minimum) : failures("BalanceCheckFailed", answer)
