// The library of the chain. It is loaded on first use, once per process.
import { Effect } from "effect"
import type * as Base from "@stellar/stellar-sdk/base"

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
