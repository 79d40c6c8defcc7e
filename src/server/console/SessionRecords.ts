// Ends sessions, and records in the audit log that they begin, that they end, and that sign-ins are refused.
import { Effect, Schema } from "effect"
import * as CountedRecords from "../access/CountedRecords.ts"
import { Audit, encodeChange } from "../audit/Audit.ts"
import { Session } from "../../domain/access/Caller.ts"
import type { SessionId } from "../../domain/access/Caller.ts"
import * as Transaction from "../../sql/Transaction.ts"
import { currentOrigin } from "../responses/CurrentRequest.ts"
import type { Origin } from "../responses/CurrentRequest.ts"
import * as SessionHalves from "./SessionHalves.ts"
import type * as SessionsRepo from "./SessionsRepo.ts"

const RefusedSignIns = Schema.Struct({ count: Schema.Natural })

export const make = Effect.fnUntraced(function* (repo: Effect.Success<ReturnType<typeof SessionsRepo.make>>) {
  const audit = yield* Audit
  const transaction = yield* Transaction.make

  const record = (action: "session.created" | "session.ended", session: Session, origin: Origin) =>
    audit.recordMany([
      encodeChange(
        {
          action,
          id: session.id,
          schema: Session,
          ...(action === "session.created" ? { after: session } : { before: session })
        },
        origin
      )
    ])

  const recordRefused = yield* CountedRecords.make((origin: Origin, count) =>
    audit
      .recordMany([
        encodeChange({ action: "session.refused", id: "sign-in", schema: RefusedSignIns, after: { count } }, origin)
      ])
      .pipe(Effect.ignoreCause({ log: "Warn", message: "cannot record refused sign-ins" }))
  )

  const endAll = Effect.fnUntraced(function* (ids: ReadonlyArray<SessionId>) {
    if (ids.length === 0) return
    const origin = yield* currentOrigin
    for (const session of yield* repo.remove(ids)) {
      // A request without a caller ends a session by its cookie, as the key of that session.
      const keyId = origin.keyId === "program" ? session.key_id : origin.keyId
      yield* record("session.ended", session, { ...origin, keyId })
    }
  })

  const endByCookies = Effect.fn("Sessions.endByCookies")(
    (cookies: ReadonlyArray<string>) => endAll(cookies.flatMap((cookie) => SessionHalves.idOf(cookie) ?? [])),
    transaction
  )

  return { record, recordRefused, endAll, endByCookies }
})
