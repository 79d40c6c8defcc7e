// Clients that are slow, idle or vanish, beside normal clients.
import { Effect } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { until } from "../testkit/process/Folder.ts"
import { apiKey } from "../testkit/process/Service.ts"
import type { Case } from "./Case.ts"
import * as Load from "./Load.ts"
import type { Random } from "./Random.ts"
import * as World from "./World.ts"

const rounds = 3
const samples = 5
const during = 4000
const relayers = 500

/** Milliseconds between two bytes. */
const dribbling = 500

/** `delay`: milliseconds, so that the clients do not start at the same time. */
type Behaviour = (socket: net.Socket, delay: number) => void

/** Sends one byte at a time, until the service closes the connection. */
const dribble =
  (head: string): Behaviour =>
  (socket, delay) => {
    let timer = setTimeout(() => {
      socket.write(head)
      timer = setInterval(() => socket.write("x"), dribbling)
    }, delay % dribbling)
    socket.once("close", () => clearTimeout(timer))
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
  // They close their sending half and never read.
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
  promise: "slow, idle, half-open and vanishing clients: the p99 of others at most doubles, and memory stays the same",
  run: ({ random, tally }) =>
    Effect.gen(function* () {
      const world = yield* World.make
      const file = path.join(world.home, "memory")
      const service = yield* world.listen({ FAULTS_MEMORY: file, ...World.preload("LiveMemory.ts") })
      const sample = Effect.gen(function* () {
        yield* Effect.sync(() => fs.rmSync(file, { force: true }))
        yield* World.signal([service.pid], "SIGUSR2")
        return yield* until(
          "the live memory",
          Effect.sync(() => (fs.existsSync(file) && Number(fs.readFileSync(file, "utf8"))) || undefined)
        )
      })
      /** The smallest of several measurements, because memory that is about to be freed is not in all of them. */
      const liveMemory = Effect.map(Effect.replicateEffect(Effect.delay(sample, "200 millis"), samples), (found) =>
        Math.min(...found)
      )
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
        tally.expect(statuses.size === 1 && statuses.has(200), `others get 200: ${[...statuses.keys()].join(", ")}`)
        return Load.quantile(times, 0.99)
      })
      yield* others
      const measured = Object.entries(behaviours).map(([name, behaviour]) => ({
        name,
        behaviour,
        alone: new Array<number>(),
        beside: new Array<number>()
      }))
      const memory: Array<number> = []
      for (let round = 0; round < rounds; round++) {
        for (const { alone, behaviour, beside } of measured) {
          alone.push(yield* others)
          beside.push(yield* Effect.scoped(Effect.andThen(crowd(port, random, behaviour), others)))
        }
        memory.push(yield* liveMemory)
      }
      for (const { alone, behaviour, beside, name } of measured) {
        const ratio = median(beside) / median(alone)
        tally.set(name, `${behaviour.count}: p99 ${median(alone).toFixed(1)} → ${median(beside).toFixed(1)} ms`)
        tally.expect(ratio <= 2, `p99 beside ${name} clients at most doubles: ${ratio.toFixed(2)}`)
      }
      // The first round warms up. A leak would add up over the others.
      const grown = (memory.at(-1) ?? 0) - (memory[0] ?? 0)
      tally.set("memory in use after each round, MiB", memory.map((value) => value.toFixed(0)).join(" → "))
      tally.expect(grown < 8, `memory stays the same: ${grown.toFixed(0)} MiB more`)
    })
}
