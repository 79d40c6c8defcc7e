// `personal_sign`, `eth_sign` and `eth_signTypedData`: signatures as nodes give them, audited as those of `sign`.
import { Effect, Predicate, Schema } from "effect"
import { invalidParams, notExecuted, refused, rpcCodes, RpcError } from "../../../../domain/transaction/NodeCall.ts"
import { CheckedEvmAddress } from "../../../../domain/chain/Address.ts"
import * as ExactJson from "../../../../domain/request/ExactJson.ts"
import { BadRequest } from "../../../../domain/request/Request.ts"
import { maxMessageLength, SignTypedDataJson } from "../../../../domain/transaction/evm/Signature.ts"
import type { EvmSignature } from "../../../../domain/transaction/evm/Signature.ts"
import { MessageSigning } from "../MessageSigning.ts"
import type { EvmSender } from "../EvmSenders.ts"
import * as Params from "./Params.ts"

/** Clients send messages as bytes: each has two hex digits. */
const Message = Schema.String.check(
  Schema.isPattern(/^0x([0-9a-f]{2})*$/iu, { expected: "0x and two hex digits per byte" }),
  Schema.isMaxLength(2 + 2 * maxMessageLength, { expected: `at most ${maxMessageLength} bytes` })
)

const readPersonal = Params.reader(Schema.Struct({ params: Schema.Tuple([Message, CheckedEvmAddress]) }))
const readSign = Params.reader(Schema.Struct({ params: Schema.Tuple([CheckedEvmAddress, Message]) }))
const readTyped = Params.reader(Schema.Struct({ params: Schema.Tuple([CheckedEvmAddress, Schema.Unknown]) }))

const decodeTyped = Schema.decodeUnknownEffect(SignTypedDataJson, { errors: "all" })

const bytesOf = (message: string): Uint8Array => Buffer.from(message.slice(2), "hex")

/** viem writes the chain id as a text of digits. */
const withNumericChain = (data: unknown): unknown => {
  if (!Predicate.hasProperty(data, "domain") || !Predicate.hasProperty(data.domain, "chainId")) return data
  const { chainId } = data.domain
  const isInteger = Predicate.isString(chainId) && /^(0x[0-9a-f]+|[0-9]+)$/i.test(chainId)
  return isInteger ? { ...data, domain: { ...data.domain, chainId: Number(chainId) } } : data
}

/** Clients send typed data as JSON text; some send it as an object. */
const parse = (value: unknown) =>
  Predicate.isString(value)
    ? Effect.try({ try: () => ExactJson.parse(value), catch: () => invalidParams("params.1: Expected valid JSON") })
    : Effect.succeed(value)

const typedDataIn = Effect.fnUntraced(function* (value: unknown) {
  return yield* Effect.mapError(decodeTyped(withNumericChain(yield* parse(value))), ({ issue }) =>
    invalidParams(BadRequest.fromIssue(issue, "params.1").error ?? "params.1: is not typed data")
  )
})

const checkAddress = ({ relayer: { address } }: EvmSender, given: string) =>
  given.toLowerCase() === address.toLowerCase()
    ? Effect.void
    : Effect.fail(invalidParams(`params: the address must be ${address}, the account of the relayer`))

type Failed = Effect.Error<ReturnType<MessageSigning["Service"]["signTypedData" | "signBytes"]>>

/** An error means that no signature left the service. */
const answered = <R>(self: Effect.Effect<EvmSignature, Failed, R>) =>
  self.pipe(
    Effect.map(({ sig }) => `0x${sig}`),
    Effect.catchTags({
      BadRequest: ({ error = "is not valid" }) => Effect.fail(invalidParams(error)),
      BadGateway: ({ error }) => Effect.fail(notExecuted(error)),
      TransactionLimitExceeded: ({ error }) => Effect.fail(refused(error)),
      RelayerPaused: () => Effect.fail(refused("Relayer paused")),
      TooManyRequests: ({ retryAfter }) =>
        Effect.fail(
          new RpcError({
            code: rpcCodes.limitExceeded,
            message: `too many signatures at the same time; try again in ${retryAfter} s`
          })
        ),
      RelayerNotFound: () => Effect.fail(notExecuted("Relayer not found"))
    })
  )

export const make = Effect.gen(function* () {
  const signing = yield* MessageSigning

  const message = Effect.fnUntraced(function* (sender: EvmSender, address: string, text: string) {
    yield* checkAddress(sender, address)
    return yield* answered(signing.signBytes(sender.relayer.id, bytesOf(text)))
  })

  const personal = Effect.fnUntraced(function* (sender: EvmSender, params: Params.Params) {
    const [text, address] = yield* readPersonal(params)
    return yield* message(sender, address, text)
  })

  const sign = Effect.fnUntraced(function* (sender: EvmSender, params: Params.Params) {
    const [address, text] = yield* readSign(params)
    return yield* message(sender, address, text)
  })

  const typedData = Effect.fnUntraced(function* (sender: EvmSender, params: Params.Params) {
    const [address, data] = yield* readTyped(params)
    yield* checkAddress(sender, address)
    return yield* answered(signing.signTypedData(sender.relayer.id, yield* typedDataIn(data)))
  })

  return { personal, sign, typedData }
})
