// What every kind of signer of rrelayer needs: references to secrets, and signers that are added once.
import { variableName } from "../../../domain/configuration/Reference.ts"
import * as Imported from "../Imported.ts"
import type { Input } from "./Input.ts"
import type { Listed } from "./List.ts"

/** The id of the signer of a relayer, or undefined if the account cannot be imported. */
export type SignerOf = (relayer: Listed) => string | undefined

export const dropped = (): undefined => undefined

/** `${NAME}` alone. */
export const wholeVariable = /^\$\{([^}]+)\}$/

/** A reference to a secret: a variable stays one, and a literal value moves into the secrets file. */
export const referenceOf = (
  value: string,
  place: string,
  nameParts: ReadonlyArray<string | number>,
  { report, secrets }: Imported.Context
): { readonly env: string } => {
  const name = wholeVariable.exec(value)?.[1]
  if (name !== undefined && variableName.test(name)) {
    secrets.need(name)
    return { env: name }
  }
  const moved = secrets.move(nameParts, value)
  report.add(place, "note", `is a secret in the file: moved to ${moved} in the secrets file`)
  return { env: moved }
}

/** The value of a text that may be a variable, if this machine has it. */
export const knownValue = (text: string | undefined, { variables }: Input): string | undefined => {
  const name = wholeVariable.exec(text ?? "")?.[1]
  return name === undefined ? text : variables[name]
}

/** The name, or with a number the next one, that stands for the thing and for nothing else. */
export const nameFor = (
  { names }: Input,
  thing: string,
  numbered: (suffix: string) => string,
  separator = "_"
): string => {
  for (let next = 1; ; next += 1) {
    const name = numbered(next === 1 ? "" : `${separator}${next}`)
    const known = names.get(name)
    if (known !== undefined && known !== thing) continue
    names.set(name, thing)
    return name
  }
}

/** Adds a signer once. The same id of another provider, which has other keys, gets a number. */
export const once = (input: Input, place: string, base: string, body: object): string | undefined => {
  const id = nameFor(input, JSON.stringify(body), (suffix) => `${base}${suffix}`, "-")
  if (input.document.signers.has(id)) return id
  return Imported.add(input, "signers", id, body, place) ? id : undefined
}
