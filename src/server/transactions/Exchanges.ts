// What only some networks do for a caller: they sign transactions that it sends itself, and quote and build those whose users pay the fees
// in a token. Nothing is stored of a quote or a build: what a user sends later is verified then.
import { Context, DateTime, Effect, Layer } from "effect"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadGateway, BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import type { ExchangeBody, ShownExchange } from "../../networks/core/Family.ts"
import type { TransactionConflict } from "../../networks/core/Rules.ts"
import { RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import type { NetworkLimits, TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { makeKeyFees, makeSenders, makeSignerUse, wrongKey } from "./Intake.ts"
import type { JsonBody, Sender, Signable } from "./Intake.ts"

type SponsoringFailed = RelayerNotFound | NotImplemented | BadRequest | BadGateway | TooManyRequests

/** A refusal of the token, for every network type. */
const refusedToken = (message: string) => BadRequest.of([{ field: "fee_token", message }])

/** Users pay only relayers whose policy says so. */
export const needsUserStrategy = refusedToken(
  "cannot be used while the relayer's policy has fee_payment_strategy relayer; set it to user"
)

export const notAllowedToken = refusedToken("is not in allowed_tokens of the relayer's policy")

export const priceUnavailable = (reason: string) => new BadGateway({ error: `price_unavailable: ${reason}` })

const notHere = (networkType: string) =>
  new NotImplemented({ error: `users of relayers of ${networkType} cannot pay fees in a token` })

export class Sponsoring extends Context.Service<
  Sponsoring,
  {
    /** What the transaction costs its user now. */
    quote(
      id: RelayerId,
      body: ExchangeBody<"quote"> | JsonBody
    ): Effect.Effect<ShownExchange<"quote">, SponsoringFailed>
    /** The transaction with a payment to the relayer, for the user to sign. */
    build(
      id: RelayerId,
      body: ExchangeBody<"build"> | JsonBody
    ): Effect.Effect<ShownExchange<"build">, SponsoringFailed | RelayerPaused | TransactionLimitExceeded>
  }
>()("effect-relayer/server/transactions/Exchanges/Sponsoring") {
  static readonly layer = Layer.effect(
    Sponsoring,
    Effect.gen(function* () {
      const senders = yield* makeSenders
      const outboundWork = yield* OutboundWork

      const quote = Effect.fn("Sponsoring.quote")(function* (id: RelayerId, body: ExchangeBody<"quote"> | JsonBody) {
        const { sender, intake, read } = yield* senders.get(id)
        if (intake.quote === undefined) return yield* notHere(sender.relayer.network_type)
        return yield* outboundWork.run(intake.quote.answer(yield* read.quote(body), sender))
      })

      const build = Effect.fn("Sponsoring.build")(function* (id: RelayerId, body: ExchangeBody<"build"> | JsonBody) {
        const { sender, intake, read } = yield* senders.getLimited(id)
        if (intake.build === undefined) return yield* notHere(sender.relayer.network_type)
        if (sender.relayer.paused) return yield* new RelayerPaused({})
        return yield* outboundWork.run(intake.build.answer(yield* read.build(body), sender))
      })

      return Sponsoring.of({ quote, build })
    })
  )
}

// Signs transactions that callers send themselves. Each is stored before the caller gets it, and the same bytes are signed once.

type SigningRefused =
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
    sign(
      id: RelayerId,
      body: ExchangeBody<"signing"> | JsonBody
    ): Effect.Effect<ShownExchange<"signing">, SigningRefused>
  }
>()("effect-relayer/server/transactions/Exchanges/TransactionSigning") {
  static readonly layer = Layer.effect(
    TransactionSigning,
    Effect.gen(function* () {
      const ledger = yield* Ledger
      const senders = yield* makeSenders
      const fees = yield* makeKeyFees
      const signWith = yield* makeSignerUse
      const outboundWork = yield* OutboundWork

      const give = Effect.fnUntraced(function* (sender: Sender, limits: NetworkLimits | undefined, signable: Signable) {
        const { curve, message, seal, ...unsigned } = yield* outboundWork.run(signable.unsigned)
        const { signature } = yield* signWith(sender.relayer, { curve, message })
        const sealed = yield* seal(signature)
        if (sealed === undefined) return yield* wrongKey()
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
