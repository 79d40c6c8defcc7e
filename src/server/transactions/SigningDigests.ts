// The 32 bytes that are signed for a message (EIP-191) and for typed data (EIP-712), and what a signature looks like.
// viem takes 15 MB and is loaded when it is first needed.
import { Effect } from "effect"
import type { TypedDataDefinition } from "viem"
import { BadRequest } from "../../domain/request/Request.ts"
import type {
  EvmSignature,
  SignTypedData,
  SignTypedDataHashes,
  SignTypedDataJson
} from "../../domain/transaction/Signature.ts"

const load = Effect.promise(() => import("viem/utils"))

export const hexOf = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString("hex")}`

const bytesOf = (text: string): Uint8Array => Buffer.from(text.replace(/^0x/i, ""), "hex")

/** The prefix makes the signature useless as one of a transaction. */
export const ofMessage = (message: string): Effect.Effect<Uint8Array> =>
  Effect.map(load, ({ hashMessage }) => bytesOf(hashMessage(message)))

const ofHashes = ({ domain_separator, hash_struct_message }: SignTypedDataHashes) =>
  Effect.map(load, ({ keccak256 }) =>
    keccak256(Buffer.concat([bytesOf("1901"), bytesOf(domain_separator), bytesOf(hash_struct_message)]), "bytes")
  )

const invalid = BadRequest.of([
  { field: "body", message: "is not valid typed data (EIP-712): domain, types and message do not fit each other" }
])

const ofJson = ({ domain, types, primaryType, message }: SignTypedDataJson) =>
  Effect.flatMap(load, ({ hashTypedData, validateTypedData }) =>
    Effect.try({
      try: () => {
        const definition = { domain, types, primaryType, message } as unknown as TypedDataDefinition
        validateTypedData(definition)
        return bytesOf(hashTypedData(definition))
      },
      catch: () => invalid
    })
  )

export const ofTypedData = (request: SignTypedData): Effect.Effect<Uint8Array, BadRequest> =>
  "domain_separator" in request ? ofHashes(request) : ofJson(request)

/** r, s and the recovery bit, 65 bytes. */
const partsOf = (signature: Uint8Array) => ({
  r: signature.subarray(0, 32),
  s: signature.subarray(32, 64),
  yParity: signature[64] ?? 0
})

/** The address, in lower case, whose key has signed. */
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
