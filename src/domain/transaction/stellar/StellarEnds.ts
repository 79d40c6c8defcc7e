// How transactions end whose envelope was applied: the receipt, and the code.
import { cause } from "../Cause.ts"
import type { KnownCode } from "../Cause.ts"
import { present } from "../Presentation.ts"
import { finish } from "../Rules.ts"
import type { Finish } from "../Rules.ts"
import type { Mined, Transaction } from "../Transaction.ts"
import type { Applied } from "./Evidence.ts"
import type { Stellar } from "./Stellar.ts"

/** `ordinal`: absent if somebody else paid, and no attempt is in the ledger. */
const minedOf = ({ fee, hash, ledger, isSuccess, ...found }: Applied, ordinal: number | undefined): Mined<Stellar> => ({
  ...present("ordinal", ordinal),
  receipt: {
    height: ledger,
    isSuccess,
    paid: ordinal === undefined ? 0n : fee,
    details: { result: found.result, resultCode: found.code, operationResults: found.operations, hash }
  }
})

/** The first result of an operation that is no success. */
const failedOperation = ({ operations }: Applied): string | undefined => {
  const index = operations.findIndex((name) => !name.endsWith("Success"))
  return index === -1 ? undefined : `${index + 1} ${operations[index]}`
}

const failed = (applied: Applied, ordinal?: number): Finish<Stellar> => {
  const operation = failedOperation(applied)
  const error = operation === undefined ? applied.code : `${applied.code}, operation ${operation}`
  const figures = { ledger: applied.ledger, error }
  return finish({ state: "failed", cause: cause("operation_failed", figures), mined: minedOf(applied, ordinal) })
}

const confirmed = (code: KnownCode, applied: Applied, ordinal?: number): Finish<Stellar> =>
  finish({
    state: "confirmed",
    cause: cause(code, { ledger: applied.ledger }),
    mined: minedOf(applied, ordinal)
  })

/** Somebody else sent the envelope of a guest, or paid for it. */
export const executedByOther = (applied: Applied): Finish<Stellar> =>
  applied.isSuccess ? confirmed("executed_by_other", applied) : failed(applied)

/** An envelope of a place was applied. */
export const executed = (transaction: Transaction<Stellar>, applied: Applied, isLate: boolean): Finish<Stellar> => {
  const ordinal = transaction.attempts.find(({ hash }) => hash === applied.hash)?.ordinal
  if (ordinal === undefined) return executedByOther(applied)
  return applied.isSuccess
    ? confirmed(isLate ? "executed_late" : "confirmed", applied, ordinal)
    : failed(applied, ordinal)
}

/** What nodes said last, if they took none of its bytes. */
export const refusedLast = ({ attempts }: Transaction<Stellar>): string | undefined => attempts.at(-1)?.refusal?.result

/** Nothing of it was applied before its deadline, and nothing will be. */
export const late = (transaction: Transaction<Stellar>): Finish<Stellar> =>
  finish({
    state: "expired",
    cause: cause("deadline_passed", { until: transaction.validUntil, ...present("error", refusedLast(transaction)) })
  })
