// Decodes whole documents. All problems are reported at once, each with its path.
import { Result, Schema } from "effect"
import { suggestionFor } from "../request/Suggestion.ts"
import type { Violation } from "../request/Violations.ts"
import { ConfigurationName, kinds } from "./Kinds.ts"
import type { Kind } from "./Kinds.ts"
import { decodeObject, isMembers, unknownField } from "./Wanted.ts"
import type { Members, WantedConfiguration, WantedObject } from "./Wanted.ts"

type Violations = ReadonlyArray<Violation>

const isName = Schema.is(ConfigurationName)

/** Problems of the members of the document that are not sections: the version, the name and unknown members. */
export const headViolations = (input: Members): Violations => {
  const violations: Array<Violation> = []
  if (input["version"] !== 1) violations.push({ field: "version", message: "expected 1" })
  if (!isName(input["name"])) {
    violations.push({ field: "name", message: "expected 1 to 36 letters, digits, dashes and underscores" })
  }
  const known: ReadonlyArray<string> = ["version", "name", ...kinds]
  for (const field of Object.keys(input).filter((name) => !known.includes(name))) {
    const meant = suggestionFor(field, known)
    violations.push({ field, message: meant === undefined ? unknownField : `${unknownField}; did you mean ${meant}?` })
  }
  return violations
}

/** An object of a section, not decoded. */
interface Body {
  readonly kind: Kind
  readonly id: string
  readonly body: unknown
}

/** A document whose objects are not decoded yet. There may be thousands, so the caller decodes them in parts. */
export interface Opened {
  readonly name: string
  readonly sections: ReadonlySet<Kind>
  readonly bodies: ReadonlyArray<Body>
  readonly violations: Violations
}

export const open = (input: unknown): Opened => {
  const members = isMembers(input) ? input : {}
  const violations = isMembers(input)
    ? [...headViolations(members)]
    : [{ field: "document", message: "expected an object" }]
  const sections = new Set<Kind>()
  const bodies: Array<Body> = []
  for (const kind of kinds) {
    const section = members[kind]
    if (section === undefined || section === null) continue
    if (!isMembers(section)) {
      violations.push({ field: kind, message: "expected an object" })
      continue
    }
    sections.add(kind)
    for (const [id, body] of Object.entries(section)) bodies.push({ kind, id, body })
  }
  return { name: String(members["name"]), sections, bodies, violations }
}

export const decodeBody = ({ kind, id, body }: Body): Result.Result<WantedObject, Violations> =>
  Result.mapError(decodeObject(kind, id, body), (violations) =>
    violations.map(({ field, message }) => ({ field: `${kind}.${id}${field === "" ? "" : `.${field}`}`, message }))
  )

/** `decoded`: the decoding results of all bodies. */
export const close = (
  { name, sections, violations }: Opened,
  decoded: ReadonlyArray<Result.Result<WantedObject, Violations>>
): Result.Result<WantedConfiguration, Violations> => {
  const found = [...violations, ...decoded.flatMap((result) => (Result.isFailure(result) ? result.failure : []))]
  if (found.length > 0) return Result.fail(found)
  const objects = decoded.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
  return Result.succeed({ name, sections, objects })
}

export const decode = (input: unknown): Result.Result<WantedConfiguration, Violations> => {
  const opened = open(input)
  return close(opened, opened.bodies.map(decodeBody))
}
