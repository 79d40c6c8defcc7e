// JSON Merge Patch (RFC 7396).
import { Predicate, Schema } from "effect"

type Members = { readonly [key: string]: unknown }

const isObject = (value: unknown): value is Members => Predicate.isObject(value) && !Array.isArray(value)

/** Applies `patch` to `target`: null removes a member, an object patches an object, every other value replaces. */
export const apply = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return patch
  const merged = new Map(Object.entries(isObject(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key)
    else merged.set(key, apply(merged.get(key), value))
  }
  return Object.fromEntries(merged)
}

/** A field that exists and that a patch cannot change. */
export const immutable = Schema.optionalKey(Schema.Never.annotate({ message: "cannot be changed" }))
