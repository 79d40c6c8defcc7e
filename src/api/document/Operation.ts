// What endpoints say about themselves beyond their schemas. Each function is a `transform` of `OpenApi.annotations`.
import { child, mapEntries } from "./Node.ts"
import type { Node } from "./Node.ts"

export const header = (description: string, example: string, required = true): Node => ({
  description,
  required,
  schema: { type: "string" },
  example
})

const onSuccess = (operation: Node, f: (response: Node) => Node): Node => ({
  ...operation,
  responses: mapEntries(child(operation, "responses"), (response, status) =>
    status.startsWith("2") ? f(response) : response
  )
})

const withHeaders =
  (headers: Node) =>
  (operation: Node): Node =>
    onSuccess(operation, (response) => ({ ...response, headers: { ...headers, ...child(response, "headers") } }))

/** The response carries the version of the resource. */
export const versioned = withHeaders({
  etag: header("Version of the resource, for `If-Match` and `If-None-Match`.", '"12.3"')
})

/** The response links to the next page. */
export const linked = withHeaders({
  link: header("Path of the next page. Absent on the last page.", '</api/v1/relayers?cursor=…>; rel="next"', false)
})

/** The body may be left out, because every field of it may be. */
export const withOptionalBody = (operation: Node): Node => ({
  ...operation,
  requestBody: { ...child(operation, "requestBody"), required: false }
})

/** Callers that accept nothing but `text/event-stream` get Server-Sent Events. */
export const streamed =
  (stream: { readonly description: string; readonly example: string }) =>
  (operation: Node): Node =>
    onSuccess(operation, (response) => ({
      ...response,
      content: {
        ...child(response, "content"),
        "text/event-stream": { schema: { type: "string", description: stream.description }, example: stream.example }
      }
    }))
