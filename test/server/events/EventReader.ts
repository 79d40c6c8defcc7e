// Reads an event stream over HTTP and collects the frames.
import { Effect } from "effect"
import * as TestApi from "../../../testkit/TestApi.ts"

/** The text between two empty lines. */
export interface Frame {
  readonly text: string
  /** 0 if the frame has no id. */
  readonly id: number
  readonly event: string | undefined
  readonly data: string | undefined
}

export interface Options {
  readonly key?: string
  readonly lastEventId?: number | string
  readonly query?: string
  /** Further header fields. */
  readonly headers?: Record<string, string>
}

const field = (text: string, name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1]

const frameOf = (text: string): Frame => ({
  text,
  id: Number(field(text, "id") ?? 0),
  event: field(text, "event"),
  data: field(text, "data")
})

const start = async (baseUrl: string, { key, lastEventId, query = "", headers }: Options) => {
  const abort = new AbortController()
  const response = await fetch(`${baseUrl}/api/v1/events${query}`, {
    signal: abort.signal,
    headers: {
      accept: "text/event-stream",
      authorization: `Bearer ${key ?? TestApi.apiKey}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) }),
      ...headers
    }
  })
  const frames: Array<Frame> = []
  let waiting: Array<() => void> = []
  let rest = ""
  const stream = { isOver: false }

  const wake = () => {
    const woken = waiting
    waiting = []
    for (const resolve of woken) resolve()
  }

  const pump = async () => {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split("\n\n")
      rest = parts.pop() ?? ""
      frames.push(...parts.map(frameOf))
      wake()
    }
  }
  const done = pump()
    .catch(() => undefined)
    .then(() => {
      stream.isOver = true
      wake()
    })

  const until = async (condition: () => boolean) => {
    while (!condition() && !stream.isOver) await new Promise<void>((resolve) => waiting.push(resolve))
  }

  return {
    response,
    frames: (): ReadonlyArray<Frame> => frames,
    /** The frames with an id. */
    events: (): ReadonlyArray<Frame> => frames.filter(({ id }) => id > 0),
    /** Waits until `count` events have arrived or the stream has ended. */
    take: (count: number) =>
      Effect.promise(async () => {
        await until(() => frames.filter(({ id }) => id > 0).length >= count)
        return frames.filter(({ id }) => id > 0)
      }),
    until: (condition: (frames: ReadonlyArray<Frame>) => boolean) =>
      Effect.promise(() => until(() => condition(frames))),
    ended: Effect.promise(() => done),
    close: () => abort.abort()
  }
}

export type EventReader = Awaited<ReturnType<typeof start>>

export const open = (baseUrl: string, options: Options = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => start(baseUrl, options)),
    (reader) =>
      Effect.promise(() => {
        reader.close()
        return reader.ended.pipe(Effect.runPromise)
      })
  )
