// Compares responses with openapi.json, which is what generated clients rely on.
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

interface Parameter {
  readonly required?: boolean
  readonly schema: { readonly type?: string }
}

interface Response {
  readonly content?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, Parameter | Reference>>
}

interface Reference {
  readonly $ref: string
}

interface Operation {
  readonly security: ReadonlyArray<unknown>
  readonly requestBody?: unknown
  readonly responses: Readonly<Record<string, Response | Reference>>
}

interface Webhook {
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly required: boolean }>
}

interface Document {
  readonly webhooks: Readonly<Record<string, { readonly post: Webhook }>>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, never>>>>
}

const file = fileURLToPath(new URL("../openapi.json", import.meta.url))
const document: Document = JSON.parse(readFileSync(file, "utf8"))

/** The operations by their names, such as `get /api/v1/relayers`. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => [`${method} ${path}`, operation] as const)
  )
)

const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { uint64: true, uint128: true, uint256: true } })
formats.default(ajv)
ajv.addSchema(document, "document")

const pointer = (...keys: ReadonlyArray<string>) =>
  keys.map((key) => `/${encodeURIComponent(key.replaceAll("~", "~0").replaceAll("/", "~1"))}`).join("")

/** What is wrong with a value, if its schema is at this place of the document. */
const faultsAt = (place: string, value: unknown): ReadonlyArray<string> => {
  const validate = ajv.compile({ $ref: `document#${place}` })
  if (validate(value)) return []
  return (validate.errors ?? []).map(({ instancePath, message, params }) =>
    `${instancePath} ${message} ${JSON.stringify(params)}`.trim()
  )
}

const isReference = (value: object): value is Reference => "$ref" in value

const targetOf = ({ $ref }: Reference): never => {
  const [, , section = "", name = ""] = $ref.split("/")
  const found = document.components[section]?.[name]
  if (found === undefined) throw new Error(`${$ref} does not exist`)
  return found
}

const headerFaults = (place: string, { headers = {} }: Response, actual: Headers): ReadonlyArray<string> =>
  Object.entries(headers).flatMap(([name, given]) => {
    const header: Parameter = isReference(given) ? targetOf(given) : given
    const value = actual.get(name)
    if (value === null) return header.required === true ? [`header ${name} is missing`] : []
    const at = isReference(given) ? `${given.$ref.slice(1)}/schema` : `${place}${pointer("headers", name, "schema")}`
    return faultsAt(at, header.schema.type === "integer" ? Number(value) : value).map(
      (fault) => `header ${name} ${fault}`
    )
  })

const bodyFaults = (place: string, { content = {} }: Response, answer: Answer): ReadonlyArray<string> => {
  const types = Object.keys(content)
  const type = (answer.headers.get("content-type") ?? "").split(";", 1).join()
  if (types.length === 0) return answer.text === "" ? [] : ["has a body, and the document has none"]
  if (!types.includes(type)) return [`has the content type ${type}, and the document has ${types.join(", ")}`]
  const body: unknown = type === "application/json" ? JSON.parse(answer.text) : answer.text
  return faultsAt(`${place}${pointer("content", type, "schema")}`, body).map((fault) => `body ${fault}`)
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

interface Sent {
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

/** What the document does not say about this webhook. */
export const webhookFaultsOf = (name: string, { headers, body }: Sent): ReadonlyArray<string> => {
  const { parameters = [] } = document.webhooks[name]?.post ?? {}
  const missing = parameters.filter((header) => header.required && headers[header.name.toLowerCase()] === undefined)
  const place = pointer("webhooks", name, "post", "requestBody", "content", "application/json", "schema")
  return [...missing.map((header) => `header ${header.name} is missing`), ...faultsAt(place, JSON.parse(body))]
}

/** What the document does not say about this response. Empty if the response is as documented. */
export const faultsOf = (name: string, answer: Answer): ReadonlyArray<string> => {
  const given = operations.get(name)?.responses[answer.status]
  if (given === undefined) return [`${name} has no documented response ${answer.status}: ${answer.text}`]
  const [method = "", path = ""] = name.split(" ")
  const inOperation = pointer("paths", path, method, "responses", String(answer.status))
  const place = isReference(given) ? given.$ref.slice(1) : inOperation
  const response: Response = isReference(given) ? targetOf(given) : given
  return [...headerFaults(place, response, answer.headers), ...bodyFaults(place, response, answer)].map(
    (fault) => `${name} ${answer.status}: ${fault}`
  )
}
