// Removes the documentation of fields and endpoints from modules, and what changes of fields mean. It is half of the client's code, and
// only the OpenAPI document and plans of configurations use it.
import { parseAst } from "rolldown/parseAst"

interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
}

interface Call extends Node {
  readonly callee: Node & {
    readonly name?: string
    readonly object?: Node & { readonly name?: string }
    readonly property?: { readonly name?: string }
  }
  readonly arguments: ReadonlyArray<Node>
}

interface Property extends Node {
  readonly key: { readonly name?: string }
  readonly value: Node
}

interface ObjectLiteral extends Node {
  readonly properties: ReadonlyArray<Property>
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && "type" in value
const isCall = (node: Node): node is Call => node.type === "CallExpression"
const isObjectLiteral = (node: Node): node is ObjectLiteral => node.type === "ObjectExpression"

const edit = (start: number, end: number, text = ""): Edit => ({ start, end, text })

/** Only literals, and sums of them, are documentation: if a field of a schema has one of these names, its value is another call than `added`. */
const texts = new Set(["Literal", "TemplateLiteral", "BinaryExpression"])
const isText = (value: Node) => texts.has(value.type) || (isCall(value) && value.callee.name === "added")
const isList = ({ key, value }: Property) => key?.name === "examples" && value.type === "ArrayExpression"

/** `description: limits` is documentation beside a list of examples: a schema has no such field. */
const isDocumentation = (property: Property, _: number, all: ReadonlyArray<Property>) => {
  const { key, value } = property
  if (key?.name === "description" || key?.name === "title")
    return isText(value) || (value.type === "Identifier" && all.some(isList))
  if (isList(property)) return true
  if (key?.name === "change") return value.type === "Identifier"
  return key?.name === "contentMediaType" || key?.name === "contentSchema"
}

const ofObject = ({ properties }: ObjectLiteral): ReadonlyArray<Edit> =>
  properties.filter(isDocumentation).map(({ start, end, key }) => edit(start, end, `${key.name}: undefined`))

/** `schema.annotate({ description })`: the whole call is removed, because its argument would be empty. */
const isEmptied = (call: Call) => {
  const [given, ...more] = call.arguments
  return given !== undefined && more.length === 0 && isObjectLiteral(given) && given.properties.every(isDocumentation)
}

/** Functions of `Field.ts` whose first argument is the schema, which they return with annotations. */
const annotators = new Set(["field", "judged", "measured"])

/** Functions that return the annotations of a field, all of which are documentation. */
const documenting = new Set(["doc", "documented", "extra"])

/** Which argument of a function is a text for the document. */
const textAt: ReadonlyMap<string, number> = new Map([
  ["count", 0],
  ["flag", 0],
  ["orNull", 1],
  ["place", 0],
  ["headed", 3]
])

/** Functions of `Failure.ts` that take the status first: `failure(404)(error, message, text)`. */
const failures = new Set(["failure", "explained", "explainedAtTimes", "sentence"])

const positionOf = ({ callee }: Call): number | undefined =>
  isCall(callee) && failures.has(callee.callee.name ?? "") ? 2 : textAt.get(callee.name ?? "")

/** What `Endpoint.get` and the others put into the document alone. */
const ofEndpoint = new Set(["summary", "transform"])

const endpointEdits = (call: Call): ReadonlyArray<Edit> =>
  call.arguments
    .filter(isObjectLiteral)
    .flatMap(({ properties }) => properties.filter(({ key }) => ofEndpoint.has(key?.name ?? "")))
    .map(({ start, end, key }) => edit(start, end, `${key.name}: undefined`))

/** The functions of `Field.ts` and `Page.ts`, and the methods of schemas and of the contract. */
const ofCall = (code: string, call: Call): ReadonlyArray<Edit> => {
  const { callee } = call
  const [first] = call.arguments
  if (first === undefined) return []
  if (annotators.has(callee.name ?? "")) return [edit(call.start, first.start, "("), edit(first.end, call.end, ")")]
  if (callee.name === "shown" || callee.name === "shownAddition") return [edit(first.end, call.end, ")")]
  if (documenting.has(callee.name ?? "")) return [edit(call.start, call.end, "({})")]
  const text = call.arguments.at(positionOf(call) ?? call.arguments.length)
  if (text !== undefined && texts.has(text.type)) return [edit(text.start, text.end, '""')]
  const { object, property } = callee
  if (object === undefined) return []
  if (object.name === "Endpoint") return endpointEdits(call)
  if (property?.name === "annotate" && isEmptied(call)) return [edit(object.end, call.end)]
  const isOpenApi = property?.name === "annotateMerge" && code.startsWith("OpenApi.annotations(", first.start)
  return isOpenApi ? [edit(object.end, call.end)] : []
}

const editsOf = (code: string, node: Node): ReadonlyArray<Edit> => {
  if (isCall(node)) return ofCall(code, node)
  return isObjectLiteral(node) ? ofObject(node) : []
}

const collect = (code: string, value: unknown): ReadonlyArray<Edit> => {
  if (Array.isArray(value)) return value.flatMap((item) => collect(code, item))
  if (!isNode(value)) return []
  return [...editsOf(code, value), ...Object.values(value).flatMap((child) => collect(code, child))]
}

/** The module without its documentation. */
export const undocumented = (code: string): string => {
  const edits = collect(code, parseAst(code, { lang: "ts" })).toSorted((a, b) => a.start - b.start || b.end - a.end)
  let result = ""
  let position = 0
  for (const { start, end, text } of edits) {
    // A larger edit removes this part already.
    if (start < position) continue
    result += code.slice(position, start) + text
    position = end
  }
  return result + code.slice(position)
}
