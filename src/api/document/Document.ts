// The OpenAPI document: what it says beyond the generated schemas, and how it is put into its final form.
import { flow } from "effect"
import { scopeTexts } from "../../domain/access/Scope.ts"
import { withCommon } from "./Common.ts"
import { withComponents } from "./Components.ts"
import { child, isNode, items, mapEntries, mapOperations } from "./Node.ts"
import type { Node } from "./Node.ts"
import { withDiscriminators, withoutGeneratedNames } from "./References.ts"
import { simplified } from "./Schemas.ts"
import { withWebhooks } from "./Webhooks.ts"

export const description = `Manages blockchain relayers. A relayer is an account on one network with one signer.

Every response body is an envelope: \`{success: true, data, pagination?, metadata?}\` or \`{data: null, message, success: false}\`. A response 400
adds \`error\`, a text that names every invalid field. A create answers 201 with \`Location\`. Every response carries \`x-request-id\`.
A \`POST\` with an \`Idempotency-Key\` takes effect once: repeated within 24 hours, it gets the response of the first request.
Send \`X-Relayer-Debug: true\` to get the log messages and spans of a request in \`metadata\`.
Chain amounts are integers of up to 128 bits. Responses have them as JSON numbers with every digit; requests may have numbers or decimal strings.`

/** OpenAPI writes the names of schemes in lower case, and tools compare them so. */
const withLowerCaseSchemes = (document: Node): Node => {
  const components = child(document, "components")
  const securitySchemes = mapEntries(child(components, "securitySchemes"), (scheme) => ({
    ...scheme,
    scheme: String(scheme.scheme).toLowerCase()
  }))
  return { ...document, components: { ...components, securitySchemes } }
}

/** OpenAPI has no field that describes the scopes of a bearer token. */
const withScopes = (document: Node): Node => ({ ...document, "x-scopes": scopeTexts })

/** The description of a parameter's schema is that of the parameter. */
const withParameterDescriptions = (document: Node): Node =>
  mapOperations(document, ({ node }) => ({
    ...node,
    parameters: items(node, "parameters")
      .filter(isNode)
      .map((parameter) => {
        const { description, ...schema } = child(parameter, "schema")
        return description === undefined ? parameter : { ...parameter, description, schema }
      })
  }))

const asNode = (value: unknown): Node => {
  if (!isNode(value)) throw new Error("the OpenAPI document is not an object")
  return value
}

const withSimpleSchemas = flow(simplified, asNode, withoutGeneratedNames, withDiscriminators, asNode)

/** `scopes`: the scope that each operation requires, by its id. */
export const transform = (document: Node, scopes: ReadonlyMap<string, string>): Node =>
  flow(
    withWebhooks,
    withSimpleSchemas,
    withParameterDescriptions,
    (simple) => withCommon(simple, scopes),
    withComponents,
    withLowerCaseSchemes,
    withScopes
  )(document)
