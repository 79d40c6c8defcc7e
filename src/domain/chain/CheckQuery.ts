// The query of a create that asks the chain first.
import { Schema } from "effect"
import { flag } from "../request/Text.ts"

export const CheckQuery = {
  check: Schema.optionalKey(
    flag(
      "Whether the providers are asked before the create, for at most 2 seconds. What is wrong is in `metadata.logs` and never keeps the create from succeeding."
    )
  )
}
export type CheckQuery = { readonly [K in keyof typeof CheckQuery]?: (typeof CheckQuery)[K]["Type"] }
