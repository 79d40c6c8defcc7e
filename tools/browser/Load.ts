// Transactions that a program sends through each relayer of an operator, while a test breaks and repairs things.
import { call, textOf } from "./ConsoleInBrowser.ts"
import type { Running } from "./ConsoleInBrowser.ts"
import { relayers } from "./OwnService.ts"

/** Receives one wei of each transaction. */
export const receiver = "0x00000000000000000000000000000000000000aa"

/** Milliseconds between two transactions of a relayer: 20 a minute. */
const pace = 3_000

export interface Accepted {
  readonly relayer: string
  readonly id: string
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Sends transactions of one wei through each relayer until `stop`. `accepted` has those that the service accepted. */
export const startLoad = (running: Running) => {
  const accepted: Array<Accepted> = []
  const stopping = new AbortController()
  const loops = relayers.map(async (relayer) => {
    for (let number = 0; !stopping.signal.aborted; number += 1) {
      const body = { to: receiver, value: "1", external_id: `${relayer}-${number}` }
      const answer = await call(running, "POST", `relayers/${relayer}/transactions`, body).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) accepted.push({ relayer, id: textOf(answer.data, "id") })
      await pause(pace)
    }
  })
  return {
    accepted,
    stop: async () => {
      stopping.abort()
      await Promise.all(loops)
    }
  }
}

export const transaction = async (running: Running, { relayer, id }: Accepted) =>
  (await call(running, "GET", `relayers/${relayer}/transactions/${id}`)).data

export const isFinal = (data: unknown) =>
  ["confirmed", "failed", "canceled", "expired"].includes(textOf(data, "status"))
