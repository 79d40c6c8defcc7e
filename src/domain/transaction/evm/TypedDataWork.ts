// How much work it is to hash typed data. It runs on the main thread in one piece, so it is bounded before it starts.
import { Predicate } from "effect"
import type { SignTypedDataJson } from "./Signature.ts"

/**
 * The unit is one character of a type's text that is hashed: about 1/15 µs of a core. The others were measured beside it with
 * the largest bodies that are accepted.
 */
const cost = { struct: 500, value: 250, character: 2 }

/** About 40 ms of a core. Large orders and permits take less than a tenth of it. */
export const maxWork = 500_000

interface Size {
  structs: number
  values: number
  characters: number
}

/** `Value` bounds the depth of the message. */
const measure = (value: unknown, size: Size): void => {
  if (!Predicate.isObjectKeyword(value)) {
    size.values += 1
    if (Predicate.isString(value)) size.characters += value.length
    return
  }
  if (!Array.isArray(value)) size.structs += 1
  for (const child of Object.values(value)) measure(child, size)
}

/** Each struct of the message hashes the text of its type again, with all types that it uses: at most all of them. */
export const workOf = ({ domain, message, types }: Pick<SignTypedDataJson, "domain" | "message" | "types">): number => {
  const size: Size = { structs: 0, values: 0, characters: 0 }
  measure(message, size)
  measure(domain, size)
  let text = 0
  for (const [name, members] of Object.entries(types)) {
    text += name.length
    for (const member of members) text += member.name.length + member.type.length
  }
  return size.structs * (text + cost.struct) + size.values * cost.value + size.characters * cost.character
}
