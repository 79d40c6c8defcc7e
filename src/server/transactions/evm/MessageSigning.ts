// Signatures of messages and typed data with a relayer's key. Each is recorded in the audit log before it is returned.
import { Context, Effect, Layer, Schema } from "effect"
import type { TooManyRequests } from "../../../domain/access/Caller.ts"
import type { RelayerId, RelayerNotFound } from "../../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { BadGateway } from "../../../domain/request/Request.ts"
import type { EvmSignature, SignMessage, SignTypedData } from "../../../domain/transaction/evm/Signature.ts"
import { Audit } from "../../audit/Audit.ts"
import { RelayerPaused } from "../../../domain/transaction/TransactionLimits.ts"
import type { TransactionLimitExceeded } from "../../../domain/transaction/TransactionLimits.ts"
import { makeSignerUse, wrongKey } from "../Senders.ts"
import * as EvmSenders from "./EvmSenders.ts"
import * as SigningDigests from "./SigningDigests.ts"

type Failed = RelayerNotFound | BadRequest | RelayerPaused | TransactionLimitExceeded | TooManyRequests | BadGateway

/** Free bytes could be a transaction of such a network, so it is a wrong request and no missing part. */
const signsNothing = () =>
  new BadRequest({ error: "message: relayers of this network type sign transactions only; use sign-transaction" })

/** What the audit log keeps: the digest names the message without showing it. */
const SignedDigest = Schema.Struct({
  digest: Schema.String,
  /** The id of the signature at the key service of the signer. */
  key_service_request_id: Schema.optionalKey(Schema.String)
})

export class MessageSigning extends Context.Service<
  MessageSigning,
  {
    sign(id: RelayerId, request: SignMessage): Effect.Effect<EvmSignature, Failed>
    /** The same for a message that is no text. */
    signBytes(id: RelayerId, message: Uint8Array): Effect.Effect<EvmSignature, Failed>
    signTypedData(id: RelayerId, request: SignTypedData): Effect.Effect<EvmSignature, Failed>
  }
>()("effect-relayer/server/transactions/evm/MessageSigning") {
  /** @internal */
  static readonly layer = Layer.effect(
    MessageSigning,
    Effect.gen(function* () {
      const senders = yield* EvmSenders.make
      const signWith = yield* makeSignerUse
      const audit = yield* Audit

      const signDigest = Effect.fnUntraced(function* (
        id: RelayerId,
        digest: Uint8Array,
        action: "relayer.message_signed" | "relayer.typed_data_signed"
      ) {
        const { relayer } = yield* Effect.catchTag(senders.getLimited(id), "NotImplemented", signsNothing)
        if (relayer.paused) return yield* new RelayerPaused({})
        const { signature, requestId } = yield* signWith(relayer, { curve: "secp256k1", message: digest })
        const signer = yield* SigningDigests.signerOf(digest, signature)
        if (signer !== relayer.address.toLowerCase()) return yield* wrongKey()
        const after = {
          digest: SigningDigests.hexOf(digest),
          ...(requestId === undefined ? {} : { key_service_request_id: requestId })
        }
        yield* audit.record({ action, id, schema: SignedDigest, after })
        return SigningDigests.toEvmSignature(signature)
      })

      const sign = Effect.fn("MessageSigning.sign")(function* (id: RelayerId, { message }: SignMessage) {
        return yield* signDigest(id, yield* SigningDigests.ofMessage(message), "relayer.message_signed")
      })

      const signBytes = Effect.fn("MessageSigning.signBytes")(function* (id: RelayerId, message: Uint8Array) {
        return yield* signDigest(id, yield* SigningDigests.ofBytes(message), "relayer.message_signed")
      })

      const signTypedData = Effect.fn("MessageSigning.signTypedData")(function* (
        id: RelayerId,
        request: SignTypedData
      ) {
        return yield* signDigest(id, yield* SigningDigests.ofTypedData(request), "relayer.typed_data_signed")
      })

      return MessageSigning.of({ sign, signBytes, signTypedData })
    })
  )
}
