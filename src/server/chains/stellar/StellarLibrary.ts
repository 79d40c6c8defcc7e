// The library of the chain. It is loaded on first use, once per process.
import { Effect } from "effect"
import type * as Base from "@stellar/stellar-sdk/base"

/** What the library exports. Only the loader has its value. */
export type Library = typeof Base

export const library = Effect.promise((): Promise<Library> => import("@stellar/stellar-sdk/base"))
