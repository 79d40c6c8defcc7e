// The tokens of one library, with their logins and their sessions: one call at a time uses a session, and no token is ever locked. All sessions
// of a process share one login to a token.
import * as crypto from "node:crypto"
import { TokenFailure, codeOf, flags, ofError, results, user } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"

export interface Login {
  readonly pin: string
  /** Whether a signer is being created, so that its PIN has not been verified yet. */
  readonly isNew: boolean
}

/** What this process knows about the PIN of one token, as digests keyed with a random key of the process. */
interface PinMemory {
  accepted: Buffer | undefined
  /** Wrong PINs, which are not tried again. */
  readonly wrong: Set<string>
}

const makeMemory = (): PinMemory => ({ accepted: undefined, wrong: new Set() })

/** After this number of wrong PINs, no signer of the token is created until a restart, so that a caller cannot guess the PIN. */
const maxWrong = 10

const digestKey = crypto.randomBytes(32)

const digestOf = (pin: string) => crypto.createHmac("sha256", digestKey).update(pin).digest()

const isRefusal = (code: number | undefined) =>
  code === results.pinIncorrect || code === results.pinInvalid || code === results.pinLength

const isAccepted = (digest: Buffer, { accepted }: PinMemory) =>
  accepted !== undefined && crypto.timingSafeEqual(digest, accepted)

const comparePin = (digest: Buffer, memory: PinMemory) => {
  if (isAccepted(digest, memory)) return
  memory.wrong.add(digest.toString("hex"))
  throw new TokenFailure("login", "the token has accepted another PIN before")
}

const preparePin = ({ pin, isNew }: Login, { wrong }: PinMemory) => {
  if (isNew && wrong.size >= maxWrong) {
    throw new TokenFailure(
      "login",
      "too many wrong PINs were given for this token: restart the service to create its signers"
    )
  }
  const digest = digestOf(pin)
  if (wrong.has(digest.toString("hex"))) {
    throw new TokenFailure(
      "login",
      "the token has refused this PIN, which is not tried again until the service restarts"
    )
  }
  return digest
}

/** While the process is logged in, the token checks no PIN, so the service compares it with the PIN that the token accepted. */
const checkPin = (login: Login, memory: PinMemory): void => comparePin(preparePin(login, memory), memory)

/** No PIN is tried if one more failure would lock the token. */
const logIn = (library: Cryptoki, session: Handle, tokenFlags: number, login: Login, memory: PinMemory): void => {
  const digest = preparePin(login, memory)
  if ((tokenFlags & flags.locked) !== 0) throw new TokenFailure("login", "the PIN of the token is locked")
  if ((tokenFlags & flags.finalTry) !== 0 && !isAccepted(digest, memory)) {
    throw new TokenFailure("login", "one more wrong PIN would lock the token: log in to it with another program first")
  }
  // The token counts wrong PINs, so a PIN that is known to be wrong does not reach it.
  if (memory.accepted !== undefined) comparePin(digest, memory)
  try {
    library.C_Login(session, user, login.pin)
    memory.accepted = digest
  } catch (error) {
    if (codeOf(error) === results.alreadyLoggedIn) return comparePin(digest, memory)
    if (isRefusal(codeOf(error))) {
      memory.wrong.add(digest.toString("hex"))
      // Somebody has changed the PIN of the token.
      memory.accepted = undefined
    }
    throw error
  }
}

/** Milliseconds. Opening a session and logging in run on the main thread: a library that fails after this time waits for a device that does not answer. */
const longestWait = 500

/** Milliseconds in which the library is not called after that. */
const pause = 60_000

export interface Pause {
  /** Runs a call of the library that blocks the service. Fails at once during a pause. */
  run<A>(call: () => A): A
}

/** `now`: the monotonic time in milliseconds. */
export const makePause = (now: () => number = () => performance.now()): Pause => {
  let until = 0
  return {
    run: (call) => {
      const began = now()
      if (began < until) {
        throw new TokenFailure("unreachable", "the library has blocked the service, and is left alone for a minute")
      }
      try {
        return call()
      } catch (error) {
        const { reason } = ofError(error)
        const isAway = reason === "unreachable" || reason === "unexpected"
        if (isAway && now() - began > longestWait) until = now() + pause
        throw error
      }
    }
  }
}

/** The label and serial number that identify a token. */
export interface TokenName {
  readonly token_label: string
  /** If undefined, the label has to identify one token. */
  readonly token_serial?: string | undefined
}

export interface Session {
  readonly handle: Handle
  readonly serial: string
  /** Label and serial number. */
  readonly token: string
  /** Private keys that were found in this session, by name. */
  readonly keys: Map<string, Handle>
}

export interface Tokens {
  /** Runs a call in a session of the token that no other call uses meanwhile. A session whose call failed is closed. */
  use<A>(name: TokenName, login: Login, call: (session: Session) => Promise<A>): Promise<A>
}

/** The number of sessions kept per token: the number of concurrent calls. Tokens limit their sessions. */
const maxIdle = 3

const keyOf = ({ token_label }: TokenName, serial: string) => `${token_label} ${serial}`

/** The standard pads with blanks; some libraries pad with zeros. */
const unpadded = (text: string) => text.replace(/[\0 ]+$/u, "")

/** On some devices, slot numbers change at each start, so only label and serial number identify a token. */
const slotOf = (library: Cryptoki, { token_label, token_serial }: TokenName) => {
  const found = library.C_GetSlotList(true).flatMap((slot) => {
    const { label, serialNumber, flags } = library.C_GetTokenInfo(slot)
    const serial = unpadded(serialNumber)
    const isWanted = unpadded(label) === token_label && (token_serial === undefined || serial === token_serial)
    return isWanted ? [{ slot, serial, flags }] : []
  })
  if (found.length > 1) throw new TokenFailure("not_found", "several tokens have this label: give config.token_serial")
  const [only] = found
  if (only === undefined) throw new TokenFailure("not_found")
  return only
}

/** Results after which no session of the token is usable. */
const lost = new Set<number | undefined>([
  results.deviceRemoved,
  results.tokenNotPresent,
  results.sessionClosed,
  results.sessionHandleInvalid,
  results.notLoggedIn
])

export const make = (library: Cryptoki, { run } = makePause()): Tokens => {
  const idle: Array<Session> = []
  const memories = new Map<string, PinMemory>()

  const memoryOf = (token: string) => {
    const memory = memories.get(token) ?? makeMemory()
    memories.set(token, memory)
    return memory
  }

  const close = ({ handle }: Session) => {
    try {
      library.C_CloseSession(handle)
    } catch {
      // The device has closed the session.
    }
  }

  const open = (name: TokenName, login: Login): Session => {
    const { slot, serial, flags: tokenFlags } = slotOf(library, name)
    const token = keyOf(name, serial)
    const session = { handle: library.C_OpenSession(slot, flags.serialSession), serial, token, keys: new Map() }
    try {
      logIn(library, session.handle, tokenFlags, login, memoryOf(token))
      return session
    } catch (error) {
      close(session)
      throw error
    }
  }

  /** A call that does not know the serial number looks for the token. */
  const take = (name: TokenName, login: Login): Session => {
    const token = name.token_serial === undefined ? undefined : keyOf(name, name.token_serial)
    const index = idle.findIndex((session) => session.token === token)
    if (token === undefined || index === -1) return run(() => open(name, login))
    checkPin(login, memoryOf(token))
    return idle.splice(index, 1)[0] ?? run(() => open(name, login))
  }

  const keep = (session: Session) => {
    if (idle.filter(({ token }) => token === session.token).length < maxIdle) idle.push(session)
    else close(session)
  }

  const closeIdle = (token: string) => {
    const sessions = idle.filter((session) => session.token === token)
    idle.splice(0, idle.length, ...idle.filter((session) => session.token !== token))
    sessions.forEach(close)
  }

  return {
    use: async (name, login, call) => {
      const session = take(name, login)
      try {
        const result = await call(session)
        keep(session)
        return result
      } catch (error) {
        close(session)
        if (lost.has(codeOf(error))) closeIdle(session.token)
        throw error
      }
    }
  }
}
