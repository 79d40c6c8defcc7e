// Header fields that an endpoint adds to its answer beside what the contract encodes.
import { Context, Effect } from "effect"

/** Of the request that is being answered: set on the answer when it goes out, if it is a success. */
export const CurrentResponseHeaders = Context.Reference<Map<string, string>>(
  "effect-relayer/server/responses/ResponseHeaders/CurrentResponseHeaders",
  { defaultValue: () => new Map() }
)

export const set = (name: string, value: string) =>
  Effect.map(CurrentResponseHeaders, (headers) => void headers.set(name, value))
