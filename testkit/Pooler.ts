// A pooler between clients and a PostgreSQL that asks for no password: it behaves as PgBouncer 1.18 of Debian 12 does.
import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import * as net from "node:net"

export interface Options {
  /** The socket of the server. */
  readonly server: string
  readonly mode: "session" | "transaction"
  /** `ignore_startup_parameters`: names in lower case. Others are refused. */
  readonly ignored?: ReadonlyArray<string>
  /** In transaction mode, a client that listens keeps its session, so that notifications arrive, as they do behind PgDog. */
  readonly delivers?: boolean
  /**
   * In transaction mode, a client hears of a notification only if the server sends it while the client has the session. It never does here,
   * or always if it is `late`: which of the two a real server does is a matter of load.
   */
  readonly late?: boolean
  /** Processes that share the port by turns, each with sessions of its own (`so_reuseport`). */
  readonly processes?: number
}

/** Startup parameters that PgBouncer passes on. */
const tracked = new Set([
  "user",
  "database",
  "client_encoding",
  "datestyle",
  "timezone",
  "standard_conforming_strings",
  "application_name"
])

/** Codes in the place of the version of the protocol. */
const sslRequest = 80_877_103
const cancelRequest = 80_877_102

const message = (type: string, ...parts: ReadonlyArray<Buffer | string>) => {
  const body = Buffer.concat(parts.map((part) => (typeof part === "string" ? Buffer.from(`${part}\0`) : part)))
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from(type), length, body])
}

const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const startup = (parameters: ReadonlyMap<string, string>) =>
  message("", number(196_608), ...[...parameters].flat(), Buffer.alloc(1))

const readParameters = (body: Buffer) => {
  const words = body.toString("utf8", 8).split("\0")
  return new Map(
    words.flatMap((name, index) => (index % 2 === 0 && name !== "" ? [[name, words[index + 1] ?? ""]] : []))
  )
}

/** Takes whole messages out of what arrives. `hasType`: they begin with a byte that says what they are. */
const frames = (take: (frame: Buffer) => void, hasType: () => boolean) => {
  let rest = Buffer.alloc(0)
  return (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    for (;;) {
      const head = hasType() ? 1 : 0
      if (rest.length < head + 4) return
      const length = head + rest.readUInt32BE(head)
      if (rest.length < length) return
      const frame = rest.subarray(0, length)
      rest = rest.subarray(length)
      take(frame)
    }
  }
}

const typeOf = (frame: Buffer) => String.fromCharCode(frame[0] ?? 0)

/** A session of the server. What it sends while no client has it is dropped, unless notifications are `late`. */
interface ServerSession {
  readonly socket: net.Socket
  readonly late: Array<Buffer>
  receive: ((frame: Buffer) => void) | undefined
}

/** The sessions of one process of the pooler. The one that was used last is used next. */
const makeProcess = ({ server, mode, ignored = [], delivers = false, late = false }: Options) => {
  const idle = new Map<string, Array<ServerSession>>()
  const sockets = new Set<net.Socket>()

  const open = (parameters: ReadonlyMap<string, string>) =>
    new Promise<ServerSession>((resolve) => {
      const socket = net.connect(server)
      const session: ServerSession = { socket, late: [], receive: (frame) => typeOf(frame) === "Z" && resolve(session) }
      socket
        .on(
          "data",
          frames(
            (frame) => {
              if (session.receive !== undefined) session.receive(frame)
              else if (late) session.late.push(frame)
            },
            () => true
          )
        )
        .on("error", () => socket.destroy())
      socket.write(startup(parameters))
      sockets.add(socket)
    })

  const serve = (client: net.Socket) => {
    let key = ""
    let parameters: ReadonlyMap<string, string> | undefined
    let session: ServerSession | undefined
    /** Statements whose end the server has not reported. */
    let running = 0
    let listens = false
    let turn = Promise.resolve()

    const release = (used: ServerSession) => {
      used.receive = undefined
      session = undefined
      idle.set(key, [...(idle.get(key) ?? []), used])
    }

    const link = async (wanted: ReadonlyMap<string, string>) => {
      const found = idle.get(key)?.pop() ?? (await open(wanted))
      found.receive = (frame) => {
        if (typeOf(frame) === "A" && mode === "transaction" && !listens && !late) return
        client.write(frame)
        if (typeOf(frame) !== "Z") return
        running--
        const isOutside = String.fromCharCode(frame[5] ?? 0) === "I"
        if (mode === "transaction" && running === 0 && isOutside && !listens) release(found)
      }
      for (const frame of found.late.splice(0)) client.write(frame)
      session = found
      return found
    }

    const begin = (frame: Buffer) => {
      const code = frame.readUInt32BE(4)
      if (code === sslRequest) return void client.write("N")
      if (code === cancelRequest) return void client.destroy()
      const given = readParameters(frame)
      const unknown = [...given.keys()].find((name) => !tracked.has(name.toLowerCase()) && !ignored.includes(name))
      if (unknown !== undefined) {
        const text = `Munsupported startup parameter: ${unknown}`
        return void client.end(message("E", "SFATAL", "C08P01", text, Buffer.alloc(1)))
      }
      parameters = new Map([...given].filter(([name]) => tracked.has(name.toLowerCase())))
      key = JSON.stringify([...parameters])
      const status = message("S", "server_version", "15.0 (stand-in)")
      client.write(
        Buffer.concat([message("R", number(0)), status, message("K", randomBytes(8)), message("Z", Buffer.from("I"))])
      )
    }

    const pass = (frame: Buffer, wanted: ReadonlyMap<string, string>) => {
      if (typeOf(frame) === "X") return
      turn = turn.then(async () => {
        const linked = session ?? (await link(wanted))
        listens ||= delivers && frame.includes("LISTEN ")
        if (typeOf(frame) === "S" || typeOf(frame) === "Q") running++
        linked.socket.write(frame)
      })
    }

    /** In session mode, the session is cleaned and goes to the next client. In the middle of a transaction, it is closed. */
    const leave = () => {
      const left = session
      session = undefined
      if (left === undefined) return
      if (mode === "transaction" || running > 0) return void left.socket.destroy()
      left.receive = (frame) => typeOf(frame) === "Z" && release(left)
      left.socket.write(message("Q", "DISCARD ALL"))
    }

    const take = (frame: Buffer) => (parameters === undefined ? begin(frame) : pass(frame, parameters))
    client
      .on(
        "data",
        frames(take, () => parameters !== undefined)
      )
      .on("error", () => client.destroy())
    client.once("close", () => void turn.then(leave))
    sockets.add(client)
  }

  return { serve, close: () => sockets.forEach((socket) => socket.destroy()) }
}

/** Runs until the scope closes. Returns the URL for the database and the user of the server. */
export const make = Effect.fnUntraced(function* (options: Options, database: string, username: string) {
  const processes = Array.from({ length: options.processes ?? 1 }, () => makeProcess(options))
  let next = 0
  // Each frame is written alone: without `noDelay`, the system holds it back until the one before is acknowledged, for 40 ms.
  const listener = net.createServer({ noDelay: true }, (client) => processes[next++ % processes.length]?.serve(client))
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void listener.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        listener.close(() => resume(Effect.void))
        for (const { close } of processes) close()
      })
  )
  const { port } = listener.address() as net.AddressInfo
  return `postgres://${username}@127.0.0.1:${port}/${database}`
})
