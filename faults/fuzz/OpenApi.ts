// The parts of the OpenAPI document from which requests are made.
import * as fs from "node:fs"

export interface Schema {
  readonly $ref?: string
  readonly type?: string | ReadonlyArray<string>
  readonly format?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly uniqueItems?: boolean
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly oneOf?: ReadonlyArray<Schema>
  readonly allOf?: ReadonlyArray<Schema>
}

export interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly schema: Schema
}

/** A part of the document that is written once and referred to. */
interface Reference {
  readonly $ref: string
}

interface Described {
  readonly operationId: string
  readonly security: ReadonlyArray<{ readonly bearer: ReadonlyArray<string> }>
  readonly parameters: ReadonlyArray<Parameter | Reference>
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
  readonly responses: Readonly<Record<string, unknown>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** Parameters are written as `{name}`. */
  readonly path: string
  readonly parameters: ReadonlyArray<Parameter>
  /** By content type. */
  readonly bodies: ReadonlyArray<readonly [contentType: string, Schema]>
  readonly statuses: ReadonlySet<number>
  /** The scope that it needs. `undefined`: no authentication. */
  readonly scope: string | undefined
}

const document: Document = JSON.parse(fs.readFileSync(new URL("../../openapi.json", import.meta.url), "utf8"))

const lookUp = <A>(parts: Readonly<Record<string, A>>, { $ref }: Reference): A => {
  const found = parts[$ref.replace(/^#\/components\/\w+\//, "")]
  if (found === undefined) throw new Error(`the document does not contain ${$ref}`)
  return found
}

export const operations: ReadonlyArray<Operation> = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => ({
    id: described.operationId,
    method: method.toUpperCase(),
    path,
    parameters: described.parameters.map((parameter) =>
      "$ref" in parameter ? lookUp(document.components.parameters, parameter) : parameter
    ),
    bodies: Object.entries(described.requestBody?.content ?? {}).map(([type, { schema }]) => [type, schema] as const),
    scope: described.security[0]?.bearer[0],
    statuses: new Set(Object.keys(described.responses).map(Number))
  }))
)

/** Resolves a `$ref`, or an `allOf` with one schema. */
export const resolve = (schema: Schema): Schema => {
  if (schema.$ref !== undefined) return resolve(lookUp(document.components.schemas, { $ref: schema.$ref }))
  const named = schema.type === undefined ? schema.allOf?.find(({ $ref }) => $ref !== undefined) : undefined
  return named === undefined ? schema : resolve(named)
}
