// Quotes and builds transactions whose users pay the fees in a token. Nothing is stored or signed: what a user sends later is
// verified then.
import { Context, Effect, Layer } from "effect"
import { RelayerPaused } from "../../domain/transaction/AcceptanceErrors.ts"
import type { ExchangeBody, ShownExchange } from "../../domain/transaction/Family.ts"
import type { TransactionLimitExceeded } from "../../domain/transaction/TransactionLimits.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadGateway, BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import { OutboundWork } from "../limits/CallerLimits.ts"
import type { JsonBody } from "./Intake.ts"
import * as Senders from "./Senders.ts"

type Failed = RelayerNotFound | NotImplemented | BadRequest | BadGateway | TooManyRequests

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
    quote(id: RelayerId, body: ExchangeBody<"quote"> | JsonBody): Effect.Effect<ShownExchange<"quote">, Failed>
    /** The transaction with a payment to the relayer, for the user to sign. */
    build(
      id: RelayerId,
      body: ExchangeBody<"build"> | JsonBody
    ): Effect.Effect<ShownExchange<"build">, Failed | RelayerPaused | TransactionLimitExceeded>
  }
>()("effect-relayer/server/transactions/Sponsoring") {
  static readonly layer = Layer.effect(
    Sponsoring,
    Effect.gen(function* () {
      const senders = yield* Senders.make
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
