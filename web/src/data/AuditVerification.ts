// The verification of the audit log. The service checks a few thousand records per request.
import { Effect, Schema } from "effect"
import { AuditHeadText } from "../../../src/domain/audit/Audit.ts"
import type { AuditHead } from "../../../src/domain/audit/Audit.ts"
import { call } from "./Client.ts"
import type { Failure } from "./Failure.ts"
import { act } from "./Registry.ts"
import { pause } from "./Retry.ts"

export interface Verification {
  /** Records that were checked so far. */
  readonly checked: number
  /** Where the next request continues. */
  readonly from?: AuditHead
  /** The newest record of the log, at its end. */
  readonly head?: AuditHead
  /** Position of the first record that was changed or is missing. */
  readonly brokenAt?: number
  readonly failure?: Failure
  readonly isDone: boolean
  /** An instance verifies for one caller at a time: the page waits for its turn. */
  readonly isWaiting?: true
}

export const begun: Verification = { checked: 0, isDone: false }

const decodeHead = Schema.decodeUnknownOption(AuditHeadText)

/** A head that a person has stored, as `position:hash`. `undefined`: the text is none. */
export const storedHead = (text: string): AuditHead | undefined => {
  const head = decodeHead(text.trim().toLowerCase())
  return head._tag === "Some" ? head.value : undefined
}

const tooManyRequests = 429

/** Checks the next records. `known` is a stored head, which the log must still contain. */
export const verifyNext = async (state: Verification, known: AuditHead | undefined): Promise<Verification> => {
  const { checked, from } = state
  const query = { ...known, ...(from === undefined ? {} : { from }) }
  const outcome = await act(call(({ audit }) => Effect.map(audit.verify({ query }), ({ data }) => data)))
  if (!outcome.ok) {
    const { failure } = outcome
    if (failure.status !== tooManyRequests) return { ...state, failure, isDone: true }
    await Effect.runPromise(pause((failure.retryAfter ?? 1) * 1_000))
    return { ...state, isWaiting: true }
  }
  const { valid, checked: more, head, next, broken_at } = outcome.value
  const sum = checked + more
  const continued = next === undefined ? undefined : storedHead(next)
  if (!valid) return { checked: sum, isDone: true, brokenAt: broken_at ?? sum }
  if (continued !== undefined) return { checked: sum, from: continued, isDone: false }
  return { checked: sum, isDone: true, ...(head === undefined ? {} : { head }) }
}
