// Records the log lines and spans of a request that is sent with `X-Relayer-Debug: true`.
import { Context, DateTime, Effect, Logger, LogLevel, References, Tracer } from "effect"
import * as Caller from "../../domain/access/Caller.ts"
import type { Metadata } from "../../api/Envelope.ts"
import * as Query from "../../sql/Query.ts"

/** Returns what the current request has recorded so far. `undefined` if it is not recorded. */
export const CurrentRecording = Context.Reference<(() => Metadata) | undefined>(
  "effect-relayer/server/responses/Recording/CurrentRecording",
  { defaultValue: () => undefined }
)

const maxLogs = 1000
const maxSpans = 1000

type Level = Metadata["logs"][number]["level"]

const levels: Partial<Record<LogLevel.LogLevel, Level>> = {
  Fatal: "error",
  Error: "error",
  Warn: "warn",
  Info: "info",
  Debug: "debug",
  Trace: "debug"
}

const asText = (part: unknown): string => (typeof part === "string" ? part : JSON.stringify(part))

/** The message and its annotations: `relayer created relayer_id=payouts`. The caller knows the request id and its own. */
const toText = ({ message, fiber }: Logger.Options<unknown>): string => {
  const { request_id: _, actor: __, ...annotations } = fiber.getRef(References.CurrentLogAnnotations)
  const fields = Object.entries(annotations).map(([name, value]) => `${name}=${asText(value)}`)
  return [...(Array.isArray(message) ? message : [message]).map(asText), ...fields].join(" ")
}

/**
 * The attributes that are shown. A library may add others in any version, and among those of today are SQL statements, and the
 * address and name of the database.
 */
const shown = new Set([
  Query.systemAttribute,
  "error.type",
  "http.request.method",
  "http.response.status_code",
  // The JSON-RPC method and the type of the network of a call to a chain.
  "method",
  "network_type"
])

const isShown = (entry: [string, unknown]): entry is [string, string | number | boolean] =>
  shown.has(entry[0]) && ["string", "number", "boolean"].includes(typeof entry[1])

const statusOf = ({ status }: Tracer.Span) => {
  if (status._tag === "Started") return "running"
  return status.exit._tag === "Success" ? "ok" : "error"
}

/** A key that is limited to relayers gets this name instead of the names of repositories, tables and the database. */
const database = "database"

/** Whether the span is a query, such as `SignersRepo.insert`, or a statement of a query. */
const isOfDatabase = ({ attributes }: Tracer.Span) => attributes.has(Query.systemAttribute)

/** A span as the caller may see it: `isNarrow` if its key is limited to relayers. */
const describe = (isNarrow: boolean) => (span: Tracer.Span) =>
  isNarrow && isOfDatabase(span) ? { ...recorded(span), name: database, attributes: {} } : recorded(span)

const recorded = (span: Tracer.Span): Metadata["traces"][number] => ({
  name: span.name,
  trace_id: span.traceId,
  span_id: span.spanId,
  ...(span.parent._tag === "Some" ? { parent_span_id: span.parent.value.spanId } : {}),
  started_at: DateTime.formatIso(DateTime.makeUnsafe(Number(span.status.startTime / 1_000_000n))),
  ...(span.status._tag === "Ended" ? { duration_ms: Number(span.status.endTime - span.status.startTime) / 1e6 } : {}),
  status: statusOf(span),
  attributes: Object.fromEntries([...span.attributes].filter(isShown))
})

/** Records `self` in a span called `name`. */
export const record = <A, E, R>(self: Effect.Effect<A, E, R>, name: string): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const tracer = yield* Tracer.Tracer
    const loggers = yield* Logger.CurrentLoggers
    const minimum = yield* References.MinimumLogLevel
    const shownSpan = describe((yield* Caller.current).relayerIds !== undefined)
    const logs: Array<Metadata["logs"][number]> = []
    const spans: Array<Tracer.Span> = []

    const recorder = Logger.make((line) => {
      if (logs.length < maxLogs) logs.push({ level: levels[line.logLevel] ?? "log", message: toText(line) })
    })
    // The recorder gets every line. The other loggers get the lines that they got before.
    const others = [...loggers].map((logger) =>
      Logger.make((line) => (LogLevel.isGreaterThanOrEqualTo(line.logLevel, minimum) ? logger.log(line) : undefined))
    )
    const recordingTracer = Tracer.make({
      ...tracer,
      span: (options) => {
        const span = tracer.span(options)
        if (spans.length < maxSpans) spans.push(span)
        return span
      }
    })

    return yield* Effect.andThen(Effect.annotateLogs(Effect.logDebug("request recorded"), { name }), self).pipe(
      Effect.withSpan(name),
      Effect.provideService(References.TracerEnabled, true),
      Effect.provideService(Tracer.Tracer, recordingTracer),
      Effect.provideService(Logger.CurrentLoggers, new Set([recorder, ...others])),
      Effect.provideService(References.MinimumLogLevel, "Debug"),
      Effect.provideService(CurrentRecording, () => ({ logs: [...logs], traces: spans.map(shownSpan) }))
    )
  })
