// A stand-in of an OTLP collector that keeps what it receives, as JSON.
import { Effect, Schema } from "effect"
import { createServer } from "node:http"
import * as Target from "./Target.ts"

const Span = Schema.Struct({
  name: Schema.String,
  traceId: Schema.String,
  spanId: Schema.String,
  parentSpanId: Schema.optionalKey(Schema.String),
  links: Schema.Array(Schema.Struct({ spanId: Schema.String }))
})

const Attribute = Schema.Struct({ key: Schema.String, value: Schema.Record(Schema.String, Schema.Unknown) })

const Traces = Schema.Struct({
  resourceSpans: Schema.Array(
    Schema.Struct({
      resource: Schema.Struct({ attributes: Schema.Array(Attribute) }),
      scopeSpans: Schema.Array(Schema.Struct({ spans: Schema.Array(Span) }))
    })
  )
})

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Traces))

/** `service`: the name of the service that made the span. */
const spansIn = (body: string) =>
  decode(body).resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = resource.attributes.find(({ key }) => key === "service.name")?.value.stringValue
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ ...span, service })))
  })

export const make = Effect.gen(function* () {
  const bodies = new Map<string, Array<string>>()
  const headers: Array<NodeJS.Dict<string | Array<string>>> = []
  const server = createServer((request, response) => {
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk))
    request.on("end", () => {
      const path = request.url ?? ""
      bodies.set(path, [...(bodies.get(path) ?? []), body])
      headers.push(request.headers)
      response.end("{}")
    })
  })
  const target = yield* Target.listen(server)
  return {
    url: target.url(""),
    /** Of all requests. */
    headers,
    /** All bodies of requests to a path such as `/v1/traces`, one after the other. */
    received: (path: string): string => (bodies.get(path) ?? []).join(""),
    spans: () => (bodies.get("/v1/traces") ?? []).flatMap(spansIn)
  }
})
