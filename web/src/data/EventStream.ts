// New events as they are published. The tabs of a browser share one stream: one of them reads it and gives its events to the others.
import { Effect, Schema, Stream } from "effect"
import { Sse } from "effect/encoding"
import * as Json from "../../../src/api/Json.ts"
import { Event } from "../../../src/domain/event/Event.ts"
import { streamed } from "./Client.ts"
import type { Failure } from "./Failure.ts"
import { registry } from "./Registry.ts"
import { pause, pauseAfter } from "./Retry.ts"
import { may, sessionState } from "./Session.ts"

export type { Event }

export interface Follower {
  /** The oldest first. */
  readonly onEvents: (events: ReadonlyArray<Event>) => void
  /** The stream has begun, or it has begun again and some events may be missing: what is on the screen is asked for again. */
  readonly onOpened: () => void
}

type Message =
  /** A tab begins to follow. */
  | { readonly type: "ask" }
  /** The answer: the stream is open. */
  | { readonly type: "welcome" }
  | { readonly type: "opened" }
  /** Events as JSON. */
  | { readonly type: "events"; readonly texts: ReadonlyArray<string> }

const name = "effect-relayer.events"

const channel = new BroadcastChannel(name)

/** Followers, and whether the stream was open since they follow. */
const followers = new Map<Follower, boolean>()

const decode = Schema.decodeUnknownOption(Json.fromText(Event))

const open = (which: (wasOpen: boolean) => boolean) => {
  for (const [follower, wasOpen] of followers) {
    if (!which(wasOpen)) continue
    followers.set(follower, true)
    follower.onOpened()
  }
}

const hand = (message: Message) => {
  if (message.type === "opened") open(() => true)
  if (message.type === "welcome") open((wasOpen) => !wasOpen)
  if (message.type !== "events" || followers.size === 0) return
  const events = message.texts.flatMap((text) => {
    const event = decode(text)
    return event._tag === "Some" ? [event.value] : []
  })
  for (const { onEvents } of followers.keys()) onEvents(events)
}

/** A channel does not give a message to the tab that sends it. */
const share = (message: Message) => {
  channel.postMessage(message)
  hand(message)
}

/** Whether this tab reads the stream, and has it open. */
let isOpen = false

/** A stream whose heartbeat, which comes every 15 seconds, is missing has lost its connection. */
const silence = "45 seconds"

/** What one connection leaves for the next one. */
interface Reader {
  /** Id of the last event. Absent: begin after the newest event. */
  last?: string
  failures: number
}

const headersOf = ({ last }: Reader) => ({
  accept: "text/event-stream",
  ...(last === undefined ? {} : { "last-event-id": last })
})

/** Reads the stream until it ends. */
const read = (reader: Reader): Effect.Effect<void, Failure> => {
  let texts: Array<string> = []
  const parser = Sse.makeParser((event) => {
    if (event._tag === "Retry") return
    texts.push(event.data)
    if (event.id !== undefined) reader.last = event.id
  })
  const isResumed = reader.last !== undefined
  return streamed("/api/v1/events?after=latest", headersOf(reader)).pipe(
    Stream.timeout(silence),
    Stream.runForEach((text) =>
      Effect.sync(() => {
        reader.failures = 0
        if (!isOpen) {
          isOpen = true
          if (!isResumed) share({ type: "opened" })
        }
        parser.feed(text)
        if (texts.length > 0) share({ type: "events", texts })
        texts = []
      })
    )
  )
}

const sessionId = () => {
  const state = registry.get(sessionState)
  return state.kind === "in" && may(state, "events:read") ? state.session.id : undefined
}

/** Waits until the session is another one than `id`. Without a session, or without the scope, `id` is undefined. */
const anotherSession = (id: string | undefined) =>
  Effect.callback<void>((resume) => {
    const stop = registry.subscribe(sessionState, () => {
      if (sessionId() !== id) resume(Effect.void)
    })
    if (sessionId() !== id) resume(Effect.void)
    return Effect.sync(stop)
  })

const badRequest = 400

/** Connects again and again while the session lasts. */
const readOn = Effect.fnUntraced(function* (reader: Reader) {
  const failure = yield* Effect.flip(Effect.andThen(read(reader), Effect.fail(undefined)))
  isOpen = false
  // The events after the last one are deleted: the lists are loaded again, and the stream begins after the newest event.
  if (failure?.status === badRequest) delete reader.last
  const wait = failure?.retryAfter === undefined ? pauseAfter(reader.failures) : failure.retryAfter * 1_000
  reader.failures += 1
  yield* pause(wait)
})

/** Reads for one session after the other. */
const lead = Effect.forever(
  Effect.suspend(() => {
    const id = sessionId()
    if (id === undefined) return anotherSession(undefined)
    const reader: Reader = { failures: 0 }
    return Effect.raceFirst(Effect.forever(readOn(reader)), anotherSession(id))
  })
)

let leading: AbortController | undefined

/** The lock is that of the origin, so that one tab holds it, and another one takes it over. */
const begin = () => {
  const { signal } = (leading = new AbortController())
  const run = async () => {
    await Effect.runPromiseExit(lead, { signal })
    isOpen = false
  }
  // An aborted request for the lock is rejected.
  navigator.locks.request(name, { signal }, run).catch(() => undefined)
}

const end = () => {
  leading?.abort()
  leading = undefined
}

channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
  if (data.type !== "ask") hand(data)
  else if (isOpen) channel.postMessage({ type: "welcome" } satisfies Message)
})

/** Milliseconds that the stream stays open without a follower, so that the way from page to page does not open it again. */
const patience = 5_000

let ending: ReturnType<typeof setTimeout> | undefined

/** The stream is open while a page of any tab follows it. Returns how to stop. */
export const follow = (follower: Follower): (() => void) => {
  clearTimeout(ending)
  followers.set(follower, false)
  if (leading === undefined) begin()
  if (isOpen) hand({ type: "welcome" })
  else channel.postMessage({ type: "ask" } satisfies Message)
  return () => {
    followers.delete(follower)
    if (followers.size === 0) ending = setTimeout(end, patience)
  }
}
