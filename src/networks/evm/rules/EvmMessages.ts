// The messages and the typed data that relayers of evm sign, their signatures, and how much work it is to hash typed data.
import { Predicate, Schema } from "effect"
import { Value } from "../../../domain/request/ExactJson.ts"
import { field, shown } from "../../../domain/request/Field.ts"
import * as Shown from "../../../domain/request/Shown.ts"

// Signatures of messages and of typed data, by an evm relayer.

export const exampleR = "1a".repeat(32)
export const exampleS = "2b".repeat(32)

/** Clients of this wire format expect hex digits without `0x`. */
export const EvmSignature = Schema.Struct({
  r: field(Shown.hex(64), "64 hex digits.", exampleR),
  s: field(Shown.hex(64), "64 hex digits.", exampleS),
  v: field(Schema.Natural, "27 or 28; the parity, 0 or 1, for a transaction that is not a legacy one.", 27),
  sig: field(Shown.hex(130), "`r`, `s` and `v` as 130 hex digits.", `${exampleR}${exampleS}1b`),
  warning: shown(
    Shown.Words,
    "Why contracts may refuse the signature of a message: the account delegates to a contract that accepts none of its key. Absent: nothing is known of that.",
    "the account of the relayer delegates to a contract that accepts no signatures of its key"
  )
}).annotate({ identifier: "EvmSignature", description: "An ECDSA signature on secp256k1." })
export type EvmSignature = typeof EvmSignature.Type

/** UTF-16 code units of a message; bytes of one that is given as hex. */
export const maxMessageLength = 65_536

export const SignMessage = Schema.Struct({
  message: field(
    Schema.String.check(Schema.isMaxLength(maxMessageLength)),
    "Text whose UTF-8 bytes are signed with the prefix of EIP-191, so that the signature is never one of a transaction. Hex is not decoded.",
    "Sign in to example.com"
  )
}).annotate({ identifier: "SignMessageRequest", description: "A message to sign (EIP-191)." })
export type SignMessage = typeof SignMessage.Type

const hash32 = Schema.String.check(
  Schema.isPattern(/^(0x)?[0-9a-fA-F]{64}$/u, { expected: "32 bytes: 64 hex digits, with or without 0x" })
)

const SignTypedDataHashes = Schema.Struct({
  domain_separator: field(hash32, "Hash of the domain.", `0x${"5c".repeat(32)}`),
  hash_struct_message: field(hash32, "Hash of the message.", `0x${"6d".repeat(32)}`)
}).annotate({ identifier: "SignTypedDataHashesRequest", description: "The two hashes of typed data." })
export type SignTypedDataHashes = typeof SignTypedDataHashes.Type

/** Characters of an identifier, and of a type with its brackets. Contracts use fewer than 100. */
const maxIdentifierLength = 256

const Identifier = Schema.String.check(
  Schema.isPattern(/^[A-Za-z_$][A-Za-z0-9_$]*$/u, { expected: "an identifier of Solidity" }),
  Schema.isMaxLength(maxIdentifierLength)
)

const isIdentifier = Schema.is(Identifier)

const TypesOf = <Members extends Schema.Constraint>(members: Members) =>
  Schema.Record(Schema.String, members).check(
    Schema.makeFilter((types: object) => Object.keys(types).every(isIdentifier), {
      message: `the name of each type must be an identifier of at most ${maxIdentifierLength} characters`
    })
  )

const MemberType = Schema.String.check(
  Schema.isPattern(/^[A-Za-z_$][A-Za-z0-9_$]*(\[[0-9]*\])*$/u, {
    expected: "an identifier of Solidity, with brackets for a list"
  }),
  Schema.isMaxLength(maxIdentifierLength)
)

const TypedDataMember = Schema.Struct({
  name: field(Identifier, "Name of the member.", "owner"),
  type: field(MemberType, "Solidity type of the member, or the name of another type.", "address")
}).annotate({ identifier: "TypedDataMember", description: "A member of a type." })

const hexDigits = (digits: number, expected: string) =>
  Schema.String.check(Schema.isPattern(new RegExp(`^0x[0-9a-fA-F]{${digits}}$`, "u"), { expected }))

const VerifyingContract = hexDigits(40, "an address: 0x and 40 hex digits")
const Salt = hexDigits(64, "32 bytes: 0x and 64 hex digits")

/** The five fields that EIP-712 defines. */
const TypedDataDomain = Schema.Struct({
  name: Schema.optionalKey(field(Schema.String, "Name of the application.", "Example")),
  version: Schema.optionalKey(field(Schema.String, "Version of the application.", "1")),
  chainId: Schema.optionalKey(field(Schema.Natural, "Chain id (EIP-155).", 1)),
  verifyingContract: Schema.optionalKey(
    field(VerifyingContract, "Contract that checks the signature.", "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
  ),
  salt: Schema.optionalKey(field(Salt, "Distinguishes domains that are otherwise the same.", `0x${"5c".repeat(32)}`))
}).annotate({ identifier: "TypedDataDomain", description: "Domain that typed data belongs to (EIP-712)." })

export const SignTypedDataJson = Schema.Struct({
  domain: field(TypedDataDomain, "Domain that the data belongs to.", {
    name: "Example",
    version: "1",
    chainId: 1,
    verifyingContract: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
  }),
  types: field(TypesOf(Schema.Array(TypedDataMember)), "Members of each type.", {
    Permit: [{ name: "owner", type: "address" }]
  }),
  primaryType: field(Identifier, "Type of the message.", "Permit"),
  message: field(Schema.Record(Schema.String, Value), "The data.", {
    owner: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
  })
}).annotate({ identifier: "SignTypedDataJsonRequest", description: "Typed data as `eth_signTypedData_v4` takes it." })
export type SignTypedDataJson = typeof SignTypedDataJson.Type

export const SignTypedData = Schema.Union([SignTypedDataHashes, SignTypedDataJson]).annotate({
  identifier: "SignTypedDataRequest",
  message: "Expected domain_separator and hash_struct_message, or domain, types, primaryType and message",
  description: "Typed data to sign (EIP-712): its two hashes, or all of it."
})
export type SignTypedData = typeof SignTypedData.Type

// How much work it is to hash typed data. It runs on the main thread in one piece, so it is bounded before it starts.

/**
 * The unit is one character of a type's text that is hashed: about 1/15 µs of a core. The others were measured beside it with
 * the largest bodies that are accepted.
 */
const workUnits = { struct: 500, value: 250, character: 2 }

/** About 40 ms of a core. Large orders and permits take less than a tenth of it. */
export const maxTypedDataWork = 500_000

interface TypedDataSize {
  structs: number
  values: number
  characters: number
}

/** `Value` bounds the depth of the message. */
const measureTypedData = (value: unknown, size: TypedDataSize): void => {
  if (!Predicate.isObjectKeyword(value)) {
    size.values += 1
    if (Predicate.isString(value)) size.characters += value.length
    return
  }
  if (!Array.isArray(value)) size.structs += 1
  for (const child of Object.values(value)) measureTypedData(child, size)
}

/** Each struct of the message hashes the text of its type again, with all types that it uses: at most all of them. */
export const typedDataWorkOf = ({
  domain,
  message,
  types
}: Pick<SignTypedDataJson, "domain" | "message" | "types">): number => {
  const size: TypedDataSize = { structs: 0, values: 0, characters: 0 }
  measureTypedData(message, size)
  measureTypedData(domain, size)
  let text = 0
  for (const [name, members] of Object.entries(types)) {
    text += name.length
    for (const member of members) text += member.name.length + member.type.length
  }
  return (
    size.structs * (text + workUnits.struct) + size.values * workUnits.value + size.characters * workUnits.character
  )
}
