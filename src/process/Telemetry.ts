// Where log records, spans and metrics of this process go: to standard output, or by OTLP over HTTP.
import {
  Cause,
  Clock,
  Console,
  Effect,
  Formatter,
  Layer,
  Logger,
  LogLevel,
  Metric,
  Predicate,
  Redacted,
  References
} from "effect"
import type { Fiber } from "effect"
import { FetchHttpClient, HttpClient } from "effect/http"
import { Otlp } from "effect/observability"
import { Console as NodeConsole } from "node:console"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Writable } from "node:stream"
import { Gauges, processMetrics } from "../server/observability/Gauges.ts"
import { running } from "./Running.ts"
import type { Settings } from "./settings/Settings.ts"
import { otlpHeaders } from "./settings/Variables.ts"

// Exports traces, metrics and log records by OTLP over HTTP.

/** Logs the first failure of an episode and its end. The exporters try again every minute, and say nothing. */
const reporting = (endpoint: string) =>
  Layer.effect(
    HttpClient.HttpClient,
    Effect.map(HttpClient.HttpClient, (client) => {
      let isFailing = false
      const report = (failed: boolean, reason: string) =>
        Effect.suspend(() => {
          if (failed === isFailing) return Effect.void
          isFailing = failed
          const line = failed
            ? Effect.annotateLogs(Effect.logWarning("cannot send telemetry to the OTLP collector"), { reason })
            : Effect.logInfo("telemetry arrives at the OTLP collector again")
          return Effect.annotateLogs(line, { collector: new URL(endpoint).host })
        })
      return client.pipe(
        HttpClient.tapError(() => report(true, "cannot be reached")),
        HttpClient.tap(({ status }) => report(status >= 400, `HTTP ${status}`))
      )
    })
  ).pipe(Layer.provide(FetchHttpClient.layer))

const headersOf = ({ OTEL_EXPORTER_OTLP_HEADERS: headers }: Settings) =>
  headers === undefined ? undefined : otlpHeaders(Redacted.value(headers))

/** The body of an OTLP record is the message as one string, and its attributes are the annotations. */
const layerOtlp = (settings: Settings, baseUrl: string) => {
  const make = settings.OTEL_EXPORTER_OTLP_PROTOCOL === "http/protobuf" ? Otlp.layerProtobuf : Otlp.layerJson
  return make({
    baseUrl,
    headers: headersOf(settings),
    resource: {
      serviceName: settings.OTEL_SERVICE_NAME,
      serviceVersion: running,
      attributes: { "service.instance.id": randomUUID() }
    },
    loggerMergeWithExisting: true
  }).pipe(Layer.provide(reporting(baseUrl)))
}

const levels: Record<Settings["LOG_LEVEL"], LogLevel.LogLevel> = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
}

const asText = (part: unknown): string => (typeof part === "string" ? part : Formatter.formatJson(part))

/** Our own messages are one constant string. A message of a library may have several parts. */
const messageOf = (message: unknown): string =>
  Array.isArray(message) ? message.map(asText).join(" ") : asText(message)

/** The fields that no annotation replaces. */
const fixedFields: ReadonlySet<string> = new Set(["timestamp", "level", "message", "cause"])

const isPlain = (value: unknown) => typeof value === "string" || typeof value === "number" || typeof value === "boolean"

/**
 * One flat JSON object per line: `timestamp`, `level`, `message`, the annotations, and `cause` if there is one. An annotation never
 * replaces one of these four.
 */
export const formatJson = Logger.make(({ cause, date, fiber, logLevel, message }) => {
  const record: Record<string, unknown> = {
    timestamp: date.toISOString(),
    level: logLevel.toUpperCase(),
    message: messageOf(message)
  }
  let isFlat = true
  for (const [name, value] of Object.entries(fiber.getRef(References.CurrentLogAnnotations))) {
    if (fixedFields.has(name)) continue
    record[name] = value
    isFlat &&= isPlain(value)
  }
  if (cause.reasons.length > 0) record["cause"] = Cause.pretty(cause)
  // The formatter redacts secrets and cuts circles, which only objects can have. It takes three times as long.
  return isFlat ? JSON.stringify(record) : Formatter.formatJson(record)
})

// Collects the lines of standard output, and writes those of the same moment together: a write takes longer than the making of a line.

/** Milliseconds for which a line waits for others. A line after a pause of this length is written at once. */
const longestWait = 10

/** Characters. So many are written at once; a pipe of Linux takes 65,536 bytes. */
const largestWrite = 65_536

/** Characters that wait for a reader that takes none. Beyond it, lines are lost: otherwise they would fill the memory of the service. */
export const mostWaiting = 8_388_608

/** Milliseconds between two tries with a reader that takes nothing: each pause is twice as long as the one before, from `longestWait`. */
const longestPause = 1000

/** Takes bytes and gives their number. Throws an error with the code `EAGAIN` if it can take none now. */
export type Sink = (bytes: Uint8Array) => number

export interface Lines {
  /** Adds text that ends with the end of a line. Writes it now or in at most ten milliseconds. */
  readonly add: (text: string) => void
  /** Writes all that was added. False: the reader does not take all of it now. */
  readonly flush: () => boolean
}

const noBytes = new Uint8Array()

/** Lines keep their order. `lost` is called with the number of those that were lost, when the sink works again. */
export const makeLines = Effect.fnUntraced(function* (sink: Sink, lost: (count: number) => void) {
  const clock = yield* Clock.Clock
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  const now = () => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

  let lines: Array<string> = []
  /** Characters of `lines`. */
  let length = 0
  /** What the sink has not taken yet, with the number of lines that it began with. */
  let rest = { bytes: noBytes, count: 0 }
  let lostLines = 0
  let writtenAt = now() - longestWait
  let pause = longestWait
  let timer: Fiber.Fiber<void> | undefined

  const begin = () => {
    rest = { bytes: Buffer.from(lines.join("")), count: lines.length }
    lines = []
    length = 0
  }

  /** Gives the number of bytes that were taken. The reader of a closed pipe takes nothing any more, and a full disk nothing now. */
  const take = (): number => {
    let taken = 0
    try {
      for (;;) {
        if (rest.bytes.length === 0 && lines.length > 0) begin()
        if (rest.bytes.length === 0) return taken
        const count = sink(rest.bytes)
        taken += count
        rest = { ...rest, bytes: rest.bytes.subarray(count) }
      }
    } catch (error) {
      if (Predicate.hasProperty(error, "code") && error.code === "EAGAIN") return taken
      lostLines += rest.count
      rest = { bytes: noBytes, count: 0 }
      return taken
    }
  }

  const wait = (milliseconds: number) => {
    timer = fork(Effect.andThen(Effect.sleep(milliseconds), Effect.sync(onTime)))
  }

  const onTime = () => {
    timer = undefined
    flush()
  }

  const flush = (): boolean => {
    timer?.interruptUnsafe()
    timer = undefined
    const taken = take()
    writtenAt = now()
    if (rest.bytes.length > 0) {
      pause = taken > 0 ? longestWait : Math.min(pause * 2, longestPause)
      wait(pause)
      return false
    }
    pause = longestWait
    if (taken > 0 && lostLines > 0) {
      const count = lostLines
      lostLines = 0
      lost(count)
    }
    return true
  }

  const add = (text: string) => {
    if (length + rest.bytes.length + text.length > mostWaiting) {
      lostLines++
      return
    }
    lines.push(text)
    length += text.length
    if (rest.bytes.length > 0) return
    const waited = now() - writtenAt
    if (waited >= longestWait || length >= largestWrite) flush()
    else if (timer === undefined) wait(longestWait - waited)
  }

  const made: Lines = { add, flush }
  return made
})

/** Writes records of the log: a warning and what precedes it at once, so that a crash leaves the reason in the log. */
export const urgently = <Message>(logger: Logger.Logger<Message, void>, { flush }: Pick<Lines, "flush">) =>
  Logger.make<Message, void>((options) => {
    logger.log(options)
    if (LogLevel.isGreaterThanOrEqualTo(options.logLevel, "Warn")) flush()
  })

/** Milliseconds in which the last lines are written to a reader that is slow, and between two tries. */
const lastWait = { longest: 250, between: 5 }

/** Writes the last lines. Nothing else runs any more, so that this may wait. */
const end = ({ flush }: Lines) => {
  const until = performance.now() + lastWait.longest
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  while (!flush() && performance.now() < until) Atomics.wait(sleeper, 0, 0, lastWait.between)
}

/** `process.stdout` would keep what a full pipe does not take in memory without a limit. It makes the pipe one that does not block. */
const stdout: Sink = (bytes) => fs.writeSync(process.stdout.fd, bytes)

/** Node emits `exit` at every end that JavaScript sees: also after an exception that nobody catches. */
const linesOfStdout = (lost: (count: number) => void) =>
  Effect.gen(function* () {
    const lines = yield* makeLines(stdout, lost)
    const onExit = () => end(lines)
    yield* Effect.acquireRelease(
      Effect.sync(() => void process.on("exit", onExit)),
      () =>
        Effect.sync(() => {
          onExit()
          process.off("exit", onExit)
        })
    )
    return lines
  })

/** What the program prints keeps its place among the records. */
const consoleOf = ({ add }: Lines, isTerminal: boolean): Console.Console =>
  new NodeConsole({
    stdout: new Writable({
      decodeStrings: false,
      write: (text: string, _encoding, done) => {
        add(text)
        done()
      }
    }),
    stderr: process.stderr,
    colorMode: isTerminal
  })

const lostRecords = (count: number) =>
  Effect.annotateLogs(Effect.logWarning("records of the log were lost because nothing took them"), { count })

/** The log on standard output, with what the program prints there. */
const layerStdout = (format: "json" | "pretty", isTerminal: boolean) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const lines = yield* linesOfStdout((count) => Effect.runSync(Effect.provide(lostRecords(count), logging)))
      const pretty = Logger.consolePretty({ colors: isTerminal })
      const json = Logger.map(formatJson, (line) => lines.add(`${line}\n`))
      const logging: Layer.Layer<never> = Layer.merge(
        Logger.layer([urgently(format === "json" ? json : pretty, lines)]),
        Layer.succeed(Console.Console, consoleOf(lines, isTerminal))
      )
      return logging
    })
  )

export const layer = (settings: Settings, isTerminal: boolean) => {
  const format = settings.LOG_FORMAT ?? (isTerminal ? "pretty" : "json")
  const endpoint = settings.OTEL_EXPORTER_OTLP_ENDPOINT
  const local = Layer.merge(
    layerStdout(format, isTerminal),
    Layer.succeed(References.MinimumLogLevel, levels[settings.LOG_LEVEL])
  )
  // Spans are only made if they are exported. A request with X-Relayer-Debug makes its own.
  return endpoint === undefined
    ? Layer.merge(local, Layer.succeed(References.TracerEnabled, false))
    : Layer.provideMerge(layerOtlp(settings, endpoint), local)
}

// Measures memory, CPU and event loop of this process at each scrape.

const { cpuSecondsTotal, eventLoopDelaySeconds, residentMemoryBytes } = processMetrics

const quantiles = [0.5, 0.99, 1]

const measure = (delay: ReturnType<typeof monitorEventLoopDelay>) => {
  let countedCpu = 0
  return Effect.gen(function* () {
    const { user, system } = process.cpuUsage()
    const cpu = (user + system) / 1e6
    yield* Metric.update(cpuSecondsTotal, cpu - countedCpu)
    countedCpu = cpu
    yield* Metric.update(residentMemoryBytes, process.memoryUsage.rss())
    for (const quantile of quantiles) {
      const seconds = delay.count === 0 ? 0 : delay.percentile(quantile * 100) / 1e9
      yield* Metric.update(Metric.withAttributes(eventLoopDelaySeconds, { quantile: String(quantile) }), seconds)
    }
    delay.reset()
  })
}

const eventLoopDelay = Effect.acquireRelease(
  Effect.sync(() => {
    const histogram = monitorEventLoopDelay({ resolution: 20 })
    histogram.enable()
    return histogram
  }),
  (histogram) => Effect.sync(() => histogram.disable())
)

export const layerProcessGauges = Layer.effectDiscard(
  Effect.flatMap(Effect.all([Gauges, eventLoopDelay]), ([gauges, delay]) => gauges.register(measure(delay)))
)
