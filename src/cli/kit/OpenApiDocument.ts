// The OpenAPI document, and the fields of its schemas. It is loaded only when a command needs it.
import { OpenApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"

const contract = OpenApi.fromApi(Api)

export const document = (): string => JSON.stringify(contract, null, 2)

interface Part {
  readonly $ref?: string
  readonly description?: string
  readonly examples?: ReadonlyArray<unknown>
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: { readonly [name: string]: Part }
  readonly required?: ReadonlyArray<string>
  readonly items?: Part
  readonly anyOf?: ReadonlyArray<Part>
  readonly oneOf?: ReadonlyArray<Part>
}

const schemas: { readonly [name: string]: Part } = contract.components.schemas

/** The names of all schemas. */
export const names = (): ReadonlyArray<string> => Object.keys(schemas).toSorted()

const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1)

type Field = readonly [path: string, needed: string, description: string]

const shown = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value))

const descriptionOf = ({ description = "", examples, enum: values }: Part): string => {
  const [example] = examples ?? []
  const choices = values === undefined ? "" : ` One of: ${values.map(shown).join(", ")}.`
  return `${description}${choices}${example === undefined ? "" : ` Example: ${shown(example)}`}`.trim()
}

const targetOf = (part: Part): Part => (part.$ref === undefined ? part : (schemas[nameOf(part.$ref)] ?? {}))

/** The fields of each member, below the name of the member. */
const fieldsOfMember = (member: Part, path: string): ReadonlyArray<Field> => {
  const found = fieldsIn(member, path)
  if (member.$ref === undefined || found.length === 0) return found
  return [[`${path} (${nameOf(member.$ref)})`.trim(), "", ""], ...found]
}

/** `path`: of the part in the whole schema. */
const fieldsIn = (part: Part, path: string): ReadonlyArray<Field> => {
  const { anyOf = [], items, oneOf = anyOf, properties = {}, required = [] } = targetOf(part)
  return [
    ...Object.entries(properties).flatMap(([key, child]): ReadonlyArray<Field> => {
      const place = path === "" ? key : `${path}.${key}`
      return [[place, required.includes(key) ? "required" : "", descriptionOf(child)], ...fieldsIn(child, place)]
    }),
    ...(items === undefined ? [] : fieldsIn(items, `${path}[]`)),
    ...oneOf.flatMap((member) => fieldsOfMember(member, path))
  ]
}

/** The fields of a schema with their paths. Empty if no schema has this name. */
export const fields = (name: string): ReadonlyArray<Field> => fieldsIn(schemas[name] ?? {}, "")
