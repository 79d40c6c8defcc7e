// The 32 bytes that are signed for a message (EIP-191) and for typed data (EIP-712), and the form of signatures.
// viem takes 15 MB and is loaded when it is first needed.
import { Effect, Semaphore } from "effect"
import { BadRequest } from "../../../domain/request/Request.ts"
import type { Violation } from "../../../domain/request/Request.ts"
import type {
  EvmSignature,
  SignTypedData,
  SignTypedDataHashes,
  SignTypedDataJson
} from "../../../domain/transaction/evm/Signature.ts"
import { maxWork, workOf } from "../../../domain/transaction/evm/TypedDataWork.ts"

const load = Effect.promise(() => import("viem/utils"))

export const hexOf = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString("hex")}`

const bytesOf = (text: string): Uint8Array => Buffer.from(text.replace(/^0x/i, ""), "hex")

/** Because of the prefix, the signature is not valid for a transaction. */
export const ofMessage = (message: string): Effect.Effect<Uint8Array> =>
  Effect.map(load, ({ hashMessage }) => bytesOf(hashMessage(message)))

/** The same for a message that is no text. */
export const ofBytes = (raw: Uint8Array): Effect.Effect<Uint8Array> =>
  Effect.map(load, ({ hashMessage }) => bytesOf(hashMessage({ raw })))

const ofHashes = ({ domain_separator, hash_struct_message }: SignTypedDataHashes) =>
  Effect.map(load, ({ keccak256 }) =>
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

const ofJson = ({ domain, types, primaryType, message }: SignTypedDataJson) =>
  Effect.flatMap(load, ({ hashStruct, hashTypedData }) => {
    if (workOf({ domain, message, types }) > maxWork) return Effect.fail(tooMuchWork)
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

export const ofTypedData = (request: SignTypedData): Effect.Effect<Uint8Array, BadRequest> =>
  "domain_separator" in request
    ? ofHashes(request)
    : turn.withPermit(
        Effect.andThen(
          Effect.yieldNow,
          Effect.suspend(() => ofJson(request))
        )
      )

/** A signature has 65 bytes: r, s and the recovery bit. */
const partsOf = (signature: Uint8Array) => ({
  r: signature.subarray(0, 32),
  s: signature.subarray(32, 64),
  yParity: signature[64] ?? 0
})

/** The address of the key that signed, in lower case. */
export const signerOf = Effect.fnUntraced(function* (digest: Uint8Array, signature: Uint8Array) {
  const { recoverAddress } = yield* load
  const { r, s, yParity } = partsOf(signature)
  const address = yield* Effect.promise(() =>
    recoverAddress({ hash: hexOf(digest), signature: { r: hexOf(r), s: hexOf(s), yParity } })
  )
  return address.toLowerCase()
})

export const toEvmSignature = (signature: Uint8Array): EvmSignature => {
  const { r, s, yParity } = partsOf(signature)
  const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex")
  const v = 27 + yParity
  return { r: hex(r), s: hex(s), v, sig: `${hex(r)}${hex(s)}${v.toString(16)}` }
}
