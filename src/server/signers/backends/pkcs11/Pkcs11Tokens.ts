// The tokens of one library, their logins and their sessions. One call at a time uses a session.
import { results, flags } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"
import { codeOf, unavailable } from "./Pkcs11Failures.ts"
import * as Pkcs11Login from "./Pkcs11Login.ts"
import * as Pkcs11Pause from "./Pkcs11Pause.ts"

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
  use<A>(
    name: TokenName,
    login: Pkcs11Login.Login,
    call: (session: Session, library: Cryptoki) => Promise<A>
  ): Promise<A>
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
  if (found.length > 1)
    throw unavailable("not_found", { detail: "several tokens have this label: give config.token_serial" })
  const [only] = found
  if (only === undefined) throw unavailable("not_found")
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

export const make = (library: Cryptoki, { run } = Pkcs11Pause.make()): Tokens => {
  const idle: Array<Session> = []
  const memories = new Map<string, Pkcs11Login.PinMemory>()

  const memoryOf = (token: string) => {
    const memory = memories.get(token) ?? Pkcs11Login.makeMemory()
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

  const open = (name: TokenName, login: Pkcs11Login.Login): Session => {
    const { slot, serial, flags: tokenFlags } = slotOf(library, name)
    const token = keyOf(name, serial)
    const session = { handle: library.C_OpenSession(slot, flags.serialSession), serial, token, keys: new Map() }
    try {
      Pkcs11Login.logIn(library, session.handle, tokenFlags, login, memoryOf(token))
      return session
    } catch (error) {
      close(session)
      throw error
    }
  }

  /** A call that does not know the serial number looks for the token. */
  const take = (name: TokenName, login: Pkcs11Login.Login): Session => {
    const token = name.token_serial === undefined ? undefined : keyOf(name, name.token_serial)
    const index = idle.findIndex((session) => session.token === token)
    if (token === undefined || index === -1) return run(() => open(name, login))
    Pkcs11Login.check(login, memoryOf(token))
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
        const result = await call(session, library)
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
