// The library of the chain, with the words for what it cannot read. It is loaded on first use, once per process.
import { Effect, Result } from "effect"
import type * as Base from "@stellar/stellar-sdk/base"
import { refusal } from "../../../domain/transaction/stellar/Refusal.ts"
import type { Refusal, RefusalCode } from "../../../domain/transaction/stellar/Refusal.ts"

/** What the library exports. Only the loader has its value. */
export type Library = typeof Base

let loaded: Library | undefined

const load = Effect.map(
  Effect.promise((): Promise<Library> => import("@stellar/stellar-sdk/base")),
  (library) => (loaded = library)
)

/** Each request uses it several times, and a second `import` resolves the name of the package again. */
export const library = Effect.suspend(() => (loaded === undefined ? load : Effect.succeed(loaded)))

/** A value of the library that XDR encodes. */
interface Encodable {
  toXdr(): Uint8Array
}

/** Base64 of a value, by Node: the base64 of the library takes twice as long as the encoding of the value. */
export const textOf = (value: Encodable): string => Buffer.from(value.toXdr()).toString("base64")

/** What the value of a union is called, by the end of its path in the message of the library, with the code of its refusal. */
const kinds: ReadonlyArray<readonly [path: RegExp, kind: string, code: RefusalCode]> = [
  [/^TransactionEnvelope(\.type)?$/, "envelope type", "xdr_kind"],
  [/\.operations\[\d+\]\.body(\.type)?$/, "operation", "operation_not_allowed"],
  [/\bcredentials(\.type)?$/, "credentials type", "auth_kind_unsupported"],
  [/\.cond(\.type)?$/, "precondition type", "preconditions_unsupported"],
  [/(address|sourceAccount|destination)(\.type)?$/i, "address type", "xdr_invalid"]
]

/** `TransactionEnvelope.type: unknown enum value 11`, or the same with `no case for union discriminator`. */
const unknownValue = /^(?<path>\S+): (?:unknown enum value|no case for union discriminator) (?<number>-?\d+)$/

/** Names the number that a newer protocol may have added. Undefined: the text is no XDR at all. */
const unknownIn = (thrown: unknown): Refusal | undefined => {
  const { number, path = "" } = (thrown instanceof Error ? unknownValue.exec(thrown.message) : null)?.groups ?? {}
  if (number === undefined) return undefined
  const [, kind, code] = kinds.find(([end]) => end.test(path)) ?? [undefined, "value", "xdr_invalid" as const]
  return refusal(code, `${kind} ${number} is not known to this version, at ${path}`)
}

/** What `read` makes of XDR. `expected`: what is said of a text that is no XDR of its type. */
export const reading = <A>(read: () => A, expected: string): Result.Result<A, Refusal> =>
  Result.mapError(Result.try(read), (thrown) => unknownIn(thrown) ?? refusal("xdr_invalid", expected))
