// Master keys as settings: 32 bytes as base64.
import { Schema } from "effect"

export const isKey = (text: string): boolean =>
  /^[A-Za-z0-9+/]{43}=$/.test(text) && Buffer.from(text, "base64").length === 32

export const key = Schema.String.check(Schema.makeFilter(isKey, { expected: "32 bytes as base64" }))

/** The keys of a list that separates them by commas. */
export const split = (text: string): ReadonlyArray<string> => text.split(",").map((key) => key.trim())

export const list = Schema.String.check(
  Schema.makeFilter((text: string) => split(text).every(isKey), {
    expected: "keys of 32 bytes as base64, separated by commas"
  })
)
