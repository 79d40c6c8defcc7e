// Signatures of messages and typed data with a relayer's key, for the API and as nodes give them.
// Each is recorded in the audit log before it is returned.
import { Effect, Predicate, Schema, Semaphore } from "effect"
import { CheckedEvmAddress } from "../../../domain/chain/Amount.ts"
import * as ExactJson from "../../../domain/request/ExactJson.ts"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import { Audit } from "../../../server/audit/Audit.ts"
import { MessageSigning } from "../../../server/transactions/Exchanges.ts"
import type { MessageNetwork } from "../../../server/transactions/Exchanges.ts"
import { makeSignerUse, wrongKey } from "../../../server/transactions/Intake.ts"
import type { Sender } from "../../../server/transactions/Intake.ts"
import { present } from "../../core/Presentation.ts"
import { invalidParams, limitExceeded, notExecuted, toRpcError } from "../../core/NodeCall.ts"
import type { RpcError } from "../../core/NodeCall.ts"
import { RelayerPaused } from "../../core/TransactionLimits.ts"
import { library } from "../chain/EvmBytes.ts"
import { delegatedIn } from "../rules/Delegation.ts"
import { evmRules } from "../rules/EvmRules.ts"
import { maxMessageLength, maxTypedDataWork, SignTypedDataJson, typedDataWorkOf } from "../rules/EvmMessages.ts"
import type { EvmSignature, SignTypedData, SignTypedDataHashes } from "../rules/EvmMessages.ts"
import { makeRecords } from "./EvmRecords.ts"
import type { EvmSender } from "./EvmSenders.ts"

// The 32 bytes that are signed for a message (EIP-191) and for typed data (EIP-712), and the form of signatures.
// viem takes 15 MB and is loaded when it is first needed.

const digestHex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString("hex")}`

const bytesOf = (text: string): Uint8Array => Buffer.from(text.replace(/^0x/i, ""), "hex")

/** Because of the prefix, the signature is not valid for a transaction. */
export const messageDigest = (message: string): Effect.Effect<Uint8Array> =>
  Effect.map(library, ({ hashMessage }) => bytesOf(hashMessage(message)))

/** The same for a message that is no text. */
const bytesDigest = (raw: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.map(library, ({ hashMessage }) => bytesOf(hashMessage({ raw })))

const hashesDigest = ({ domain_separator, hash_struct_message }: SignTypedDataHashes) =>
  Effect.map(library, ({ keccak256 }) =>
    keccak256(Buffer.concat([bytesOf("1901"), bytesOf(domain_separator), bytesOf(hash_struct_message)]), "bytes")
  )

/** Violations by the names of viem's errors. All other errors are about the message. */
const misfits: Readonly<Record<string, Violation>> = {
  InvalidStructTypeError: { field: "types", message: "must not have a type with the name of a Solidity type" },
  InvalidTypedDataTypeError: { field: "types", message: "must say the size of int and uint, such as uint256" }
}

const misfit: Violation = { field: "message", message: "does not fit types (EIP-712)" }

const violationOf = (error: unknown): Violation => (error instanceof Error ? misfits[error.name] : undefined) ?? misfit

const tryOrRefuse = <A>(evaluate: () => A, violation: (error: unknown) => Violation) =>
  Effect.try({ try: evaluate, catch: (error) => BadRequest.of([violation(error)]) })

/** The schema has checked that the text starts with `0x`. */
const asHex = (text: string): `0x${string}` => `0x${text.slice(2)}`

/** The domain as viem types it. */
const domainOf = ({ salt, verifyingContract, ...domain }: SignTypedDataJson["domain"]) => ({
  ...domain,
  ...(salt === undefined ? {} : { salt: asHex(salt) }),
  ...(verifyingContract === undefined ? {} : { verifyingContract: asHex(verifyingContract) })
})

const tooMuchWork = BadRequest.of([
  {
    field: "message",
    message: "takes too long to hash: send fewer structs, shorter types, or domain_separator and hash_struct_message"
  }
])

const jsonDigest = ({ domain, types, primaryType, message }: SignTypedDataJson) =>
  Effect.flatMap(library, ({ hashStruct, hashTypedData }) => {
    if (typedDataWorkOf({ domain, message, types }) > maxTypedDataWork) return Effect.fail(tooMuchWork)
    if (!Object.hasOwn(types, primaryType)) {
      return Effect.fail(BadRequest.of([{ field: "primaryType", message: "is not in types" }]))
    }
    const hashDomain = () =>
      types.EIP712Domain === undefined ? undefined : hashStruct({ data: domain, primaryType: "EIP712Domain", types })
    return Effect.andThen(
      tryOrRefuse(hashDomain, () => ({ field: "domain", message: "does not fit types.EIP712Domain" })),
      tryOrRefuse(() => bytesOf(hashTypedData({ domain: domainOf(domain), types, primaryType, message })), violationOf)
    )
  })

/** Typed data of concurrent requests is hashed one after the other. Between them, the requests of others go on. */
const turn = Semaphore.makeUnsafe(1)

const typedDataDigest = (request: SignTypedData): Effect.Effect<Uint8Array, BadRequest> =>
  "domain_separator" in request
    ? hashesDigest(request)
    : turn.withPermit(
        Effect.andThen(
          Effect.yieldNow,
          Effect.suspend(() => jsonDigest(request))
        )
      )

/** A signature has 65 bytes: r, s and the recovery bit. */
const partsOf = (signature: Uint8Array) => ({
  r: signature.subarray(0, 32),
  s: signature.subarray(32, 64),
  yParity: signature[64] ?? 0
})

/** The address of the key that signed, in lower case. */
const digestSigner = Effect.fnUntraced(function* (digest: Uint8Array, signature: Uint8Array) {
  const { recoverAddress } = yield* library
  const { r, s, yParity } = partsOf(signature)
  const address = yield* Effect.promise(() =>
    recoverAddress({ hash: digestHex(digest), signature: { r: digestHex(r), s: digestHex(s), yParity } })
  )
  return address.toLowerCase()
})

const toEvmSignature = (signature: Uint8Array): EvmSignature => {
  const { r, s, yParity } = partsOf(signature)
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
  const v = 27 + yParity
  return { r: hex(r), s: hex(s), v, sig: `${hex(r)}${hex(s)}${v.toString(16)}` }
}

/** What the audit log keeps: the digest names the message without showing it. */
const SignedDigest = Schema.Struct({
  digest: Schema.String,
  /** The id of the signature at the key service of the signer. */
  key_service_request_id: Schema.optionalKey(Schema.String)
})

/** Libraries verify such a signature by the key, and contracts by the code of the account. */
const notAccepted =
  "the account of the relayer delegates to a contract that accepts no signatures of its key: contracts that check signatures by ERC-1271 refuse this one"

export const makeMessages = Effect.gen(function* () {
  const signWith = yield* makeSignerUse
  const audit = yield* Audit
  const { laneOf } = yield* makeRecords

  const warningOf = (account: Sender["account"]) =>
    Effect.map(laneOf(account), (lane) =>
      lane !== undefined && delegatedIn(lane)?.takesSignatures === false ? notAccepted : undefined
    )

  const signDigest = Effect.fnUntraced(function* (
    { account, relayer }: Sender,
    digest: Uint8Array,
    action: "relayer.message_signed" | "relayer.typed_data_signed"
  ) {
    if (relayer.paused) return yield* new RelayerPaused({})
    const { signature, requestId } = yield* signWith(relayer, { curve: "secp256k1", message: digest })
    const signer = yield* digestSigner(digest, signature)
    if (signer !== relayer.address.toLowerCase()) return yield* wrongKey()
    const after = {
      digest: digestHex(digest),
      ...(requestId === undefined ? {} : { key_service_request_id: requestId })
    }
    yield* audit.record({ action, id: relayer.id, schema: SignedDigest, after })
    return { ...toEvmSignature(signature), ...present("warning", yield* warningOf(account)) }
  })

  const messages: MessageNetwork = {
    type: evmRules.type,
    sign: (sender, { message }) =>
      Effect.flatMap(messageDigest(message), (digest) => signDigest(sender, digest, "relayer.message_signed")),
    signBytes: (sender, message) =>
      Effect.flatMap(bytesDigest(message), (digest) => signDigest(sender, digest, "relayer.message_signed")),
    signTypedData: (sender, request) =>
      Effect.flatMap(typedDataDigest(request), (digest) => signDigest(sender, digest, "relayer.typed_data_signed"))
  }
  return messages
})

// Positional parameters of JSON-RPC calls.

export type Params = ReadonlyArray<unknown>

/** `schema` has the parameters as its field `params`, so that errors name one by its index, such as `params.0`. */
const paramsReader = <A>(schema: Schema.ConstraintDecoder<{ readonly params: A }>) => {
  const decode = Schema.decodeUnknownEffect(schema, { errors: "all" })
  return (params: Params) =>
    Effect.mapBoth(decode({ params }), {
      onSuccess: (read) => read.params,
      onFailure: ({ issue }) => invalidParams(BadRequest.fromIssue(issue, "params").error ?? "params are not valid")
    })
}

// `personal_sign`, `eth_sign` and `eth_signTypedData`: signatures as nodes give them, audited as those of `sign`.

/** Clients send messages as bytes: each has two hex digits. */
const Message = Schema.String.check(
  Schema.isPattern(/^0x([0-9a-f]{2})*$/iu, { expected: "0x and two hex digits per byte" }),
  Schema.isMaxLength(2 + 2 * maxMessageLength, { expected: `at most ${maxMessageLength} bytes` })
)

const readPersonal = paramsReader(Schema.Struct({ params: Schema.Tuple([Message, CheckedEvmAddress]) }))
const readSign = paramsReader(Schema.Struct({ params: Schema.Tuple([CheckedEvmAddress, Message]) }))
const readTyped = paramsReader(Schema.Struct({ params: Schema.Tuple([CheckedEvmAddress, Schema.Unknown]) }))

const decodeTyped = Schema.decodeUnknownEffect(SignTypedDataJson, { errors: "all" })

const messageBytes = (message: string): Uint8Array => Buffer.from(message.slice(2), "hex")

/** viem writes the chain id as a text of digits. */
const withNumericChain = (data: unknown): unknown => {
  if (!Predicate.hasProperty(data, "domain") || !Predicate.hasProperty(data.domain, "chainId")) return data
  const { chainId } = data.domain
  const isInteger = Predicate.isString(chainId) && /^(0x[0-9a-f]+|[0-9]+)$/i.test(chainId)
  return isInteger ? { ...data, domain: { ...data.domain, chainId: Number(chainId) } } : data
}

/** Clients send typed data as JSON text; some send it as an object. */
const parseTypedData = (value: unknown) =>
  Predicate.isString(value)
    ? Effect.try({ try: () => ExactJson.parse(value), catch: () => invalidParams("params.1: Expected valid JSON") })
    : Effect.succeed(value)

const typedDataIn = Effect.fnUntraced(function* (value: unknown) {
  return yield* Effect.mapError(decodeTyped(withNumericChain(yield* parseTypedData(value))), ({ issue }) =>
    invalidParams(BadRequest.fromIssue(issue, "params.1").error ?? "params.1: is not typed data")
  )
})

const checkAddress = ({ relayer: { address } }: EvmSender, given: string) =>
  given.toLowerCase() === address.toLowerCase()
    ? Effect.void
    : Effect.fail(invalidParams(`params: the address must be ${address}, the account of the relayer`))

type SigningFailure = Effect.Error<ReturnType<MessageSigning["Service"]["signTypedData" | "signBytes"]>>

/** Any of them means that no signature left the service. */
const refusalOf = (failed: SigningFailure): RpcError => {
  switch (failed._tag) {
    case "BadGateway":
      return notExecuted(failed.error)
    case "TooManyRequests":
      return limitExceeded(`too many signatures at the same time; try again in ${failed.retryAfter} s`)
    default:
      return toRpcError(failed)
  }
}

const answered = <R>(self: Effect.Effect<EvmSignature, SigningFailure, R>) =>
  Effect.mapBoth(self, { onSuccess: ({ sig }) => `0x${sig}`, onFailure: refusalOf })

export const makeWalletSigning = Effect.gen(function* () {
  const signing = yield* MessageSigning

  const message = Effect.fnUntraced(function* (sender: EvmSender, address: string, text: string) {
    yield* checkAddress(sender, address)
    return yield* answered(signing.signBytes(sender.relayer.id, messageBytes(text)))
  })

  const personal = Effect.fnUntraced(function* (sender: EvmSender, params: Params) {
    const [text, address] = yield* readPersonal(params)
    return yield* message(sender, address, text)
  })

  const sign = Effect.fnUntraced(function* (sender: EvmSender, params: Params) {
    const [address, text] = yield* readSign(params)
    return yield* message(sender, address, text)
  })

  const typedData = Effect.fnUntraced(function* (sender: EvmSender, params: Params) {
    const [address, data] = yield* readTyped(params)
    yield* checkAddress(sender, address)
    return yield* answered(signing.signTypedData(sender.relayer.id, yield* typedDataIn(data)))
  })

  return { personal, sign, typedData }
})
