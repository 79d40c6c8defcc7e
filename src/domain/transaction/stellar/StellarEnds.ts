// How transactions end whose envelope was applied: the receipt, and the code.
import { cause } from "../Cause.ts"
import { finish } from "../Command.ts"
import type { Commands } from "../Command.ts"
import { present } from "../Presentation.ts"
import type { Mined, Transaction } from "../Transaction.ts"
import type { Applied } from "./Evidence.ts"
import type { Stellar } from "./Stellar.ts"

interface Verdict {
  /** Absent: somebody else paid, and no attempt is in the ledger. */
  readonly ordinal?: number
  /** One provider decided alone. */
  readonly isByOne: boolean
}

const minedOf = (
  { fee, hash, ledger, isSuccess, ...found }: Applied,
  { isByOne, ordinal }: Verdict
): Mined<Stellar> => ({
  ...present("ordinal", ordinal),
  receipt: {
    height: ledger,
    isSuccess,
    paid: ordinal === undefined ? 0n : fee,
    details: {
      result: found.result,
      resultCode: found.code,
      operationResults: found.operations,
      hash,
      ...(isByOne ? { confirmedBy: 1 } : {})
    }
  }
})

/** The first result of an operation that is no success. */
const failedOperation = ({ operations }: Applied): string | undefined => {
  const index = operations.findIndex((name) => !name.endsWith("Success"))
  return index === -1 ? undefined : `${index + 1} ${operations[index]}`
}

const failed = (applied: Applied, verdict: Verdict): Commands<Stellar> => {
  const operation = failedOperation(applied)
  const error = operation === undefined ? applied.code : `${applied.code}, operation ${operation}`
  const figures = { ledger: applied.ledger, error }
  return [finish({ state: "failed", cause: cause("operation_failed", figures), mined: minedOf(applied, verdict) })]
}

/** Somebody else sent the envelope of a guest, or paid for it. */
export const executedByOther = (applied: Applied, isByOne = false): Commands<Stellar> =>
  applied.isSuccess
    ? [
        finish({
          state: "confirmed",
          cause: cause("executed_by_other", { ledger: applied.ledger }),
          mined: minedOf(applied, { isByOne })
        })
      ]
    : failed(applied, { isByOne })

/** An envelope of a place was applied: its account continues after it. */
export const executed = (
  transaction: Transaction<Stellar>,
  applied: Applied,
  { isLate, isByOne }: { readonly isLate: boolean; readonly isByOne: boolean }
): Commands<Stellar> => {
  const ordinal = transaction.attempts.find(({ hash }) => hash === applied.hash)?.ordinal
  if (ordinal === undefined) return executedByOther(applied, isByOne)
  const verdict = { ordinal, isByOne }
  if (!applied.isSuccess) return failed(applied, verdict)
  const code = isLate ? "executed_late" : "confirmed"
  return [
    finish({ state: "confirmed", cause: cause(code, { ledger: applied.ledger }), mined: minedOf(applied, verdict) })
  ]
}
