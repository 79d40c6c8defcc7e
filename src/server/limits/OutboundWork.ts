// Work that waits for something outside of the database: chains, webhook receivers, Vault, the decryption of keystores.
import { Context, Effect, Layer } from "effect"
import { OutboundLimit } from "../../api/Middleware.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import * as Transaction from "../../sql/Transaction.ts"
import * as CallerLimit from "./CallerLimit.ts"

/** Outbound work of one caller that runs at the same time in this instance. */
export const maxPerCaller = 8

export class OutboundWork extends Context.Service<
  OutboundWork,
  {
    /**
     * Runs the work outside of the transaction of the request, which holds no connection meanwhile. A caller with scopes has
     * at most `maxPerCaller` of them at a time; the administrator and programs have no limit.
     */
    run<A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | TooManyRequests, R>
    /** Fails if `run` would refuse the caller now. */
    readonly check: Effect.Effect<void, TooManyRequests>
  }
>()("effect-relayer/server/limits/OutboundWork") {
  static readonly layer = Layer.effect(
    OutboundWork,
    Effect.gen(function* () {
      const outside = yield* Transaction.outside
      const limit = yield* CallerLimit.make({ name: "outbound_work", max: maxPerCaller })
      return OutboundWork.of({
        run: (work) => Effect.flatMap(Caller.current, (caller) => limit.run(caller, outside(work))),
        check: Effect.flatMap(Caller.current, limit.check)
      })
    })
  )
}

/** The implementation of `OutboundLimit`. */
export const OutboundLimitHttp = Layer.effect(
  OutboundLimit,
  Effect.map(OutboundWork, ({ check }) => OutboundLimit.of((httpEffect) => Effect.andThen(check, httpEffect)))
)
