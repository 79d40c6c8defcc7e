// Sends many requests cheaply: over persistent connections and without reading the bodies.
import * as http from "node:http"
import { apiKey } from "../testkit/process/Service.ts"

export interface Load {
  readonly url: string
  /** Called for each request. Absent: the key of the administrator. */
  readonly key?: () => string
  readonly connections: number
  /** Milliseconds. */
  readonly during: number
  /** Milliseconds between the starts of two requests on a connection. Absent: no pause. */
  readonly interval?: number
}

export interface Served {
  /** The number of responses per status. Status 0: the connection broke. */
  readonly statuses: ReadonlyMap<number, number>
  /** The duration of each request in milliseconds. */
  readonly times: ReadonlyArray<number>
}

const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

export const run = async ({ url, key = () => apiKey, connections, during, interval = 0 }: Load): Promise<Served> => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
  const statuses = new Map<number, number>()
  const times: Array<number> = []
  const end = performance.now() + during

  const ask = () =>
    new Promise<number>((resolve) => {
      const request = http.get(url, { agent, headers: { authorization: `Bearer ${key()}` } }, (response) => {
        response.resume()
        response.once("close", () => resolve(response.statusCode ?? 0))
      })
      request.once("error", () => resolve(0))
    })

  const connection = async (): Promise<void> => {
    while (performance.now() < end) {
      const startedAt = performance.now()
      const status = await ask()
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      times.push(performance.now() - startedAt)
      const rest = startedAt + interval - performance.now()
      if (rest > 0) await sleep(rest)
    }
  }
  await Promise.all(Array.from({ length: connections }, connection))
  agent.destroy()
  return { statuses, times }
}

/** The quantile `q` of the values. */
export const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
}
