// Sends bytes to the service unchanged and collects the response until it is complete or the connection ends.
import * as net from "node:net"
import * as Answer from "./Answer.ts"

export interface Exchange extends Answer.Reading {
  /** How it ended: with a response, closed by the service, silent until the timeout, or closed by us. */
  readonly end: "answered" | "closed" | "silent" | "left"
}

/** Milliseconds. The service ends a request after 30 seconds. */
const patience = 60_000

/** Milliseconds without a byte after which the response to garbage counts as complete. */
const quiet = 40

interface Wire {
  readonly socket: net.Socket
  readonly received: () => Buffer
  readonly clear: () => void
  /** Called when bytes have arrived and when the connection has ended. */
  onChange: () => void
  isClosed: boolean
}

const open = (port: number): Promise<Wire> =>
  new Promise((resolve, reject) => {
    let chunks: Array<Buffer> = []
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true })
    const wire: Wire = {
      socket,
      received: () => {
        chunks = [Buffer.concat(chunks)]
        return chunks[0] ?? Buffer.alloc(0)
      },
      clear: () => (chunks = []),
      onChange: () => undefined,
      isClosed: false
    }
    socket.once("connect", () => resolve(wire))
    // A reset of an open connection counts as its end.
    socket.on("error", reject)
    socket.on("data", (chunk) => {
      chunks.push(chunk)
      wire.onChange()
    })
    socket.on("close", () => {
      wire.isClosed = true
      wire.onChange()
    })
  })

/** Waits for the response to a request with this method. For a stream, the beginning is enough. */
const answered = (wire: Wire, method: string): Promise<Exchange> =>
  new Promise((resolve) => {
    const settle = (end: Exchange["end"], reading: Answer.Reading) => {
      clearTimeout(timer)
      wire.onChange = () => undefined
      resolve({ ...reading, end })
    }
    const timer = setTimeout(() => settle("silent", Answer.read(wire.received(), [method])), patience)
    wire.onChange = () => {
      const reading = Answer.read(wire.received(), [method])
      if (reading.fault !== undefined || reading.answers.length > 0) settle("answered", reading)
      else if (wire.isClosed) settle("closed", reading)
      else if (/\r\ncontent-type: text\/event-stream/i.test(reading.rest.toString("latin1", 0, 4000)))
        settle("left", reading)
    }
    wire.onChange()
  })

/** Waits until the service is silent, then closes the sending half, so that the service waits for nothing. */
const drained = (wire: Wire): Promise<Exchange> =>
  new Promise((resolve) => {
    let hasEnded = false
    const settle = (end: Exchange["end"]) => {
      clearTimeout(timer)
      clearTimeout(pause)
      wire.socket.destroy()
      resolve({ ...Answer.read(wire.received()), end: hasEnded && end === "closed" ? "left" : end })
    }
    const timer = setTimeout(() => settle("silent"), patience)
    const finish = () => {
      hasEnded = true
      wire.socket.end()
    }
    let pause = setTimeout(finish, quiet)
    wire.onChange = () => {
      if (wire.isClosed) return settle("closed")
      clearTimeout(pause)
      pause = setTimeout(finish, quiet)
    }
  })

/** Sends requests sequentially on one connection, for as long as the service keeps it open. */
export class Connection {
  readonly #port: number
  #wire: Wire | undefined

  constructor(port: number) {
    this.#port = port
  }

  async request(bytes: Buffer, method: string): Promise<Exchange> {
    const kept = this.#wire
    const exchange = await this.#exchange(kept ?? (await open(this.#port)), bytes, method)
    // The service may close an idle connection at the moment of the next request.
    const isLate = kept !== undefined && exchange.end === "closed" && exchange.rest.length === 0
    return isLate ? this.#exchange(await open(this.#port), bytes, method) : exchange
  }

  async #exchange(wire: Wire, bytes: Buffer, method: string): Promise<Exchange> {
    wire.clear()
    wire.socket.write(bytes)
    const exchange = await answered(wire, method)
    const [answer] = exchange.answers
    const isKept =
      exchange.end === "answered" &&
      exchange.rest.length === 0 &&
      answer !== undefined &&
      !wire.isClosed &&
      Answer.fieldOf(answer, "connection") !== "close"
    if (!isKept) wire.socket.destroy()
    this.#wire = isKept ? wire : undefined
    return exchange
  }

  close(): void {
    this.#wire?.socket.destroy()
  }
}

/** Sends `bytes`, and `later` when the service has responded. Returns when the service has closed the connection. */
export const held = async (port: number, bytes: Buffer, later?: Buffer): Promise<Exchange> => {
  const wire = await open(port)
  wire.socket.write(bytes)
  if (later !== undefined) wire.socket.once("data", () => wire.socket.write(later))
  return new Promise((resolve) => {
    wire.onChange = () => {
      if (wire.isClosed) resolve({ ...Answer.read(wire.received()), end: "closed" })
    }
    wire.onChange()
  })
}

/** Uses a new connection. */
export const garbage = async (port: number, chunks: ReadonlyArray<Buffer>, isCut: boolean): Promise<Exchange> => {
  const wire = await open(port)
  for (const chunk of chunks) {
    if (wire.isClosed) break
    await new Promise<void>((resolve) => wire.socket.write(chunk, () => resolve()))
  }
  if (!isCut) return drained(wire)
  wire.socket.resetAndDestroy()
  return { answers: [], rest: Buffer.alloc(0), end: "left" }
}
