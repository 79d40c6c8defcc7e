// The state of a signature in Turnkey. Policies and approvers may refuse it, or it may wait for an approval.
import { Effect, Schema } from "effect"
import * as RequestIds from "../RequestIds.ts"
import { unavailable } from "./TurnkeyFailures.ts"

/** A number of at most 32 bytes in hex, with or without leading zeros. */
const Part = Schema.String.check(Schema.isPattern(/^(0x)?[0-9a-fA-F]{1,64}$/u))

export const SignAnswer = Schema.Struct({
  activity: Schema.Struct({
    id: Schema.String,
    status: Schema.String,
    result: Schema.optionalKey(
      Schema.NullOr(
        Schema.Struct({ signRawPayloadResult: Schema.optionalKey(Schema.NullOr(Schema.Struct({ r: Part, s: Part }))) })
      )
    )
  })
})

const unfinished = "Turnkey has not finished the signature yet"

const waiting = new Map([
  ["ACTIVITY_STATUS_CONSENSUS_NEEDED", "Turnkey waits for the approval of the signature"],
  ["ACTIVITY_STATUS_AUTHENTICATORS_NEEDED", "Turnkey waits for an authenticator"],
  ["ACTIVITY_STATUS_CREATED", unfinished],
  ["ACTIVITY_STATUS_PENDING", unfinished]
])

const refused = new Map([
  ["ACTIVITY_STATUS_REJECTED", "Turnkey has rejected the signature: a policy or an approver does not allow it"],
  ["ACTIVITY_STATUS_FAILED", "Turnkey could not sign: the policies or the key do not allow it"]
])

const bytes = (hex: string) => Buffer.from(hex.replace(/^0x/u, "").padStart(64, "0"), "hex")

/** The signature of a finished activity, with the id of the activity in Turnkey's log. */
export const toSigned = Effect.fnUntraced(function* ({ id, status, result }: (typeof SignAnswer.Type)["activity"]) {
  const requestId = RequestIds.field(id)
  if (waiting.has(status)) return yield* unavailable("pending", { detail: waiting.get(status), ...requestId })
  if (refused.has(status)) return yield* unavailable("refused", { detail: refused.get(status), ...requestId })
  const parts = status === "ACTIVITY_STATUS_COMPLETED" ? result?.signRawPayloadResult : undefined
  if (parts === undefined || parts === null) return yield* unavailable("unexpected", requestId)
  return { signature: Buffer.concat([bytes(parts.r), bytes(parts.s)]), ...requestId }
})
