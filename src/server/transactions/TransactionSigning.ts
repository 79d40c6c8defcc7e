// Signs transactions that callers send themselves. Each is stored before the caller gets it, and the same bytes are signed once.
import { Context, DateTime, Effect, Layer } from "effect"
import { RelayerPaused } from "../../domain/transaction/AcceptanceErrors.ts"
import type { TransactionConflict } from "../../domain/transaction/Cancellation.ts"
import type { ExchangeBody, ShownExchange } from "../../domain/transaction/Family.ts"
import type { NetworkLimits, TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import { Ledger } from "../ledger/Ledger.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { NotImplemented } from "../../domain/request/Request.ts"
import type { BadGateway, BadRequest } from "../../domain/request/Request.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import type { JsonBody, Sender, Signable } from "./Intake.ts"
import * as KeyFees from "./KeyFees.ts"
import * as Senders from "./Senders.ts"
import * as SignerUse from "./SignerUse.ts"

type Failed =
  | RelayerNotFound
  | NotImplemented
  | BadRequest
  | RelayerPaused
  | TransactionLimitExceeded
  | TransactionConflict
  | TooManyRequests
  | BadGateway

export class TransactionSigning extends Context.Service<
  TransactionSigning,
  {
    /** The same bytes again return what was given before. Fails with `TransactionConflict` if a transaction has them. */
    sign(id: RelayerId, body: ExchangeBody<"signing"> | JsonBody): Effect.Effect<ShownExchange<"signing">, Failed>
  }
>()("effect-relayer/server/transactions/TransactionSigning") {
  static readonly layer = Layer.effect(
    TransactionSigning,
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const senders = yield* Senders.make
      const fees = yield* KeyFees.make
      const signWith = yield* SignerUse.make
      const outboundWork = yield* OutboundWork

      const give = Effect.fnUntraced(function* (sender: Sender, limits: NetworkLimits | undefined, signable: Signable) {
        const { curve, message, seal, ...unsigned } = yield* outboundWork.run(signable.unsigned)
        const { signature } = yield* signWith(sender.relayer, { curve, message })
        const sealed = yield* seal(signature)
        if (sealed === undefined) return yield* SignerUse.wrongKey()
        return yield* ledger
          .give(
            sender.account,
            { identity: signable.identity, ...unsigned, ...sealed },
            yield* fees.limitsOf(sender, limits)
          )
          .pipe(Effect.catchTag("FeeLimitExceeded", (exceeded) => fees.exceeded(exceeded, sender)))
      })

      const sign = Effect.fn("TransactionSigning.sign")(function* (
        id: RelayerId,
        body: ExchangeBody<"signing"> | JsonBody
      ) {
        const { sender, limits, intake, read } = yield* senders.getLimited(id)
        if (intake.signing === undefined) {
          const error = `transactions of ${sender.relayer.network_type} are not signed without being sent`
          return yield* new NotImplemented({ error })
        }
        if (sender.relayer.paused) return yield* new RelayerPaused({})
        const now = DateTime.toEpochMillis(yield* DateTime.now)
        const given = yield* read.signing(body)
        const signable = yield* intake.signing.admit(given, sender, { now, limits, prefix: "" })
        const former = yield* ledger.given(sender.account, signable.identity)
        return intake.signing.show(former ?? (yield* give(sender, limits, signable)))
      })

      return TransactionSigning.of({ sign })
    })
  )
}
