// Turns the results of calls into the `failures` of a chain snapshot.
import { Result } from "effect"
import type { CheckFailure } from "../../domain/chain/ChainSnapshot.ts"
import type { RpcFailure } from "./RpcFailure.ts"

type Answer<A> = Result.Result<A, RpcFailure>

/** The failures if no provider serves the relayer's chain. */
export const unusable = ({ code }: RpcFailure): ReadonlyArray<CheckFailure> => [
  { type: code === "mismatch" ? "ChainIdMismatch" : "RpcValidationFailed", code }
]

/** Empty if the call succeeded. */
export const failures = <A>(type: CheckFailure["type"], answer: Answer<A>): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? [] : [{ type, code: answer.failure.code }]

export const tooLow = (balance: bigint, minimum: bigint): ReadonlyArray<CheckFailure> =>
  balance >= minimum ? [] : [{ type: "BalanceCheckFailed", code: "too_low" }]

export const balanceFailures = (answer: Answer<bigint>, minimum: bigint): ReadonlyArray<CheckFailure> =>
  Result.isSuccess(answer) ? tooLow(answer.success, minimum) : failures("BalanceCheckFailed", answer)
