// Values of contracts as JSON: arguments of calls, in the form that clients of the wire format send.
import { Schema, SchemaTransformation } from "effect"
import { field } from "../../request/Field.ts"
import { Int64, Uint64 } from "./Int64.ts"
import { AnyAddress } from "./StrKey.ts"

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

const one = <const K extends string, S extends Schema.Top>(key: K, schema: S, description: string) =>
  Schema.Struct({ [key]: field(schema, description) } as { readonly [Key in K]: S["Rebuild"] })

const Void = one("void", Schema.Null, "The value without content.")

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

const recursive = Schema.suspend((): Schema.Codec<ScVal, unknown> => Value)

const Value: Schema.Codec<ScVal, unknown> = Schema.Union([
  one("bool", Schema.Boolean, "A truth value."),
  Void,
  one("u32", int32(0, 2 ** 32 - 1), "An unsigned integer of 32 bits."),
  one("i32", int32(-(2 ** 31), 2 ** 31 - 1), "A signed integer of 32 bits."),
  one("u64", Uint64, "An unsigned integer of 64 bits."),
  one("i64", Int64, "A signed integer of 64 bits."),
  one("timepoint", Uint64, "A moment, in seconds since 1970."),
  one("duration", Uint64, "A duration, in seconds."),
  one("u128", parts128(Uint64), "An unsigned integer of 128 bits."),
  one("i128", parts128(Int64), "A signed integer of 128 bits. Only the highest part has a sign."),
  one("u256", parts256(Uint64), "An unsigned integer of 256 bits."),
  one("i256", parts256(Int64), "A signed integer of 256 bits. Only the highest part has a sign."),
  one("bytes", Hex, "Bytes in hex."),
  one("string", Schema.String, "A text."),
  one("symbol", SymbolText, "A symbol, such as the name of a function."),
  one("address", AnyAddress, "The address of an account or a contract."),
  one("vec", Schema.Array(recursive), "The values of a vector, in their order."),
  one(
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
).pipe(Schema.decodeTo(Value, SchemaTransformation.passthrough<unknown>()))

/** The number that two parts mean. */
export const fromParts = ({ hi, lo }: Parts128): bigint => (hi << 64n) | lo

export const toParts = (value: bigint): Parts128 => ({ hi: value >> 64n, lo: value & 0xffff_ffff_ffff_ffffn })
