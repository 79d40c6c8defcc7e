// Open overviews of the console beside a load: the sessions, streams and requests of as many browsers.
import { Effect, Schema } from "effect"
import { key } from "./Installation.ts"
import type { Server } from "./Installation.ts"

class ConsoleFailed extends Schema.TaggedError<ConsoleFailed>()("ConsoleFailed", { message: Schema.String }) {}

/** The service, while overviews of its console are open. */
export const contender = "consoles"

/** A session of the console. */
interface Session {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

const open = ["pending", "sent", "submitted", "mined"].map((status) => `status=${status}`).join("&")

const counts = ["", "state=disabled&", "state=failing&", "state=degraded&", "paused=true&"]

/**
 * What one open overview asks for, in order, and milliseconds between two requests: `web/src/pages/OverviewPage.tsx` and
 * `web/src/pages/overview/Statistics.tsx`. In sum 0.35 requests a second.
 */
const asked = [
  { path: "attention", every: 5_000 },
  { path: "statistics", every: 30_000 },
  { path: `transactions?per_page=20&${open}`, every: 30_000 },
  ...counts.map((filter) => ({ path: `relayers?${filter}per_page=1`, every: 60_000 }))
]

/** What browsers send with a request of a page to its own origin. */
const ownPage = { "sec-fetch-site": "same-origin", "content-type": "application/json" }

const attempt = <A>(run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (error) => new ConsoleFailed({ message: String(error) }) })

const signIn = ({ url }: Server) =>
  attempt(async (signal): Promise<Session> => {
    const headers = { ...ownPage, "x-console": "1" }
    const response = await fetch(`${url}/console/session`, {
      method: "POST",
      headers,
      body: JSON.stringify({ key }),
      signal
    })
    if (response.status !== 201) throw new Error(`the sign-in answers ${response.status} ${await response.text()}`)
    const { data } = (await response.json()) as { readonly data: { readonly proof: string } }
    const [cookie = ""] = response.headers.getSetCookie().map((line) => line.split(";")[0] ?? "")
    return { url, headers: { ...ownPage, cookie, "x-console": data.proof, "x-console-auto": "1" } }
  })

export const signedIn = (server: Server, count: number) => Effect.replicateEffect(signIn(server), count)

const get = ({ url, headers }: Session, path: string, more: Readonly<Record<string, string>> = {}) =>
  attempt(async (signal) => {
    const response = await fetch(`${url}/console/api/v1/${path}`, { headers: { ...headers, ...more }, signal })
    if (response.status !== 200) throw new Error(`${path} answers ${response.status} ${await response.text()}`)
    return response
  })

const openStream = (session: Session) => get(session, "events?after=latest", { accept: "text/event-stream" })

/** Reads the events until it is interrupted. */
const readStream = ({ body }: Response) =>
  attempt(async (signal) => {
    const ended = await body?.pipeTo(new WritableStream(), { signal })
    throw new Error(`a stream of events has ended: ${String(ended)}`)
  })

/** Browsers do not ask at the same moment: `share`, from 0 to 1, of the interval passes before the first request. */
const polls = (session: Session, share: number) =>
  asked.map(({ path, every }) =>
    Effect.sleep(share * every).pipe(
      Effect.andThen(
        get(session, path).pipe(
          Effect.andThen((response) => attempt(() => response.text())),
          Effect.andThen(Effect.sleep(every)),
          Effect.forever
        )
      )
    )
  )

/** Runs when the overviews are open, and closes them afterwards. It fails if one of them gets an error. */
export const beside = <A, E, R>(sessions: ReadonlyArray<Session>, run: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    if (sessions.length === 0) return yield* run
    const streams = yield* Effect.forEach(sessions, openStream)
    const overviews = [
      ...streams.map(readStream),
      ...sessions.flatMap((session, index) => polls(session, index / sessions.length))
    ]
    return yield* Effect.raceFirst(
      run,
      Effect.andThen(Effect.all(overviews, { concurrency: "unbounded" }), Effect.never)
    )
  })

export type Sessions = Effect.Success<ReturnType<typeof signedIn>>
