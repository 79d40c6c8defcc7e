// What only some networks do for a caller: they sign transactions that it sends itself, and messages; they quote and build transactions
// whose users pay the fees in a token; and they say what a policy or a fee would have done to transactions that are there.
// Nothing is stored of a quote or a build: what a user sends later is verified then.
import { Context, DateTime, Effect, Layer } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { TooManyRequests } from "../../domain/access/Caller.ts"
import type {
  EvmSignature,
  Rehearsal,
  RehearsePolicy,
  SignMessage,
  SignTypedData,
  TransactionFees
} from "../../domain/index.ts"
import type { RehearsalTooLarge, RelayerId, RelayerNotFound } from "../../domain/relayer/Relayer.ts"
import { BadGateway, BadRequest, NotImplemented } from "../../domain/request/Request.ts"
import type { ExchangeBody, ShownExchange } from "../../networks/core/Family.ts"
import type { TransactionConflict } from "../../networks/core/Rules.ts"
import { RelayerPaused } from "../../networks/core/TransactionLimits.ts"
import type { NetworkLimits, TransactionLimitExceeded } from "../../networks/core/TransactionLimits.ts"
import type { TransactionId, TransactionNotFound } from "../../networks/core/TransactionValues.ts"
import { Ledger } from "../ledger/Ledger.ts"
import { OutboundWork } from "../limits/RateLimits.ts"
import { Relayers } from "../relayers/Relayers.ts"
import type { StoredRelayer } from "../relayers/StoredRelayer.ts"
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
  /** @internal */
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
  /** @internal */
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

// Signs messages, which no network executes. A network type whose transactions could be such a message signs none.

type MessageFailed =
  | RelayerNotFound
  | NotImplemented
  | BadRequest
  | RelayerPaused
  | TransactionLimitExceeded
  | TooManyRequests
  | BadGateway

/** How a network type signs messages. `sender`: its policy and the limits of the caller allow signatures. */
export interface MessageNetwork {
  readonly type: string
  sign(sender: Sender, request: SignMessage): Effect.Effect<EvmSignature, MessageFailed>
  /** The same for a message that is no text. */
  signBytes(sender: Sender, message: Uint8Array): Effect.Effect<EvmSignature, MessageFailed>
  signTypedData(sender: Sender, request: SignTypedData): Effect.Effect<EvmSignature, MessageFailed>
}

/** Free bytes could be a transaction of such a network, so it is a wrong request and no missing part. */
const signsNothing = new BadRequest({
  error: "message: relayers of this network type sign transactions only; use sign-transaction"
})

export class MessageSigning extends Context.Service<
  MessageSigning,
  {
    sign(id: RelayerId, request: SignMessage): Effect.Effect<EvmSignature, MessageFailed>
    /** The same for a message that is no text. */
    signBytes(id: RelayerId, message: Uint8Array): Effect.Effect<EvmSignature, MessageFailed>
    signTypedData(id: RelayerId, request: SignTypedData): Effect.Effect<EvmSignature, MessageFailed>
  }
>()("effect-relayer/server/transactions/Exchanges/MessageSigning") {
  /** @internal */
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<MessageNetwork>, E, R>) =>
    Layer.effect(
      MessageSigning,
      Effect.gen(function* () {
        const senders = yield* makeSenders
        const byType = new Map((yield* networks).map((network) => [network.type, network]))

        const withSender = Effect.fnUntraced(function* (
          id: RelayerId,
          use: (network: MessageNetwork, sender: Sender) => Effect.Effect<EvmSignature, MessageFailed>
        ) {
          const { sender } = yield* senders.getLimited(id)
          const network = byType.get(sender.relayer.network_type)
          if (network === undefined) return yield* signsNothing
          return yield* use(network, sender)
        })

        const sign = Effect.fn("MessageSigning.sign")((id: RelayerId, request: SignMessage) =>
          withSender(id, (network, sender) => network.sign(sender, request))
        )

        const signBytes = Effect.fn("MessageSigning.signBytes")((id: RelayerId, message: Uint8Array) =>
          withSender(id, (network, sender) => network.signBytes(sender, message))
        )

        const signTypedData = Effect.fn("MessageSigning.signTypedData")((id: RelayerId, request: SignTypedData) =>
          withSender(id, (network, sender) => network.signTypedData(sender, request))
        )

        return MessageSigning.of({ sign, signBytes, signTypedData })
      })
    )
}

// What a policy would have done to the final transactions of a relayer, and what blocks asked for while a transaction waited.

type RehearsalFailed = RelayerNotFound | BadRequest | RehearsalTooLarge | TooManyRequests

export interface HindsightNetwork {
  readonly type: string
  /** Tries a policy on the final transactions of the relayer. */
  rehearse(stored: StoredRelayer, request: RehearsePolicy): Effect.Effect<Rehearsal, RehearsalFailed>
  /** The base fees of the blocks that could have contained the transaction. */
  feesOf(
    stored: StoredRelayer,
    id: TransactionId
  ): Effect.Effect<TransactionFees, RelayerNotFound | TransactionNotFound | BadGateway | TooManyRequests>
}

export class Hindsight extends Context.Service<
  Hindsight,
  {
    /** Fails with `NotImplemented` if the network type tries no policies, and with `Forbidden` without `transactions:read`. */
    rehearse(
      id: RelayerId,
      request: RehearsePolicy
    ): Effect.Effect<Rehearsal, RehearsalFailed | NotImplemented | Caller.Forbidden>
    /** Fails with `NotImplemented` if the network type has no base fees. */
    feesOf(
      id: RelayerId,
      transactionId: TransactionId
    ): Effect.Effect<
      TransactionFees,
      RelayerNotFound | NotImplemented | TransactionNotFound | BadGateway | TooManyRequests
    >
  }
>()("effect-relayer/server/transactions/Exchanges/Hindsight") {
  static readonly layer = <E, R>(networks: Effect.Effect<ReadonlyArray<HindsightNetwork>, E, R>) =>
    Layer.effect(
      Hindsight,
      Effect.gen(function* () {
        const relayers = yield* Relayers
        const byType = new Map((yield* networks).map((network) => [network.type, network]))

        const find = Effect.fnUntraced(function* (id: RelayerId, refusal: (networkType: string) => string) {
          const stored = yield* relayers.get(id)
          const network = byType.get(stored.value.network_type)
          if (network === undefined) return yield* new NotImplemented({ error: refusal(stored.value.network_type) })
          return { stored, network }
        })

        const rehearse = Effect.fn("Hindsight.rehearse")(function* (id: RelayerId, request: RehearsePolicy) {
          const caller = yield* Caller.current
          if (!Caller.hasScope(caller, "transactions:read")) return yield* Caller.Forbidden.of(caller.id)
          const { network, stored } = yield* find(
            id,
            (type) => `policies of ${type} relayers cannot be tried on the past`
          )
          return yield* network.rehearse(stored, request)
        })

        const feesOf = Effect.fn("Hindsight.feesOf")(function* (id: RelayerId, transactionId: TransactionId) {
          const { network, stored } = yield* find(id, (type) => `transactions of ${type} have no base fees`)
          return yield* network.feesOf(stored, transactionId)
        })

        return Hindsight.of({ rehearse, feesOf })
      })
    )
}
