// Integers, addresses and values of contracts, as requests of stellar write them.
import { Schema, SchemaTransformation } from "effect"
import { parseAddress } from "../../../domain/chain/StrKey.ts"
import type { AddressKind } from "../../../domain/chain/StrKey.ts"
import { integerIn } from "../../../domain/request/ExactJson.ts"
import { field } from "../../../domain/request/Field.ts"

/** Valid addresses of made-up keys (32 bytes of 7 or of 8; the muxed one has the id of 8 bytes of 7). Only tests generate them. */
const addressSamples: Readonly<Record<AddressKind, ReadonlyArray<string>>> = {
  account: [
    "GADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOZPI",
    "GAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEARIHQ"
  ],
  muxed: ["MADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA6OSU"],
  contract: [
    "CADQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQOBYHA4DQP5KR",
    "CAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQCAIBAEAQMCJ"
  ],
  seed: []
}

const addressOfKinds = (kinds: ReadonlyArray<AddressKind>, expected: string) =>
  Schema.String.check(
    Schema.makeFilter(
      (text: string) => {
        const kind = parseAddress(text)?.kind
        return kind !== undefined && kinds.includes(kind)
      },
      // The message never contains the text: it can be a seed.
      {
        expected: `${expected} with a valid checksum`,
        toJsonSchema: () => [{}, true],
        arbitraryConstraint: {
          patterns: [{ source: `^(${kinds.flatMap((kind) => addressSamples[kind]).join("|")})$`, flags: "" }]
        }
      }
    )
  )

export const AccountAddress = addressOfKinds(["account"], "an account address: G and 55 letters and digits")

/** Where a payment can go. */
export const DestinationAddress = addressOfKinds(["account", "muxed"], "an account address, G… or M…,")

export const ContractAddress = addressOfKinds(["contract"], "a contract address: C and 55 letters and digits")

/** What a contract calls an address. */
export const AnyAddress = addressOfKinds(["account", "contract"], "an address of an account or a contract, G… or C…,")

// Integers of stellar, without loss: a JSON number or a decimal string. Sequences and amounts exceed 2^53.

export const integerFrom = (minimum: bigint, maximum: bigint) =>
  integerIn({ minimum, maximum, text: /^(0|-?[1-9]\d{0,38})$/ })

export const maxInt64 = 2n ** 63n - 1n

/** The service uses no higher sequence: a lane stores the sequence after one that is in use, which has to be an int64, too. */
export const lastSequence = maxInt64 - 1n

export const maxUint64 = 2n ** 64n - 1n

const Int64 = integerFrom(-maxInt64 - 1n, maxInt64)
const Uint64 = integerFrom(0n, maxUint64)

/** Stroops of an amount or a fee. One XLM has 10,000,000. */
export const Stroops = integerFrom(1n, maxInt64)

/** The number of an account's transaction. It starts at the number of a ledger × 2^32, which is above 2^53. */
export const Sequence = Schema.String.check(
  Schema.isPattern(/^(0|[1-9]\d{0,18})$/u, { expected: "a decimal string" })
).pipe(
  Schema.decodeTo(
    Schema.BigInt.check(
      Schema.isBetweenBigInt({ minimum: 0n, maximum: maxInt64 }, { expected: `a decimal string up to ${maxInt64}` })
    ),
    SchemaTransformation.transform<bigint, string>({ decode: BigInt, encode: String })
  )
)

// Values of contracts as JSON: arguments of calls, in the form that clients of the wire format send.

/** Levels of vectors and maps. */
const maxDepth = 32

/** Parts of 64 bits, the highest first. Only the highest part of a signed number is signed. */
interface Parts128 {
  readonly hi: bigint
  readonly lo: bigint
}

interface Parts256 {
  readonly hi_hi: bigint
  readonly hi_lo: bigint
  readonly lo_hi: bigint
  readonly lo_lo: bigint
}

interface MapEntry {
  readonly key: ScVal
  readonly val: ScVal
}

export type ScVal =
  | { readonly bool: boolean }
  | { readonly void: null }
  | { readonly u32: number }
  | { readonly i32: number }
  | { readonly u64: bigint }
  | { readonly i64: bigint }
  | { readonly timepoint: bigint }
  | { readonly duration: bigint }
  | { readonly u128: Parts128 }
  | { readonly i128: Parts128 }
  | { readonly u256: Parts256 }
  | { readonly i256: Parts256 }
  /** Hex. */
  | { readonly bytes: string }
  | { readonly string: string }
  | { readonly symbol: string }
  | { readonly address: string }
  | { readonly vec: ReadonlyArray<ScVal> }
  | { readonly map: ReadonlyArray<MapEntry> }

const parts128 = <S extends typeof Int64>(hi: S) =>
  Schema.Struct({
    hi: field(hi, "The highest 64 bits."),
    lo: field(Uint64, "The lowest 64 bits.")
  })

const parts256 = <S extends typeof Int64>(hi_hi: S) =>
  Schema.Struct({
    hi_hi: field(hi_hi, "The highest 64 bits."),
    hi_lo: field(Uint64, "The second highest 64 bits."),
    lo_hi: field(Uint64, "The second lowest 64 bits."),
    lo_lo: field(Uint64, "The lowest 64 bits.")
  })

const int32 = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const Hex = Schema.String.check(Schema.isPattern(/^([0-9a-fA-F]{2})*$/u, { expected: "two hex digits per byte" }))

/** `SCSymbol` of stellar-xdr. */
const SymbolText = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z0-9_]{0,32}$/u, { expected: "at most 32 letters, digits and underscores" })
)

const oneKey = <const K extends string, S extends Schema.Top>(key: K, schema: S, description: string) =>
  Schema.Struct({ [key]: field(schema, description) } as { readonly [Key in K]: S["Rebuild"] })

const Void = oneKey("void", Schema.Null, "The value without content.")

/** The form in which the XDR library of other programs writes the value without content. */
const VoidText = Schema.Literal("void").pipe(
  Schema.decodeTo(
    Void,
    SchemaTransformation.transform<{ readonly void: null }, "void">({
      decode: () => ({ void: null }),
      encode: () => "void"
    })
  )
)

const recursive = Schema.suspend((): Schema.Codec<ScVal, unknown> => AnyScVal)

const AnyScVal: Schema.Codec<ScVal, unknown> = Schema.Union([
  oneKey("bool", Schema.Boolean, "A truth value."),
  Void,
  oneKey("u32", int32(0, 2 ** 32 - 1), "An unsigned integer of 32 bits."),
  oneKey("i32", int32(-(2 ** 31), 2 ** 31 - 1), "A signed integer of 32 bits."),
  oneKey("u64", Uint64, "An unsigned integer of 64 bits."),
  oneKey("i64", Int64, "A signed integer of 64 bits."),
  oneKey("timepoint", Uint64, "A moment, in seconds since 1970."),
  oneKey("duration", Uint64, "A duration, in seconds."),
  oneKey("u128", parts128(Uint64), "An unsigned integer of 128 bits."),
  oneKey("i128", parts128(Int64), "A signed integer of 128 bits. Only the highest part has a sign."),
  oneKey("u256", parts256(Uint64), "An unsigned integer of 256 bits."),
  oneKey("i256", parts256(Int64), "A signed integer of 256 bits. Only the highest part has a sign."),
  oneKey("bytes", Hex, "Bytes in hex."),
  oneKey("string", Schema.String, "A text."),
  oneKey("symbol", SymbolText, "A symbol, such as the name of a function."),
  oneKey("address", AnyAddress, "The address of an account or a contract."),
  oneKey("vec", Schema.Array(recursive), "The values of a vector, in their order."),
  oneKey(
    "map",
    Schema.Array(
      Schema.Struct({ key: field(recursive, "The key of the entry."), val: field(recursive, "Its value.") })
    ),
    "The entries of a map, sorted by their keys."
  ),
  VoidText
]).annotate({ identifier: "StellarValue", description: "A value of a contract." })

/** Levels of vectors and maps in JSON: each takes two levels of it, and an entry of a map a third one. */
const isShallow = (input: unknown, depth = 0): boolean => {
  if (typeof input !== "object" || input === null) return true
  if (depth > maxDepth) return false
  const { vec, map } = input as { readonly vec?: unknown; readonly map?: unknown }
  const below = Array.isArray(vec)
    ? vec
    : Array.isArray(map)
      ? map.flatMap((entry) => Object.values(Object(entry)))
      : []
  return below.every((child) => isShallow(child, depth + 1))
}

/** Numbers of 64 bits come in as strings or numbers, and go out as strings. */
export const ScVal: Schema.Codec<ScVal, unknown> = Schema.Unknown.check(
  Schema.makeFilter((input: unknown) => isShallow(input), {
    expected: `at most ${maxDepth} levels of vectors and maps`
  })
).pipe(Schema.decodeTo(AnyScVal, SchemaTransformation.passthrough<unknown>()))

/** The number that two parts mean. */
export const fromParts = ({ hi, lo }: Parts128): bigint => (hi << 64n) | lo

export const toParts = (value: bigint): Parts128 => ({ hi: value >> 64n, lo: value & 0xffff_ffff_ffff_ffffn })
