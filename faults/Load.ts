// Many requests at little cost: connections that are kept, and bodies that nobody reads.
import * as http from "node:http"
import { apiKey } from "../testkit/process/Service.ts"

export interface Load {
  readonly url: string
  /** Asked for each request; absent: the administrator's. */
  readonly key?: () => string
  readonly connections: number
  /** Milliseconds. */
  readonly during: number
  /** Milliseconds between two requests of a connection, from beginning to beginning. Absent: no pause. */
  readonly interval?: number
}

export interface Served {
  readonly statuses: ReadonlyMap<number, number>
  /** Milliseconds of each answer, with its status; 0: broken off. */
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

/** The value that a share `q` of all is not above. */
export const quantile = (values: ReadonlyArray<number>, q: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
}
