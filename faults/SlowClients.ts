// Clients that take their time, or vanish, while others work.
import { Effect } from "effect"
import * as net from "node:net"
import { apiKey } from "../test/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import type { Random } from "./Random.ts"
import * as World from "./World.ts"

const rounds = 3
const during = 4000
const relayers = 500

/** `delay`: milliseconds, so that not all come at once. */
type Behaviour = (socket: net.Socket, delay: number) => void

/** Every so often a byte more, until nobody wants it. */
const dribble =
  (head: string): Behaviour =>
  (socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write("x"), 500)
    socket.once("close", () => clearInterval(timer))
  }

const authorized = `host: test\r\nauthorization: Bearer ${apiKey}\r\n`

interface Crowd {
  readonly count: number
  readonly behave: Behaviour
}

const behaviours: Readonly<Record<string, Crowd>> = {
  idle: { count: 2000, behave: () => undefined },
  "dribbled headers": { count: 300, behave: dribble("GET /api/v1/relayers HTTP/1.1\r\nx-slow: ") },
  "dribbled bodies": {
    count: 300,
    behave: dribble(
      `POST /api/v1/signers HTTP/1.1\r\n${authorized}content-type: application/json\r\ncontent-length: 100000\r\n\r\n{`
    )
  },
  // They have said that they say no more, and never read.
  "half open": {
    count: 300,
    behave: (socket, delay) => {
      socket.pause()
      setTimeout(() => socket.end(`GET /api/v1/relayers HTTP/1.1\r\n${authorized}\r\n`), delay)
    }
  },
  vanishing: {
    count: 20,
    behave: (socket, delay) => {
      const ask = () => socket.write(`GET /api/v1/relayers?per_page=1000 HTTP/1.1\r\n${authorized}\r\n`)
      const timer = setTimeout(ask, delay)
      socket.once("data", () => socket.resetAndDestroy()).once("close", () => clearTimeout(timer))
    }
  }
}

const crowd = (port: number, random: Random, { behave, count }: Crowd) =>
  Effect.acquireRelease(
    Effect.callback<Array<net.Socket>>((resume) => {
      const sockets: Array<net.Socket> = []
      let connected = 0
      const connect = () => {
        const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true }).on("error", () => undefined)
        socket.once("connect", () => {
          behave(socket, random.int(0, during))
          connected += 1
          if (sockets.length < count) connect()
          else if (connected === count) resume(Effect.succeed(sockets))
        })
        sockets.push(socket)
      }
      for (let n = 0; n < Math.min(count, 20); n++) connect()
    }),
    (sockets) =>
      Effect.sync(() => {
        for (const socket of sockets) socket.destroy()
      })
  )

const median = (values: ReadonlyArray<number>) => Load.quantile(values, 0.5)

export const SlowClients: Case = {
  name: "slow-clients",
  promise: "slow, idle, half-open and vanishing clients: the others' p99 within 2 times, memory as before",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const service = yield* world.listen()
      for (let n = 0; n < relayers; n++) {
        const id = `c${n}`
        yield* service.call("/api/v1/signers", { body: { id, type: "plain" } })
        const relayer = { id, name: "x", network: "sepolia", network_type: "evm", paused: false, signer_id: id }
        yield* service.call("/api/v1/relayers", { body: relayer })
      }
      const port = Number(new URL(service.baseUrl).port)
      const others = Effect.gen(function* () {
        const url = `${service.baseUrl}/api/v1/relayers?per_page=10`
        const { statuses, times } = yield* Effect.promise(() => Load.run({ url, connections: 4, during, interval: 20 }))
        tally.expect(statuses.size === 1 && statuses.has(200), `others are served: ${[...statuses.keys()].join(", ")}`)
        return Load.quantile(times, 0.99)
      })
      yield* others
      const quiet = World.memory(service.pid)
      for (const [name, behaviour] of Object.entries(behaviours)) {
        const alone: Array<number> = []
        const beside: Array<number> = []
        for (let round = 0; round < rounds; round++) {
          alone.push(yield* others)
          const p99 = yield* Effect.scoped(
            Effect.gen(function* () {
              yield* crowd(port, random, behaviour)
              return yield* others
            })
          )
          beside.push(p99)
        }
        const ratio = median(beside) / median(alone)
        tally.set(name, `${behaviour.count}: p99 ${median(alone).toFixed(1)} → ${median(beside).toFixed(1)} ms`)
        tally.expect(ratio <= 2, `p99 beside ${name} clients stays within 2 times: ${ratio.toFixed(2)}`)
      }
      const grown = World.memory(service.pid) - quiet
      tally.set("memory before, MiB", Math.round(quiet))
      tally.set("memory grown, MiB", Math.round(grown))
      tally.expect(grown < 48, `memory is as before: ${grown.toFixed(0)} MiB more`)
    })
}
