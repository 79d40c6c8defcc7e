// Sends requests and records their outcome, including broken connections.
import { apiKey } from "../testkit/process/Service.ts"

/** `status` 0: the connection broke, or there was no response within a minute. */
export interface Outcome {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
  readonly milliseconds: number
  /** On the clock of `performance.now()`. */
  readonly endedAt: number
}

export interface Sent {
  readonly method?: string
  readonly body?: object
  readonly key?: string
}

const patience = 60_000

export const send = async (url: string, { method, body, key = apiKey }: Sent = {}): Promise<Outcome> => {
  const startedAt = performance.now()
  const outcome = (status: number, text: string, retryAfter?: string): Outcome => {
    const endedAt = performance.now()
    return { status, retryAfter, text, milliseconds: endedAt - startedAt, endedAt }
  }
  try {
    const response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patience)
    })
    return outcome(response.status, await response.text(), response.headers.get("retry-after") ?? undefined)
  } catch (error) {
    return outcome(0, String(error instanceof Error ? (error.cause ?? error) : error))
  }
}

/** The number of responses per status: `200: 51, 503: 3`. */
export const statuses = (outcomes: ReadonlyArray<Outcome>): string => {
  const counts = new Map<number, number>()
  for (const { status } of outcomes) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${status || "broken"}: ${count}`).join(", ")
}
